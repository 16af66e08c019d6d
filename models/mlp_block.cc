#include "models/experts_block.h"
#include "models/feed_forward.h"
#include "models/kernels.h"
#include "models/operations.h"
#include "models/quantise.h"
#include "models/transformer.h"

namespace models {
namespace {

using sim::Bytes;

// What the layer's input becomes: the residual between the halves, and the second norm's output.
void AddInputActivations(const Model& model, const Execution& execution, Block* block) {
  const Sizes sizes(model, execution);
  const SelectiveModules& modules = execution.selective;
  const Bytes cut(sizes.cut_h * sizes.element);
  // Side by side with attention it reads the same tensors, which are kept once.
  if (!model.parallel_residual) {
    KeepNorm("norm_input", model.norm, sizes.cut_h, execution, modules.operations, &block->activations);
  }
  if (SharesNorm(model)) return;
  const bool cast = execution.matmul.recipe != Recipe::kNone;
  block->activations.push_back({"up_input", Bytes(LinearInputBytes(execution, sizes.cut_h)),
                                modules.norm_output || modules.operations || (modules.feed_forward && cast)});
  // 16 bits, to be cast again.
  if (modules.feed_forward && cast) block->activations.push_back({"mlp_input", cut, false, true});
}

// By operations, what the last product and its reduction wrote; compiled code drops it.
void AddOutputsKept(const Model& model, const Execution& execution, std::vector<Activation>* kept) {
  if (!execution.selective.operations || execution.fused) return;
  const Sizes sizes(model, execution);
  if (model.gated) kept->push_back({"down_output", Bytes(sizes.whole_h * sizes.element), false, true});
  if (execution.tensor > 1) {
    kept->push_back({"down_reduced", Bytes(sizes.cut_h * sizes.element), false, /*instead=*/true});
  }
}

// Megatron-LM's mlp: all from the norm's output, communication included.
void AddDenseAgain(const Execution& execution, std::size_t norm_kernels, Block* block) {
  if (!execution.selective.feed_forward) return;
  Again* again = &block->again;
  again->before_gather.insert(again->before_gather.end(),
                              block->before_gather.begin() + static_cast<std::ptrdiff_t>(norm_kernels),
                              block->before_gather.end());
  again->main = block->main;
  again->gather = block->gather_forward;
  again->reduce = block->reduce_forward;
}

Block DenseBlock(const Model& model, const Execution& execution) {
  const Sizes sizes(model, execution);
  FeedForward ff(model, execution, kDenseNames, sizes.tokens, model.ffn / execution.tensor, 1);
  ff.runs_again = execution.selective.feed_forward;
  const bool bias = model.biases.mlp, own_norm = !SharesNorm(model);
  Block block;
  block.name = "mlp";
  AddInputActivations(model, execution, &block);
  AddFeedForwardActivations(ff, &block.activations);
  AddOutputsKept(model, execution, &block.activations);

  if (own_norm) AddNorm("norm", model.norm, sizes.cut, model.hidden, execution, &block.before_gather);
  const std::size_t norm_kernels = block.before_gather.size();
  if (own_norm) AddGatheredInputCast(model, execution, &block);
  AddFeedForward(ff, &block.main);
  AddFeedForwardWeightCasts(ff, &block);
  if (model.parallel_residual) block.main.push_back(Moves("branch_sum", 3 * sizes.whole_h * sizes.element));
  AddAfterReduce(model, execution, bias, &block);

  AddBackwardHead(model, execution, bias, &block);
  AddGatheredGradientCast(model, execution, &block);
  if (own_norm) AddNormAgain(model, execution, &block);
  AddNonlinearityAgain(ff, &block.again.main);
  AddFeedForwardBackward(ff, &block.backward_main);
  AddUpWeightGradient(ff, &block.backward_weight);
  if (own_norm) AddBackwardTail(model, execution, &block);
  AddCommunication(model, execution, Half::kFeedForward, &block);
  AddDenseAgain(execution, norm_kernels, &block);
  AddFeedForwardOperationsAgain(model, execution, &block);
  return block;
}

}  // namespace

Block MlpBlock(const Model& model, const Execution& execution, std::int64_t layer) {
  return HasExperts(model, layer) ? ExpertsBlock(model, execution) : DenseBlock(model, execution);
}

}  // namespace models
