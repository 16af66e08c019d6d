#include "models/matrices.h"

#include "models/parameters.h"

namespace models {
namespace {

void AddAttention(const Model& m, std::vector<Matrices>* list) {
  const auto add = [&](MatrixRole role, std::int64_t out, std::int64_t in, std::int64_t heads) {
    if (out > 0 && in > 0) list->push_back({role, out, in, m.layers, heads});
  };
  const std::int64_t queries = m.heads * m.head_dim;
  if (m.has_latent()) {
    const Latent& l = m.latent;
    add(MatrixRole::kLatent, l.query_rank, m.hidden, 0);
    add(MatrixRole::kQuery, queries, l.query_rank > 0 ? l.query_rank : m.hidden, m.heads);
    add(MatrixRole::kLatent, l.kv_rank + l.rope_dim, m.hidden, 0);
    add(MatrixRole::kKey, m.heads * l.nope_dim, l.kv_rank, m.heads);
    add(MatrixRole::kValue, m.heads * l.value_dim, l.kv_rank, m.heads);
  } else {
    add(MatrixRole::kQuery, queries, m.hidden, m.heads);
    add(MatrixRole::kKey, m.kv_heads * m.head_dim, m.hidden, m.kv_heads);
    add(MatrixRole::kValue, m.kv_heads * m.head_dim, m.hidden, m.kv_heads);
  }
  add(MatrixRole::kAttentionOutput, m.hidden, m.heads * m.value_dim(), 0);
  if (m.relative_positions) add(MatrixRole::kRelativePositions, queries, m.hidden, m.heads);
}

void AddFeedForward(const Model& m, std::int64_t width, std::int64_t count, bool routed,
                    std::vector<Matrices>* list) {
  if (width == 0 || count == 0) return;
  if (m.gated) list->push_back({MatrixRole::kGate, width, m.hidden, count, 0, routed});
  list->push_back({MatrixRole::kUp, width, m.hidden, count, 0, routed});
  list->push_back({MatrixRole::kDown, m.hidden, width, count, 0, routed});
}

}  // namespace

Weights WeightsOf(const Model& m) {
  Weights weights;
  std::vector<Matrices>& list = weights.matrices;
  std::int64_t with_experts = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) with_experts += HasExperts(m, layer) ? 1 : 0;
  list.push_back({MatrixRole::kEmbedding, m.vocabulary, m.hidden, 1});
  if (m.learned_positions > 0) list.push_back({MatrixRole::kEmbedding, m.learned_positions, m.hidden, 1});
  AddAttention(m, &list);
  AddFeedForward(m, m.ffn, m.layers - with_experts, false, &list);
  AddFeedForward(m, m.experts.shared_ffn, with_experts * m.experts.shared, false, &list);
  AddFeedForward(m, m.experts.ffn, with_experts * m.experts.routed, true, &list);
  if (with_experts > 0) list.push_back({MatrixRole::kRouter, m.experts.routed, m.hidden, with_experts});
  if (!m.tied_embedding) list.push_back({MatrixRole::kOutput, m.vocabulary, m.hidden, 1});
  weights.vectors = ParametersOf(m).total();
  for (const Matrices& matrices : list) weights.vectors -= matrices.elements();
  return weights;
}

}  // namespace models
