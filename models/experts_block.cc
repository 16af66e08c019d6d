#include "models/experts_block.h"

#include <algorithm>
#include <cmath>

#include "models/experts_layer.h"
#include "models/feed_forward.h"
#include "models/kernels.h"
#include "models/parameters.h"
#include "models/quantise.h"
#include "sim/base/check.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;
using sim::MemoryClass;

// Routers are not run in FP8.
sim::NumberFormat RouterFormat(sim::NumberFormat format) {
  return format == sim::NumberFormat::kFp8 ? sim::NumberFormat::kBf16 : format;
}

// Rows of one rank's tokens that go to experts: once for each expert visited, or
// what the experts' capacities make of it.
std::int64_t RowsOf(const Model& m, const Execution& e, std::int64_t tokens) {
  const Experts& experts = m.experts;
  if (e.experts.capacity_factor == 0) return tokens * experts.per_token;
  const std::int64_t filled =
      experts.routed * ExpertCapacity(tokens, experts.routed, experts.per_token, e.experts.capacity_factor);
  return e.experts.dispatcher == Dispatcher::kDeepEp ? std::min(tokens * experts.per_token, filled) : filled;
}

// Of `rows` of one rank, those for the experts of this rank's group.
std::int64_t RowsForGroup(const ExpertSpread& spread, std::int64_t rows) {
  if (spread.loads.empty()) return 0;
  sim::Wide before = 0, own = 0, all = 0;
  for (std::size_t i = 0; i < spread.loads.size(); ++i) {
    const auto group = static_cast<std::int64_t>(i);
    if (group < spread.group) before += spread.loads[i];
    if (group == spread.group) own = spread.loads[i];
    all += spread.loads[i];
  }
  return static_cast<std::int64_t>(rows * (before + own) / all - rows * before / all);
}

// Rows that the experts of one rank work on.
std::int64_t RowsAtExperts(const Execution& e, std::int64_t sent) {
  if (!e.spreads_experts()) return sent;
  const std::int64_t cut = e.expert_tensor();
  if (e.experts.loads.empty() || e.experts.capacity_factor > 0) return sent * cut;
  return RowsForGroup(e.experts, sent) * e.experts.expert * cut;
}

// Tokens that one rank takes to spread experts: its part of the sequence, or where all
// ranks of a tensor group have the same tokens, an even part of these.
std::int64_t OwnTokens(const Execution& e, const Sizes& sizes) {
  if (!e.spreads_experts()) return sizes.tokens;
  return (sizes.tokens + e.tensor - 1) / e.tensor;
}

}  // namespace

ExpertsLayer::ExpertsLayer(const Model& m, const Execution& e)
    : model(m),
      execution(e),
      sizes(m, e),
      own(OwnTokens(e, sizes)),
      rows(RowsOf(m, e, own)),
      routed(m, e, kRoutedNames, RowsAtExperts(e, rows), m.experts.ffn / e.expert_tensor(),
             m.experts.routed / e.experts.expert),
      shared(m, e, kSharedNames, sizes.tokens, m.experts.shared * (m.experts.shared_ffn / e.tensor), 1) {
  CHECK(CanSpread(m, e.experts.expert, e.expert_tensor()));
  routed.nonlinearity_again = routed.nonlinearity_again || e.selective.expert_nonlinearity;
  routed.runs_again = e.selective.experts;
  shared.runs_again = e.selective.experts || e.selective.shared_experts;
  logits = m.experts.routed + (m.experts.shared_gate ? 1 : 0);
  whole_bytes = sizes.whole_h * sizes.element;
  cut_bytes = sizes.cut_h * sizes.element;
  own_bytes = own * m.hidden * sizes.element;
  sent_bytes = rows * m.hidden * sizes.element;
  permuted_bytes = routed.rows * m.hidden * sizes.element;
  score_bytes = 4 * sizes.cut * logits;
  down_bias_bytes = m.biases.mlp ? routed.experts * m.hidden * sizes.element : 0;
}

