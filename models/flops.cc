#include "models/flops.h"

#include <algorithm>

#include "models/operations.h"
#include "models/parameters.h"

namespace models {
namespace {

// Weights of the attention's matrices in one layer, without biases and norms.
sim::Wide AttentionMatrices(const Model& m) {
  if (!m.has_latent()) return static_cast<sim::Wide>(2) * m.hidden * (m.heads + m.kv_heads) * m.head_dim;
  const Latent& latent = m.latent;
  const sim::Wide query = static_cast<sim::Wide>(m.heads) * m.head_dim;
  const sim::Wide query_matrices =
      latent.query_rank > 0 ? latent.query_rank * (m.hidden + query) : m.hidden * query;
  const sim::Wide kv =
      static_cast<sim::Wide>(m.hidden) * (latent.kv_rank + latent.rope_dim) +
      static_cast<sim::Wide>(latent.kv_rank) * m.heads * (latent.nope_dim + latent.value_dim);
  return query_matrices + kv + static_cast<sim::Wide>(m.heads) * latent.value_dim * m.hidden;
}

// Weights that one token meets in the feed-forward of a layer, the router's too.
sim::Wide FeedForwardMatrices(const Model& m, std::int64_t layer) {
  const std::int64_t matrices = m.gated ? 3 : 2;
  const Experts& e = m.experts;
  if (!HasExperts(m, layer)) return static_cast<sim::Wide>(matrices) * m.hidden * m.ffn;
  const sim::Wide widths = static_cast<sim::Wide>(e.per_token) * e.ffn + e.all_shared_ffn();
  return m.hidden * (matrices * widths + e.routed + (e.shared_gate ? 1 : 0));
}

// Weights whose products with a token selective recomputation runs again in a layer.
sim::Wide MatricesAgain(const Model& m, const Execution& execution, std::int64_t layer) {
  const SelectiveModules& modules = execution.selective;
  if (modules.operations) {
    const sim::Wide keys = static_cast<sim::Wide>(m.hidden) * m.kv_heads * m.head_dim;
    const sim::Wide output = static_cast<sim::Wide>(m.hidden) * m.heads * m.head_dim;
    const sim::Wide up = static_cast<sim::Wide>(m.hidden) * m.ffn;
    return keys + (RunsOutputAgain(execution) ? output : 0) + (RunsUpAgain(m) ? up : 0);
  }
  sim::Wide weights = 0;
  if (modules.latent_up && m.has_latent()) {
    const std::int64_t from = m.latent.query_rank > 0 ? m.latent.query_rank : m.hidden;
    weights += static_cast<sim::Wide>(from) * m.heads * m.head_dim +
               static_cast<sim::Wide>(m.latent.kv_rank) * m.heads * (m.latent.nope_dim + m.latent.value_dim);
  }
  const bool experts = HasExperts(m, layer);
  if (experts ? modules.experts : modules.feed_forward) {
    weights += FeedForwardMatrices(m, layer);
  } else if (experts && modules.shared_experts) {
    weights += static_cast<sim::Wide>(m.gated ? 3 : 2) * m.hidden * m.experts.all_shared_ffn();
  }
  return weights;
}

sim::Wide LayersMatrices(const Model& m) {
  sim::Wide sum = m.layers * AttentionMatrices(m);
  for (std::int64_t layer = 0; layer < m.layers; ++layer) sum += FeedForwardMatrices(m, layer);
  return sum;
}

// Twice the query-key pairs of one sequence, so that half a diagonal is whole.
sim::Wide TwicePairs(const Model& m, std::int64_t layer, std::int64_t length, AttentionCount count) {
  const sim::Wide reach = ReachOf(m, layer, length);
  if (count == AttentionCount::kFull) return 2 * reach * length;
  return reach * (2 * length - reach);
}

sim::Wide AttentionFlops(const Model& m, std::int64_t sequences, std::int64_t length, AttentionCount count) {
  sim::Wide twice_pairs = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) twice_pairs += TwicePairs(m, layer, length, count);
  // Two contractions of 2 FLOPs a pair: over a key's channels, and over a value's.
  return twice_pairs * sequences * m.heads * (m.head_dim + m.value_dim());
}

}  // namespace

FlopsOf ForwardFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                     AttentionCount count) {
  const sim::Wide tokens = static_cast<sim::Wide>(sequences) * sequence_length;
  FlopsOf flops;
  flops.linear = 2 * tokens * LayersMatrices(model);
  flops.attention = AttentionFlops(model, sequences, sequence_length, count);
  flops.logits = 2 * tokens * model.hidden * model.vocabulary;
  return flops;
}

sim::Wide ModelFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                     AttentionCount count) {
  return 3 * ForwardFlops(model, sequences, sequence_length, count).total();
}

FlopsOf PredictionFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                        AttentionCount count) {
  const sim::Wide tokens = static_cast<sim::Wide>(sequences) * sequence_length;
  const std::int64_t last = model.layers - 1;
  const sim::Wide join = static_cast<sim::Wide>(2) * model.hidden * model.hidden;
  FlopsOf flops;
  flops.linear = 2 * tokens * (AttentionMatrices(model) + FeedForwardMatrices(model, last) + join);
  flops.attention = TwicePairs(model, last, sequence_length, count) * sequences * model.heads *
                    (model.head_dim + model.value_dim());
  flops.logits = 2 * tokens * model.hidden * model.vocabulary;
  for (sim::Wide* part : {&flops.linear, &flops.attention, &flops.logits}) *part *= model.prediction_modules;
  return flops;
}

sim::Wide SelectiveRecomputeFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                                  AttentionCount count) {
  return AttentionFlops(model, sequences, sequence_length, count);
}

sim::Wide SelectiveRecomputeFlops(const Model& model, const Execution& execution, std::int64_t sequences,
                                  std::int64_t sequence_length, std::int64_t predictions,
                                  AttentionCount count) {
  const SelectiveModules& modules = execution.selective;
  const bool core = modules.attention_core && !modules.operations;
  sim::Wide matrices = 0, twice_pairs = 0;
  for (std::int64_t i = 0; i < model.layers + predictions; ++i) {
    const std::int64_t layer = std::min(i, model.layers - 1);  // modules have a layer as the last
    matrices += MatricesAgain(model, execution, layer);
    if (core) twice_pairs += TwicePairs(model, layer, sequence_length, count);
  }
  return 2 * static_cast<sim::Wide>(sequences) * sequence_length * matrices +
         twice_pairs * sequences * model.heads * (model.head_dim + model.value_dim());
}

sim::Wide FullRecomputeFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                             AttentionCount count) {
  const FlopsOf flops = ForwardFlops(model, sequences, sequence_length, count);
  return flops.linear + flops.attention;
}

sim::Wide TwoPD(const Model& model, std::int64_t tokens) {
  return static_cast<sim::Wide>(2) * ParametersOf(model).active() * tokens;
}

sim::Wide SixPD(const Model& model, std::int64_t tokens) { return 3 * TwoPD(model, tokens); }

}  // namespace models
