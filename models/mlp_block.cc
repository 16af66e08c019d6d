#include "models/experts_block.h"
#include "models/feed_forward.h"
#include "models/kernels.h"
#include "models/quantise.h"
#include "models/transformer.h"

namespace models {
namespace {

using sim::Bytes;

Block DenseBlock(const Model& model, const Execution& execution) {
  const Sizes sizes(model, execution);
  const FeedForward ff(model, execution, kDenseNames, sizes.tokens, model.ffn / execution.tensor, 1);
  const bool bias = model.biases.mlp, own_norm = !SharesNorm(model);
  const Bytes cut(sizes.cut_h * sizes.element);
  Block block;
  block.name = "mlp";
  // Side by side with attention it reads the same tensors, which are kept once.
  if (!model.parallel_residual) block.activations.push_back({"norm_input", cut});
  if (own_norm) {
    block.activations.push_back(
        {"up_input", Bytes(LinearInputBytes(execution, sizes.cut_h)), execution.selective.norm_output});
  }
  AddFeedForwardActivations(ff, &block.activations);

  if (own_norm) AddNorm("norm", model.norm, sizes.cut, model.hidden, execution, &block.before_gather);
  if (own_norm) AddGatheredInputCast(model, execution, &block);
  AddFeedForward(ff, &block.main);
  AddFeedForwardWeightCasts(ff, &block);
  if (model.parallel_residual) block.main.push_back(Moves("branch_sum", 3 * sizes.whole_h * sizes.element));
  AddAfterReduce(model, execution, bias, &block);

  AddBackwardHead(model, execution, bias, &block);
  AddGatheredGradientCast(model, execution, &block);
  if (own_norm) AddNormAgain(model, execution, &block);
  AddNonlinearityAgain(ff, &block.selective_recompute);
  AddFeedForwardBackward(ff, &block.backward_main);
  AddUpWeightGradient(ff, &block.backward_weight);
  if (own_norm) AddBackwardTail(model, execution, &block);
  AddCommunication(model, execution, Half::kFeedForward, &block);
  return block;
}

}  // namespace

Block MlpBlock(const Model& model, const Execution& execution, std::int64_t layer) {
  return HasExperts(model, layer) ? ExpertsBlock(model, execution) : DenseBlock(model, execution);
}

}  // namespace models
