#include "models/memory.h"

#include "models/kernels.h"
#include "models/transformer.h"
#include "sim/base/check.h"

namespace models {

std::vector<MemoryPart> StaticMemory(std::int64_t parameters, sim::NumberFormat format,
                                     sim::NumberFormat gradient_format, const Shares& shares) {
  CHECK(parameters >= 0 && shares.weights > 0 && shares.gradients > 0 && shares.optimizer > 0);
  const auto share = [&](std::int64_t ranks) { return (parameters + ranks - 1) / ranks; };
  const std::int64_t width = ElementWidth(format);
  return {{"weights", sim::Bytes(width * share(shares.weights))},
          {"gradients", sim::Bytes(ElementWidth(gradient_format) * share(shares.gradients))},
          {"master_weights", sim::Bytes(width == 4 ? 0 : 4 * share(shares.optimizer))},
          {"moments", sim::Bytes(8 * share(shares.optimizer))}};
}

sim::Bytes Total(const std::vector<MemoryPart>& parts) {
  sim::Bytes sum;
  for (const MemoryPart& part : parts) sum += part.bytes;
  return sum;
}

sim::Bytes ActivationBytes(const Block& block, Recompute recompute) {
  sim::Bytes sum;
  if (recompute == Recompute::kFull) return sum;
  for (const Activation& kept : block.activations) {
    const bool selective = recompute == Recompute::kSelective;
    if (selective ? !kept.selective : !kept.instead) sum += kept.bytes;
  }
  return sum;
}

sim::Bytes LayerInput(const Model& model, const Execution& execution) { return CutTensor(model, execution); }

sim::Bytes LayerActivationBytes(const Model& model, const Execution& execution, std::int64_t layer,
                                Recompute recompute) {
  if (recompute == Recompute::kFull) return LayerInput(model, execution);
  return ActivationBytes(AttentionBlock(model, execution, layer), recompute) +
         ActivationBytes(MlpBlock(model, execution, layer), recompute);
}

}  // namespace models
