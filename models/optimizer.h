// The optimizer's kernels: what mixed-precision Adam reads and writes.

#ifndef MODELS_OPTIMIZER_H_
#define MODELS_OPTIMIZER_H_

#include <cstdint>
#include <vector>

#include "sim/base/kernel.h"

namespace models {

// The kernels of one update on one rank that holds `held` parameters and
// updates `owned` of them (all, or its share under ZeRO-1):
//
//   norm    reads the reduced gradients of what it owns
//   adam    reads gradient, FP32 master and two FP32 moments; writes the last
//           three and the weight: 26 B a parameter and its gradient's width
//           (FP32 weights have no master: 24 B less the copy)
//   clear   writes zero over all gradients it holds
//
// The clipping factor is applied inside adam, as fused optimizers do.
// Source: Apex, csrc/multi_tensor_adam.cu; Megatron-LM, optimizer/distrib_optimizer.py.
std::vector<sim::Kernel> OptimizerKernels(std::int64_t held, std::int64_t owned, sim::NumberFormat format,
                                          sim::NumberFormat gradient_format);

}  // namespace models

#endif  // MODELS_OPTIMIZER_H_
