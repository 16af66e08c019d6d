#include "models/kernels.h"
#include "models/transformer.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;
using sim::MemoryClass;

// Cross-entropy over this rank's part of the vocabulary, in FP32, in place once
// the logits have been widened. Source: Megatron-LM, core/tensor_parallel/cross_entropy.py.
void AddLoss(std::int64_t logits, std::int64_t element, bool fused, std::vector<Kernel>* kernels) {
  const std::int64_t narrow = element * logits, wide = 4 * logits;
  if (fused) {
    kernels->push_back(Moves("loss_max", narrow + wide, MemoryClass::kNorm));
    kernels->push_back(Moves("loss_exponent_sum", 2 * wide, MemoryClass::kNorm));
    kernels->push_back(Moves("loss_softmax", 2 * wide));
    return;
  }
  kernels->push_back(Moves("logits_widen", narrow + wide));
  kernels->push_back(Moves("loss_max", wide, MemoryClass::kNorm));
  kernels->push_back(Moves("loss_subtract", 2 * wide));
  kernels->push_back(Moves("loss_exponent", 2 * wide));
  kernels->push_back(Moves("loss_sum", wide, MemoryClass::kNorm));
  kernels->push_back(Moves("loss_softmax", 2 * wide));
}

void AddLossBackward(std::int64_t logits, std::int64_t element, bool fused, std::vector<Kernel>* kernels) {
  const std::int64_t narrow = element * logits, wide = 4 * logits;
  if (fused) {
    kernels->push_back(Moves("loss_backward", wide + narrow));
    return;
  }
  kernels->push_back(Moves("loss_backward", 2 * wide));
  kernels->push_back(Moves("logits_narrow", wide + narrow));
}

}  // namespace

Block HeadBlock(const Model& model, const Execution& of_layers) {
  Execution execution = of_layers;
  execution.matmul = {};  // logits are not made in eight bits
  const Sizes sizes(model, execution);
  const std::int64_t logits = sizes.tokens * sizes.vocabulary;
  const Bytes cut(sizes.cut_h * sizes.element);
  Block block;
  block.name = "head";
  if (model.final_norm) {
    AddNorm("final_norm", model.norm, sizes.cut, model.hidden, execution, &block.before_gather);
    AddNormBackward("final_norm_backward", model.norm, sizes.cut, model.hidden, execution,
                    &block.backward_tail);
    KeepNorm("final_norm_input", model.norm, sizes.cut_h, execution, false, &block.activations);
  }
  block.activations.push_back({"logits_input", cut});
  block.activations.push_back({"loss_softmax", Bytes(4 * logits)});

  block.main.push_back(Gemm("logits", {sizes.tokens, sizes.vocabulary, model.hidden, 1}, execution.format));
  AddLoss(logits, sizes.element, execution.fused_loss, &block.main);
  AddLossBackward(logits, sizes.element, execution.fused_loss, &block.backward_main);
  block.backward_main.push_back(
      Gemm("logits_dgrad", {sizes.tokens, model.hidden, sizes.vocabulary, 1}, execution.format));
  AddWeightGradient("logits_wgrad", sizes.vocabulary, model.hidden, sizes.tokens, execution,
                    &block.backward_weight);

  if (execution.tensor > 1) {
    block.reduce_backward = WholeTensor(model, execution);
    if (execution.sequence_parallel) block.gather_forward = block.gather_again = block.reduce_backward;
    block.small_reduces = 3;  // of each token: the largest logit, the target's, the sum of exponents
    block.small_reduce = Bytes(4 * sizes.tokens);
  }
  return block;
}

}  // namespace models