namespace {

void AddRouter(const ExpertsLayer& layer, Block* block) {
  const Sizes& sizes = layer.sizes;
  const std::int64_t hidden = layer.model.hidden;
  const auto format = RouterFormat(layer.execution.format);
  block->before_gather.push_back(Gemm("router", {sizes.cut, layer.logits, hidden, 1}, format));
  block->before_gather.push_back(Moves("route", 2 * layer.score_bytes, MemoryClass::kNorm));

  Execution execution = layer.execution;
  execution.format = format;
  execution.matmul = {};
  std::vector<Kernel>* tail = &block->backward_tail;
  tail->push_back(Moves("route_backward", 3 * layer.score_bytes, MemoryClass::kNorm));
  tail->push_back(Gemm("router_dgrad", {sizes.cut, hidden, layer.logits, 1}, format));
  AddWeightGradient("router_wgrad", layer.logits, hidden, sizes.cut, execution, tail);
  tail->push_back(Moves("branch_gradient_sum", 3 * sizes.cut_h * sizes.element));
}

void AddWeightCasts(const ExpertsLayer& layer, Block* block) {
  AddFeedForwardWeightCasts(layer.routed, block);
  if (layer.execution.spreads_experts()) {
    block->spread_cast_weights = block->cast_weights;
    block->spread_cast_matrices = block->cast_matrices;
  }
  if (layer.has_shared()) AddFeedForwardWeightCasts(layer.shared, block);
}

void AddExperts(const ExpertsLayer& layer, std::vector<Kernel>* main) {
  const std::int64_t moved = layer.whole_bytes + layer.permuted_bytes;
  main->push_back(Moves("permute", moved, MemoryClass::kGather));
  AddCast("cast_input", layer.execution, layer.routed.rows * layer.model.hidden, main);
  AddFeedForward(layer.routed, main);
  main->push_back(Moves("unpermute", moved + layer.down_bias_bytes, MemoryClass::kGather));
  if (layer.has_shared()) {
    AddCast("cast_input", layer.execution, layer.sizes.whole_h, main);
    AddFeedForward(layer.shared, main);
    main->push_back(Moves("shared_sum", 3 * layer.whole_bytes));
  }
  if (layer.model.parallel_residual) main->push_back(Moves("branch_sum", 3 * layer.whole_bytes));
}

void AddExpertsBackward(const ExpertsLayer& layer, Block* block) {
  const std::int64_t moved = layer.whole_bytes + layer.permuted_bytes;
  std::vector<Kernel>* main = &block->backward_main;
  main->push_back(Moves("unpermute_backward", moved, MemoryClass::kGather));
  if (layer.down_bias_bytes > 0) AddBiasGradient("expert_down_bias_gradient", layer.permuted_bytes, main);
  AddCast("cast_gradient", layer.execution, layer.routed.rows * layer.model.hidden, main);
  AddFeedForwardBackward(layer.routed, main);
  // With its input permuted already, it does not wait for a gather.
  AddUpWeightGradient(layer.routed, main);
  main->push_back(Moves("permute_backward", moved, MemoryClass::kGather));
  if (!layer.has_shared()) return;
  AddCast("cast_gradient", layer.execution, layer.sizes.whole_h, main);
  AddFeedForwardBackward(layer.shared, main);
  main->push_back(Moves("shared_gradient_sum", 3 * layer.whole_bytes));
  AddUpWeightGradient(layer.shared, &block->backward_weight);
}

void AddActivations(const ExpertsLayer& layer, std::vector<Activation>* kept) {
  const Bytes cut(layer.cut_bytes);
  if (!layer.model.parallel_residual) {
    KeepNorm("norm_input", layer.model.norm, layer.sizes.cut_h, layer.execution, false, kept);
  }
  if (!SharesNorm(layer.model))
    kept->push_back({"router_input", cut, layer.execution.selective.norm_output});  // and the shared experts'
  const bool again = layer.execution.selective.experts;
  kept->push_back({"router_scores", Bytes(layer.score_bytes), again});
  kept->push_back({"expert_input",
                   Bytes(LinearInputBytes(layer.execution, layer.routed.rows * layer.model.hidden)), again});
  if (layer.has_shared() && layer.execution.matmul.recipe != Recipe::kNone) {
    kept->push_back({"shared_input", Bytes(LinearInputBytes(layer.execution, layer.sizes.cut_h)),
                     layer.shared.runs_again});
  }
  AddFeedForwardActivations(layer.routed, kept);
  if (layer.has_shared()) AddFeedForwardActivations(layer.shared, kept);
}

// Of rows at the experts: as they came in 16 bits, or in eight, cast by their sender.
void AddArrivedCast(const char* name, const ExpertsLayer& layer, std::vector<Kernel>* kernels) {
  const std::int64_t numbers = layer.routed.rows * layer.model.hidden;
  if (layer.execution.experts.fp8_dispatch) {
    AddSecondCopy(layer.execution, numbers, kernels);
  } else {
    AddCast(name, layer.execution, numbers, kernels);
  }
}

// Work of a rank's experts on rows of other ranks.
void AddSpreadWork(const ExpertsLayer& layer, Block* block) {
  const FeedForward& routed = layer.routed;
  SpreadExperts* spread = &block->experts;
  spread->rows = routed.rows;
  if (routed.rows == 0) return;
  AddNonlinearityAgain(routed, &spread->again);
  const Dispatcher dispatcher = layer.execution.experts.dispatcher;
  // Rows arrive by sender, in each by expert; one expert's are brought together. The
  // others arrive as tokens, of which rows are made here.
  const bool sorts = dispatcher == Dispatcher::kAllToAll && routed.experts > 1;
  const bool moves = sorts || dispatcher != Dispatcher::kAllToAll;
  const std::int64_t moved = 2 * layer.permuted_bytes;
  if (moves) spread->forward.push_back(Moves("sort_by_expert", moved, MemoryClass::kGather));
  AddArrivedCast("cast_input", layer, &spread->forward);
  AddFeedForward(routed, &spread->forward);
  if (moves) {
    spread->forward.push_back(Moves("sort_back", moved + layer.down_bias_bytes, MemoryClass::kGather));
    spread->backward.push_back(Moves("sort_back_backward", moved, MemoryClass::kGather));
  }
  if (layer.down_bias_bytes > 0) {
    AddBiasGradient("expert_down_bias_gradient", layer.permuted_bytes, &spread->backward);
  }
  AddArrivedCast("cast_gradient", layer, &spread->backward);
  AddFeedForwardBackward(routed, &spread->backward);
  AddUpWeightGradient(routed, &spread->backward);
  if (moves) spread->backward.push_back(Moves("sort_by_expert_backward", moved, MemoryClass::kGather));
}

// The way of a rank's own tokens to rows and back. What travels as tokens becomes
// rows at the experts.
void AddSpread(const ExpertsLayer& layer, Block* block) {
  block->spread = true;
  const bool permutes = layer.execution.experts.dispatcher == Dispatcher::kAllToAll;
  const std::int64_t moved = layer.own_bytes + layer.sent_bytes;
  AddSpreadWork(layer, block);
  AddMoves(layer, &block->experts);
  if (layer.execution.experts.fp8_dispatch) {
    const std::int64_t numbers = layer.own * layer.model.hidden;
    AddTravelCast("cast_input", layer.execution, numbers, &block->before_gather);
    AddTravelCast("cast_gradient", layer.execution, numbers, &block->backward_head);
  }
  if (permutes) {
    block->before_gather.push_back(Moves("permute", moved, MemoryClass::kGather));
    block->after_reduce.push_back(Moves("unpermute", moved, MemoryClass::kGather));
  }
  if (layer.model.parallel_residual) block->after_reduce.push_back(Moves("branch_sum", 3 * layer.cut_bytes));
  if (!layer.has_shared()) return;
  AddGatheredInputCast(layer.model, layer.execution, block);
  AddGatheredGradientCast(layer.model, layer.execution, block);
  AddFeedForward(layer.shared, &block->main);
  block->after_reduce.push_back(Moves("shared_sum", 3 * layer.cut_bytes));
  AddFeedForwardBackward(layer.shared, &block->backward_main);
  AddUpWeightGradient(layer.shared, &block->backward_weight);
}

// What a rank does before its gradients travel, and after they came back.
void AddSpreadEnds(const ExpertsLayer& layer, bool before, Block* block) {
  const bool permutes = layer.execution.experts.dispatcher == Dispatcher::kAllToAll;
  const std::int64_t moved = layer.own_bytes + layer.sent_bytes;
  std::vector<Kernel>* phase = before ? &block->backward_head : &block->backward_tail;
  if (permutes) {
    phase->push_back(Moves(before ? "unpermute_backward" : "permute_backward", moved, MemoryClass::kGather));
  }
  if (!before && layer.has_shared()) phase->push_back(Moves("shared_gradient_sum", 3 * layer.cut_bytes));
}

// What a part of the forward runs again, by Megatron-LM's names: moe, or shared_experts.
// The norm's kernels come first and are no part of either.
void AddPartsAgain(const ExpertsLayer& layer, std::size_t norm_kernels, const std::vector<Kernel>& homecoming,
                   Block* block) {
  const SelectiveModules& modules = layer.execution.selective;
  Again* again = &block->again;
  if (!modules.experts && !(modules.shared_experts && layer.has_shared())) return;
  again->gather = block->gather_forward;
  again->reduce = block->reduce_forward;
  if (modules.experts) {
    again->before_gather.insert(again->before_gather.end(),
                                block->before_gather.begin() + static_cast<std::ptrdiff_t>(norm_kernels),
                                block->before_gather.end());
    again->main.insert(again->main.end(), block->main.begin(), block->main.end());
    again->after_reduce = homecoming;
    again->travel = block->spread;
    return;
  }
  if (block->spread) {
    Block cast;
    AddGatheredInputCast(layer.model, layer.execution, &cast);
    again->before_gather.insert(again->before_gather.end(), cast.before_gather.begin(),
                                cast.before_gather.end());
  } else {
    AddCast("cast_input", layer.execution, layer.sizes.whole_h, &again->main);
  }
  AddFeedForward(layer.shared, &again->main);
}

Block SpreadBlock(const ExpertsLayer& layer) {
  const Model& model = layer.model;
  const Execution& execution = layer.execution;
  const bool own_norm = !SharesNorm(model);
  const bool bias = model.biases.mlp && layer.has_shared();
  Block block;
  block.name = "experts";
  AddActivations(layer, &block.activations);
  if (own_norm) AddNorm("norm", model.norm, layer.sizes.cut, model.hidden, execution, &block.before_gather);
  const std::size_t norm_kernels = block.before_gather.size();
  AddSpreadEnds(layer, false, &block);
  AddRouter(layer, &block);
  AddSpread(layer, &block);
  AddWeightCasts(layer, &block);
  const std::vector<Kernel> homecoming = block.after_reduce;
  AddAfterReduce(model, execution, bias, &block);
  AddBackwardHead(model, execution, bias, &block);
  if (own_norm) AddNormAgain(model, execution, &block);
  if (layer.has_shared()) AddNonlinearityAgain(layer.shared, &block.again.main);
  AddSpreadEnds(layer, true, &block);
  if (own_norm) AddBackwardTail(model, execution, &block);
  if (layer.has_shared()) AddCommunication(model, execution, Half::kFeedForward, &block);
  if (layer.own < layer.sizes.cut) block.experts.gather = Bytes(layer.whole_bytes);
  AddPartsAgain(layer, norm_kernels, homecoming, &block);
  return block;
}

}  // namespace

