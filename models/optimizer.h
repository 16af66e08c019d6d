// The optimizer's kernels: what mixed-precision Adam reads and writes.

#ifndef MODELS_OPTIMIZER_H_
#define MODELS_OPTIMIZER_H_

#include <cstdint>
#include <vector>

#include "sim/base/kernel.h"

namespace models {

// The kernels of one update on one rank that holds the gradients of `held`
// parameters (all, or its share under ZeRO-2 and 3) and updates `owned` of them
// (all, or its share under ZeRO-1 to 3). g is the width of a
// reduced gradient, w that of a weight, in bytes:
//
//   widen gradients    reads g, writes 4     only where g < 4
//   unscale            reads 4, writes 4     only FP16: undoes the loss scale, looks for infinities
//   gradient norm      reads 4
//   adam               reads gradient, master, two moments; writes the last three: 28
//   narrow weights     reads 4, writes w     only where w < 4, and not what is cast
//   find largest       reads 4               of what is cast, where its scale is its own
//   cast weights       reads 4, writes 1     of what is cast
//   clear gradients    writes g over all gradients it holds
//
// Of the owned, the host updates `hosts`, of which the norm alone is taken here. Of the owned, `cast` are
// held in eight bits; what lies between finding their scales and the cast is the caller's.
//
// Clipping costs nothing while the norm is below its limit, as it is most steps.
// Source: Megatron-LM, core/optimizer/optimizer.py; Apex, csrc/multi_tensor_adam.cu.
std::vector<sim::Kernel> OptimizerKernels(std::int64_t held, std::int64_t owned, sim::NumberFormat format,
                                          sim::NumberFormat gradient_format, std::int64_t cast = 0,
                                          std::int64_t hosts = 0);
std::vector<sim::Kernel> FindLargestKernels(std::int64_t cast);
std::vector<sim::Kernel> CastKernels(std::int64_t cast);

}  // namespace models

#endif  // MODELS_OPTIMIZER_H_
