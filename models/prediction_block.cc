#include "models/kernels.h"
#include "models/quantise.h"
#include "models/transformer.h"

namespace models {
namespace {

using sim::Bytes;

// Both norms, one behind the other, and what they give side by side in one tensor.
void AddBothNorms(const Model& model, const Execution& execution, Block* block) {
  const Sizes sizes(model, execution);
  const std::int64_t cut = sizes.cut_h * sizes.element;
  for (const char* name : {"embedding_norm", "hidden_norm"}) {
    AddNorm(name, model.norm, sizes.cut, model.hidden, execution, &block->before_gather);
  }
  block->before_gather.push_back(Moves("concatenate", 4 * cut));
  AddCast("cast_input", execution, 2 * sizes.cut_h, &block->before_gather);
  for (const char* name : {"embedding_norm_backward", "hidden_norm_backward"}) {
    AddNormBackward(name, model.norm, sizes.cut, model.hidden, execution, &block->backward_tail);
  }
  // The gradient that came from the head of the layers before.
  block->backward_tail.push_back(Moves("branch_gradient_sum", 3 * cut));
}

}  // namespace

Block JoinBlock(const Model& model, const Execution& execution) {
  const Sizes sizes(model, execution);
  const std::int64_t hidden = model.hidden, out = hidden / execution.tensor;
  const auto format = LinearFormat(execution);
  Block block;
  block.name = "join";
  AddBothNorms(model, execution, &block);
  block.main.push_back(Gemm("join", {sizes.tokens, out, 2 * hidden, 1}, format));
  AddWeightCast(execution, out, 2 * hidden, 1, &block);
  AddCast("cast_gradient", execution, sizes.tokens * out, &block.backward_main);
  block.backward_main.push_back(Gemm("join_dgrad", {sizes.tokens, 2 * hidden, out, 1}, format));
  AddWeightGradient("join_wgrad", out, 2 * hidden, sizes.tokens, execution, &block.backward_weight);
  block.activations = {{"embedding_norm_input", Bytes(sizes.cut_h * sizes.element)},
                       {"join_input", Bytes(LinearInputBytes(execution, 2 * sizes.cut_h))}};
  if (execution.tensor == 1) return block;
  const Bytes whole = WholeTensor(model, execution);
  block.gather_output = whole;
  block.reduce_backward = whole + whole;
  if (!execution.sequence_parallel) return block;
  block.gather_forward = block.gather_again = GatheredInput(execution, whole + whole);
  block.gather_backward = whole;
  return block;
}

}  // namespace models
