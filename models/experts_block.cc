#include "models/experts_block.h"

#include "models/feed_forward.h"
#include "models/kernels.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;
using sim::MemoryClass;

// Routers are not run in FP8.
sim::NumberFormat RouterFormat(sim::NumberFormat format) {
  return format == sim::NumberFormat::kFp8 ? sim::NumberFormat::kBf16 : format;
}

struct Layer {
  Layer(const Model& m, const Execution& e)
      : model(m),
        execution(e),
        sizes(m, e),
        rows(sizes.tokens * m.experts.per_token),
        routed(m, e, kRoutedNames, rows, m.experts.ffn / e.tensor, m.experts.routed),
        shared(m, e, kSharedNames, sizes.tokens, m.experts.shared * (m.experts.shared_ffn / e.tensor), 1) {
    logits = m.experts.routed + (m.experts.shared_gate ? 1 : 0);
    whole_bytes = sizes.whole_h * sizes.element;
    permuted_bytes = rows * m.hidden * sizes.element;
    score_bytes = 4 * sizes.cut * logits;
    down_bias_bytes = m.biases.mlp ? m.experts.routed * m.hidden * sizes.element : 0;
  }
  bool has_shared() const { return shared.ffn > 0; }

  const Model& model;
  const Execution& execution;
  Sizes sizes;
  std::int64_t rows;  // tokens, once for each expert that they visit
  FeedForward routed, shared;
  std::int64_t logits;           // of one token: of the routed experts and the shared ones' gate
  std::int64_t whole_bytes;      // of the block's input and output
  std::int64_t permuted_bytes;   // of what enters and leaves the routed experts
  std::int64_t score_bytes;      // of the router's scores, FP32
  std::int64_t down_bias_bytes;  // of the routed experts' output biases; 0 without
};

void AddRouter(const Layer& layer, Block* block) {
  const Sizes& sizes = layer.sizes;
  const std::int64_t hidden = layer.model.hidden;
  const auto format = RouterFormat(layer.execution.format);
  block->before_gather.push_back(Gemm("router", {sizes.cut, layer.logits, hidden, 1}, format));
  block->before_gather.push_back(Moves("route", 2 * layer.score_bytes, MemoryClass::kNorm));

  Execution execution = layer.execution;
  execution.format = format;
  std::vector<Kernel>* tail = &block->backward_tail;
  tail->push_back(Moves("route_backward", 3 * layer.score_bytes, MemoryClass::kNorm));
  tail->push_back(Gemm("router_dgrad", {sizes.cut, hidden, layer.logits, 1}, format));
  AddWeightGradient("router_wgrad", layer.logits, hidden, sizes.cut, execution, tail);
  tail->push_back(Moves("branch_gradient_sum", 3 * sizes.cut_h * sizes.element));
}

void AddExperts(const Layer& layer, std::vector<Kernel>* main) {
  const std::int64_t moved = layer.whole_bytes + layer.permuted_bytes;
  main->push_back(Moves("permute", moved, MemoryClass::kGather));
  AddFeedForward(layer.routed, main);
  main->push_back(Moves("unpermute", moved + layer.down_bias_bytes, MemoryClass::kGather));
  if (layer.has_shared()) {
    AddFeedForward(layer.shared, main);
    main->push_back(Moves("shared_sum", 3 * layer.whole_bytes));
  }
  if (layer.model.parallel_residual) main->push_back(Moves("branch_sum", 3 * layer.whole_bytes));
}

void AddExpertsBackward(const Layer& layer, Block* block) {
  const std::int64_t moved = layer.whole_bytes + layer.permuted_bytes;
  std::vector<Kernel>* main = &block->backward_main;
  main->push_back(Moves("unpermute_backward", moved, MemoryClass::kGather));
  if (layer.down_bias_bytes > 0) AddBiasGradient("expert_down_bias_gradient", layer.permuted_bytes, main);
  AddFeedForwardBackward(layer.routed, main);
  // With its input permuted already, it does not wait for a gather.
  AddUpWeightGradient(layer.routed, main);
  main->push_back(Moves("permute_backward", moved, MemoryClass::kGather));
  if (!layer.has_shared()) return;
  AddFeedForwardBackward(layer.shared, main);
  main->push_back(Moves("shared_gradient_sum", 3 * layer.whole_bytes));
  AddUpWeightGradient(layer.shared, &block->backward_weight);
}

void AddActivations(const Layer& layer, std::vector<Activation>* kept) {
  const Bytes cut(layer.sizes.cut_h * layer.sizes.element);
  if (!layer.model.parallel_residual) kept->push_back({"norm_input", cut});
  if (!SharesNorm(layer.model))
    kept->push_back({"router_input", cut, layer.execution.selective.norm_output});  // and the shared experts'
  kept->push_back({"router_scores", Bytes(layer.score_bytes)});
  kept->push_back({"expert_input", Bytes(layer.permuted_bytes)});
  AddFeedForwardActivations(layer.routed, kept);
  if (layer.has_shared()) AddFeedForwardActivations(layer.shared, kept);
}

}  // namespace

Block ExpertsBlock(const Model& model, const Execution& execution) {
  const Layer layer(model, execution);
  const bool own_norm = !SharesNorm(model);
  // The routed experts add their biases before the sum; the shared ones' comes after it.
  const bool bias = model.biases.mlp && layer.has_shared();
  Block block;
  block.name = "experts";
  AddActivations(layer, &block.activations);
  if (own_norm) AddNorm("norm", model.norm, layer.sizes.cut, model.hidden, execution, &block.before_gather);
  AddRouter(layer, &block);
  AddExperts(layer, &block.main);
  AddAfterReduce(model, execution, bias, &block);
  AddBackwardHead(model, execution, bias, &block);
  if (own_norm) AddNormAgain(model, execution, &block);
  AddNonlinearityAgain(layer.routed, &block.selective_recompute);
  if (layer.has_shared()) AddNonlinearityAgain(layer.shared, &block.selective_recompute);
  AddExpertsBackward(layer, &block);
  if (own_norm) AddBackwardTail(model, execution, &block);
  AddCommunication(model, execution, Half::kFeedForward, &block);
  if (!layer.has_shared()) block.gather_again = {};
  return block;
}

}  // namespace models
