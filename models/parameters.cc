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

Held AttentionOfRank(const Model& model, std::int64_t tensor) {
  const std::int64_t query = QueryHeadsOfRank(model, tensor) * model.head_dim;
  const std::int64_t kv = KvHeadsOfRank(model, tensor) * model.head_dim;
  const std::int64_t in = model.hidden + (model.biases.qkv ? 1 : 0);  // a bias is one more row
  Held held;
  held.sharded = query * in + query * model.hidden;
  const bool shared = tensor > model.kv_heads;
  (shared ? held.replicated : held.sharded) += 2 * kv * in;
  // The output's bias is added after the reduction, once, so every rank keeps it.
  if (model.biases.attention_output) held.replicated += model.hidden;
  if (model.qk_norm) held.replicated += 2 * model.head_dim;
  return held;
}

Held MlpOfRank(const Model& model, std::int64_t tensor) {
  const std::int64_t ffn = model.ffn / tensor;
  const std::int64_t up = model.gated ? 2 : 1;
  Held held;
  held.sharded = (up + 1) * ffn * model.hidden;
  if (model.biases.mlp) {
    held.sharded += up * ffn;
    held.replicated += model.hidden;
  }
  return held;
}

}  // namespace

std::int64_t PadVocabulary(std::int64_t vocabulary, std::int64_t divisor, std::int64_t tensor) {
  CHECK(vocabulary > 0 && divisor > 0 && tensor > 0);
  const std::int64_t multiple = divisor * tensor;
  return (vocabulary + multiple - 1) / multiple * multiple;
}

bool CanShare(const Model& model, std::int64_t tensor) {
  if (tensor <= 0 || model.heads % tensor != 0 || model.ffn % tensor != 0) return false;
  return model.kv_heads % tensor == 0 || tensor % model.kv_heads == 0;
}

std::int64_t QueryHeadsOfRank(const Model& model, std::int64_t tensor) {
  CHECK(CanShare(model, tensor));
  return model.heads / tensor;
}

std::int64_t KvHeadsOfRank(const Model& model, std::int64_t tensor) {
  CHECK(CanShare(model, tensor));
  return tensor <= model.kv_heads ? model.kv_heads / tensor : 1;
}

ModelParameters ParametersOf(const Model& model) {
  ModelParameters p;
  p.table = model.vocabulary * model.hidden;
  p.positions = model.learned_positions * model.hidden;
  p.end_norms = EndNorms(model, true, true);
  p.output = model.tied_embedding ? 0 : p.table;
  p.layer.attention = AttentionOfRank(model, 1).total();
  p.layer.mlp = MlpOfRank(model, 1).total();
  p.layer.norms = model.norms_per_layer * NormParameters(model);
  p.layers = model.layers;
  return p;
}

StageParameters ParametersOfRank(const Model& model, const Stage& stage, const TensorShape& shape) {
  const std::int64_t rows =
      PadVocabulary(model.vocabulary, shape.vocabulary_divisor, shape.tensor) / shape.tensor;
  const bool alone = shape.tensor == 1;
  const auto replicated = [alone](std::int64_t n) { return alone ? Held{n, 0} : Held{0, n}; };
  const auto moved = [alone](Held h) { return alone ? Held{h.total(), 0} : h; };

  StageParameters p;
  p.attention = stage.layers * moved(AttentionOfRank(model, shape.tensor));
  p.mlp = stage.layers * moved(MlpOfRank(model, shape.tensor));
  p.norms = replicated(stage.layers * model.norms_per_layer * NormParameters(model) +
                       EndNorms(model, stage.embedding, stage.head));
  if (stage.embedding) {
    p.embedding = Held{rows * model.hidden, 0} + replicated(model.learned_positions * model.hidden);
  }
  if (stage.head) {
    p.tied_copy = model.tied_embedding && !stage.embedding;
    if (p.tied_copy || !model.tied_embedding) p.head.sharded = rows * model.hidden;
  }
  return p;
}

}  // namespace models
