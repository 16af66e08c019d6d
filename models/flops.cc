#include "models/flops.h"

#include "models/parameters.h"

namespace models {
namespace {

// Weights of one layer's matrices, without biases and norms.
sim::Wide LayerMatrices(const Model& m) {
  const sim::Wide attention = 2 * m.hidden * (m.heads + m.kv_heads) * m.head_dim;
  return attention + (m.gated ? 3 : 2) * m.hidden * m.ffn;
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
  return 2 * twice_pairs * sequences * m.heads * m.head_dim;  // 2 contractions of 2 FLOPs, per pair
}

}  // namespace

FlopsOf ForwardFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                     AttentionCount count) {
  const sim::Wide tokens = static_cast<sim::Wide>(sequences) * sequence_length;
  FlopsOf flops;
  flops.linear = 2 * tokens * LayerMatrices(model) * model.layers;
  flops.attention = AttentionFlops(model, sequences, sequence_length, count);
  flops.logits = 2 * tokens * model.hidden * model.vocabulary;
  return flops;
}

sim::Wide ModelFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                     AttentionCount count) {
  return 3 * ForwardFlops(model, sequences, sequence_length, count).total();
}

sim::Wide SelectiveRecomputeFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                                  AttentionCount count) {
  return AttentionFlops(model, sequences, sequence_length, count);
}

sim::Wide FullRecomputeFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                             AttentionCount count) {
  const FlopsOf flops = ForwardFlops(model, sequences, sequence_length, count);
  return flops.linear + flops.attention;
}

sim::Wide TwoPD(const Model& model, std::int64_t tokens) {
  return static_cast<sim::Wide>(2) * ParametersOf(model).total() * tokens;
}

sim::Wide SixPD(const Model& model, std::int64_t tokens) { return 3 * TwoPD(model, tokens); }

}  // namespace models
