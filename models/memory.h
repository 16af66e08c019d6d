// Memory of one rank by part: what the optimizer makes it hold all the time, and
// what one micro-batch leaves behind between its forward and its backward.
//
// Leaves out: workspaces, communication buffers, the allocator's slack.

#ifndef MODELS_MEMORY_H_
#define MODELS_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "models/block.h"
#include "models/model.h"
#include "sim/base/units.h"

namespace models {

// What a layer computes again in the backward instead of keeping it.
enum class Recompute : std::uint8_t {
  kNone,
  kSelective,  // as Execution::selective says
  kFull,       // everything: only the layer's input is kept
};

struct MemoryPart {
  const char* name = "";  // "weights", "gradients", "master_weights", "moments"
  sim::Bytes bytes;
};

// By how many ranks each part is cut; 1 = every rank holds all of it.
struct Shares {
  std::int64_t weights = 1, gradients = 1, optimizer = 1;
};

// Mixed-precision Adam: weights, gradients, an FP32 copy of the weights and two FP32
// moments; the last three are the optimizer's. A share that does not divide is
// rounded up. FP32 weights need no copy.
// Source: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion
// parameter models", SC 2020, section 3.1.
std::vector<MemoryPart> StaticMemory(std::int64_t parameters, sim::NumberFormat format,
                                     sim::NumberFormat gradient_format, const Shares& shares);
sim::Bytes Total(const std::vector<MemoryPart>& parts);

// What a block keeps; under kFull its layer keeps LayerInput() instead.
sim::Bytes ActivationBytes(const Block& block, Recompute recompute);

// The tensor that enters a layer, on one rank: s b h numbers, cut by tensor with
// sequence parallelism.
sim::Bytes LayerInput(const Model& model, const Execution& execution);

// What one layer keeps of one micro-batch.
// Source of the totals it is tested with: Korthikanti et al., "Reducing activation
// recomputation in large transformer models", 2022, table 2.
sim::Bytes LayerActivationBytes(const Model& model, const Execution& execution, std::int64_t layer,
                                Recompute recompute);

}  // namespace models

#endif  // MODELS_MEMORY_H_
