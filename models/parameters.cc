#include "models/parameters.h"

#include "sim/base/check.h"

namespace models {
namespace {

std::int64_t NormParameters(const Model& model) {
  return model.norm == Norm::kLayer ? 2 * model.hidden : model.hidden;
}

std::int64_t EndNorms(const Model& model, bool embedding, bool head) {
  std::int64_t count = 0;
  if (embedding && model.embedding_norm) ++count;
  if (head && model.final_norm) ++count;
  return count * NormParameters(model);
}

// What every rank has whole and works with on its part of the sequence: the way
// down to the narrow vectors of latent attention, and their norms.
std::int64_t LatentDown(const Model& model) {
  const Latent& latent = model.latent;
  if (!model.has_latent()) return 0;
  return latent.query_rank * (model.hidden + 1) + latent.kv_rank * (model.hidden + 1) +
         latent.rope_dim * model.hidden;
}

Held LatentAttentionOfRank(const Model& model, std::int64_t heads) {
  const Latent& latent = model.latent;
  const std::int64_t from = latent.query_rank > 0 ? latent.query_rank : model.hidden;
  Held held;
  held.sharded = heads * (from * model.head_dim + latent.kv_rank * (latent.nope_dim + latent.value_dim) +
                          latent.value_dim * model.hidden);
  held.replicated = LatentDown(model);
  return held;
}

Held GroupedAttentionOfRank(const Model& model, std::int64_t tensor) {
  const std::int64_t query = QueryHeadsOfRank(model, tensor) * model.head_dim;
  const std::int64_t kv = KvHeadsOfRank(model, tensor) * model.head_dim;
  const std::int64_t in = model.hidden + (model.biases.qkv ? 1 : 0);  // a bias is one more row
  Held held;
  held.sharded = query * in + query * model.hidden;
  const bool shared = tensor > model.kv_heads;
  (shared ? held.replicated : held.sharded) += 2 * kv * in;
  if (model.qk_norm) held.replicated += 2 * model.head_dim;
  if (model.relative_positions) held.sharded += query * model.hidden;
  return held;
}

Held AttentionOfRank(const Model& model, std::int64_t tensor) {
  const std::int64_t heads = QueryHeadsOfRank(model, tensor);
  Held held =
      model.has_latent() ? LatentAttentionOfRank(model, heads) : GroupedAttentionOfRank(model, tensor);
  // The output's bias is added after the reduction, once, so every rank keeps it.
  if (model.biases.attention_output) held.replicated += model.hidden;
  if (model.attention_sinks) held.sharded += heads;
  return held;
}

// One feed-forward of this width in the whole group.
Held FeedForwardOfRank(const Model& model, std::int64_t width, std::int64_t tensor) {
  const std::int64_t ffn = width / tensor;
  const std::int64_t up = model.gated ? 2 : 1;
  Held held;
  held.sharded = (up + 1) * ffn * model.hidden;
  if (model.biases.mlp && width > 0) {
    held.sharded += up * ffn;
    held.replicated += model.hidden;
  }
  return held;
}

std::int64_t RouterParameters(const Model& model) {
  const Experts& experts = model.experts;
  return experts.routed * (model.hidden + (experts.router_bias ? 1 : 0)) +
         (experts.shared_gate ? model.hidden : 0);
}

// One layer of this kind on one rank.
StageParameters LayerOfRank(const Model& model, bool with_experts, const TensorShape& shape) {
  const std::int64_t tensor = shape.tensor;
  StageParameters p;
  p.attention = AttentionOfRank(model, tensor);
  p.norms.replicated = model.norms_per_layer * NormParameters(model);
  p.of_cut_tokens = p.norms.replicated + LatentDown(model);
  if (!with_experts) {
    p.mlp = FeedForwardOfRank(model, model.ffn, tensor);
    return p;
  }
  const Experts& experts = model.experts;
  p.mlp = experts.shared * FeedForwardOfRank(model, experts.shared_ffn, tensor);
  p.experts = experts.routed / shape.expert * FeedForwardOfRank(model, experts.ffn, shape.experts_cut());
  p.router.replicated = RouterParameters(model);
  p.of_cut_tokens += p.router.replicated;
  return p;
}

// One module: a layer as the last, norms of both inputs and of the output, and a matrix that joins
// the last output and the next token.
StageParameters PredictionOfRank(const Model& model, const TensorShape& shape) {
  StageParameters p = LayerOfRank(model, HasExperts(model, model.layers - 1), shape);
  p.mlp.sharded += 2 * model.hidden * (model.hidden / shape.tensor);
  p.norms.replicated += 3 * NormParameters(model);
  p.of_cut_tokens += 3 * NormParameters(model);
  return p;
}

StageParameters operator*(std::int64_t n, const StageParameters& p) {
  return {.attention = n * p.attention,
          .mlp = n * p.mlp,
          .experts = n * p.experts,
          .router = n * p.router,
          .norms = n * p.norms,
          .of_cut_tokens = n * p.of_cut_tokens};
}

}  // namespace

std::int64_t PadVocabulary(std::int64_t vocabulary, std::int64_t divisor, std::int64_t tensor) {
  CHECK(vocabulary > 0 && divisor > 0 && tensor > 0);
  const std::int64_t multiple = divisor * tensor;
  return (vocabulary + multiple - 1) / multiple * multiple;
}

bool CanShare(const Model& model, std::int64_t tensor) {
  if (tensor <= 0 || model.heads % tensor != 0 || model.ffn % tensor != 0) return false;
  if (model.experts.shared_ffn % tensor != 0) return false;
  return model.kv_heads % tensor == 0 || tensor % model.kv_heads == 0;
}

bool CanSpread(const Model& model, std::int64_t expert, std::int64_t expert_tensor) {
  return expert > 0 && expert_tensor > 0 && model.experts.routed % expert == 0 &&
         model.experts.ffn % expert_tensor == 0;
}

std::int64_t QueryHeadsOfRank(const Model& model, std::int64_t tensor) {
  CHECK(CanShare(model, tensor));
  return model.heads / tensor;
}

std::int64_t KvHeadsOfRank(const Model& model, std::int64_t tensor) {
  CHECK(CanShare(model, tensor));
  return tensor <= model.kv_heads ? model.kv_heads / tensor : 1;
}

LayerParameters ParametersOfLayer(const Model& model, std::int64_t layer) {
  const StageParameters p = LayerOfRank(model, HasExperts(model, layer), {});
  return {.attention = p.attention.total(),
          .mlp = p.mlp.total(),
          .experts = p.experts.total(),
          .router = p.router.total(),
          .norms = p.norms.total()};
}

ModelParameters ParametersOf(const Model& model) {
  ModelParameters p;
  p.table = model.vocabulary * model.hidden;
  p.positions = model.learned_positions * model.hidden;
  p.end_norms = EndNorms(model, true, true);
  p.output = model.tied_embedding ? 0 : p.table;
  const StageParameters all = ParametersOfRank(model, {.layers = model.layers}, {});
  p.layers = {.attention = all.attention.total(),
              .mlp = all.mlp.total(),
              .experts = all.experts.total(),
              .router = all.router.total(),
              .norms = all.norms.total()};
  const Experts& experts = model.experts;
  if (experts.routed > 0) p.idle = p.layers.experts / experts.routed * (experts.routed - experts.per_token);
  p.prediction_modules = model.prediction_modules * PredictionOfRank(model, {}).total().total();
  return p;
}

StageParameters operator+(const StageParameters& a, const StageParameters& b) {
  return {.attention = a.attention + b.attention,
          .mlp = a.mlp + b.mlp,
          .experts = a.experts + b.experts,
          .router = a.router + b.router,
          .norms = a.norms + b.norms,
          .embedding = a.embedding + b.embedding,
          .head = a.head + b.head,
          .tied_copy = a.tied_copy || b.tied_copy,
          .table_copy = a.table_copy || b.table_copy,
          .of_cut_tokens = a.of_cut_tokens + b.of_cut_tokens};
}

StageParameters ParametersOfRank(const Model& model, const Stage& stage, const TensorShape& shape) {
  CHECK(stage.first_layer >= 0 && stage.layers >= 0 && stage.first_layer + stage.layers <= model.layers);
  std::int64_t with_experts = 0;
  for (std::int64_t i = 0; i < stage.layers; ++i) {
    if (HasExperts(model, stage.first_layer + i)) ++with_experts;
  }
  CHECK(CanSpread(model, shape.expert, shape.experts_cut()));
  const StageParameters dense = LayerOfRank(model, false, shape);
  const StageParameters expert = LayerOfRank(model, true, shape);
  const StageParameters predictions = stage.predictions * PredictionOfRank(model, shape);
  // A rank alone has no other that could hold the same.
  const bool alone = shape.tensor == 1;
  const auto replicated = [alone](std::int64_t n) { return alone ? Held{n, 0} : Held{0, n}; };
  const auto all = [&](Held StageParameters::*part) {
    const Held held =
        (stage.layers - with_experts) * (dense.*part) + with_experts * (expert.*part) + predictions.*part;
    return alone ? Held{held.total(), 0} : held;
  };

  StageParameters p;
  p.attention = all(&StageParameters::attention);
  p.mlp = all(&StageParameters::mlp);
  const Held routed = with_experts * expert.experts + predictions.experts;
  p.experts = shape.experts_cut() == 1 ? Held{routed.total(), 0} : routed;
  p.router = all(&StageParameters::router);
  const std::int64_t end_norms = EndNorms(model, stage.embedding, stage.head);
  p.norms = all(&StageParameters::norms) + replicated(end_norms);
  p.of_cut_tokens = (stage.layers - with_experts) * dense.of_cut_tokens +
                    with_experts * expert.of_cut_tokens + predictions.of_cut_tokens + end_norms;
  const std::int64_t rows =
      PadVocabulary(model.vocabulary, shape.vocabulary_divisor, shape.tensor) / shape.tensor;
  if (stage.embedding) {
    p.embedding = Held{rows * model.hidden, 0} + replicated(model.learned_positions * model.hidden);
  }
  p.table_copy = stage.predictions > 0 && !stage.embedding && !model.tied_embedding;
  if (p.table_copy) p.embedding.sharded = rows * model.hidden;
  if (stage.head) {
    p.tied_copy = model.tied_embedding && !stage.embedding;
    if (p.tied_copy || !model.tied_embedding) p.head.sharded = rows * model.hidden;
  }
  return p;
}

}  // namespace models