std::int64_t ExpertCapacity(std::int64_t tokens, std::int64_t routed, std::int64_t per_token, double factor) {
  CHECK(tokens > 0 && routed > 0 && per_token > 0 && factor > 0);
  const double wanted =
      std::ceil(static_cast<double>(tokens * per_token) / static_cast<double>(routed) * factor);
  return wanted < static_cast<double>(tokens) ? static_cast<std::int64_t>(wanted) : tokens;
}

Block ExpertsBlock(const Model& model, const Execution& execution) {
  const ExpertsLayer layer(model, execution);
  if (execution.spreads_experts()) return SpreadBlock(layer);
  const bool own_norm = !SharesNorm(model);
  // The routed experts add their biases before the sum; the shared ones' comes after it.
  const bool bias = model.biases.mlp && layer.has_shared();
  Block block;
  block.name = "experts";
  AddActivations(layer, &block.activations);
  if (own_norm) AddNorm("norm", model.norm, layer.sizes.cut, model.hidden, execution, &block.before_gather);
  const std::size_t norm_kernels = block.before_gather.size();
  AddRouter(layer, &block);
  AddExperts(layer, &block.main);
  AddWeightCasts(layer, &block);
  AddAfterReduce(model, execution, bias, &block);
  AddBackwardHead(model, execution, bias, &block);
  if (own_norm) AddNormAgain(model, execution, &block);
  AddNonlinearityAgain(layer.routed, &block.again.main);
  if (layer.has_shared()) AddNonlinearityAgain(layer.shared, &block.again.main);
  AddExpertsBackward(layer, &block);
  if (own_norm) AddBackwardTail(model, execution, &block);
  // The router and the permutation read 16 bits, so that is what is gathered.
  Execution in_16_bits = execution;
  in_16_bits.matmul = {};
  AddCommunication(model, in_16_bits, Half::kFeedForward, &block);
  if (!layer.has_shared()) block.gather_again = {};
  AddPartsAgain(layer, norm_kernels, {}, &block);
  return block;
}

}  // namespace models
