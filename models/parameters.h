// Parameters: how many numbers a model has, and how many of them one rank holds.
// Integers throughout: a model has exactly as many parameters as its shapes say.

#ifndef MODELS_PARAMETERS_H_
#define MODELS_PARAMETERS_H_

#include <cstdint>

#include "models/model.h"

namespace models {

struct LayerParameters {
  std::int64_t attention = 0;  // matrices, biases, norms inside it, sinks
  std::int64_t mlp = 0;        // the dense feed-forward; in layers with experts, the shared ones
  std::int64_t experts = 0;    // routed ones
  std::int64_t router = 0;     // with its bias, and the gate of the shared experts
  std::int64_t norms = 0;
  std::int64_t total() const { return attention + mlp + experts + router + norms; }
};
LayerParameters ParametersOfLayer(const Model& model, std::int64_t layer);

// The model as it is published: no padding, nothing twice. Independent of any layout.
struct ModelParameters {
  std::int64_t table = 0;               // token embedding
  std::int64_t positions = 0;           // learned positions
  std::int64_t end_norms = 0;           // after the embedding and before the head, where the model has them
  std::int64_t output = 0;              // output matrix; 0 when tied
  LayerParameters layers;               // of all layers together
  std::int64_t idle = 0;                // of routed experts, what one token does not visit
  std::int64_t prediction_modules = 0;  // beside the total; without the vocabulary matrices, which they share
  std::int64_t total() const { return table + positions + end_norms + output + layers.total(); }
  // What one token uses, as Mixtral's authors count: both vocabulary matrices whole.
  // Source: Jiang et al., "Mixtral of experts", 2024, section 1. Others leave out the
  // table, of which a token reads one row (gpt-oss), and say so.
  std::int64_t active() const { return total() - idle; }
  // Without the two vocabulary matrices.
  std::int64_t non_embedding() const { return total() - table - output; }
};
ModelParameters ParametersOf(const Model& model);

// Rows of the vocabulary matrices when each of `tensor` ranks gets the same
// number of rows, a multiple of `divisor`.
// Source: Megatron-LM, megatron/training/tokenizer, --make-vocab-size-divisible-by.
// REQUIRES: all > 0
std::int64_t PadVocabulary(std::int64_t vocabulary, std::int64_t divisor, std::int64_t tensor);

// Whether `tensor` ranks can share a layer: tensor divides heads and the width of
// every feed-forward but the routed experts', and one of tensor and kv_heads divides
// the other. With more ranks than key-value heads several ranks hold the same one:
// legal, and counted.
bool CanShare(const Model& model, std::int64_t tensor);
// Whether expert x expert_tensor ranks can share the routed experts of a layer: the
// first divides their number, the second their width.
bool CanSpread(const Model& model, std::int64_t expert, std::int64_t expert_tensor);

// How the ranks of a stage share its layers.
struct TensorShape {
  std::int64_t tensor = 1;
  std::int64_t vocabulary_divisor = 1;  // see PadVocabulary
  std::int64_t expert = 1;              // see ExpertSpread
  std::int64_t expert_tensor = 0;       // 0 = as tensor
  std::int64_t experts_cut() const { return expert_tensor > 0 ? expert_tensor : tensor; }
};

// Query and key-value heads of one rank. REQUIRES: CanShare(model, tensor)
std::int64_t QueryHeadsOfRank(const Model& model, std::int64_t tensor);
std::int64_t KvHeadsOfRank(const Model& model, std::int64_t tensor);

// What one rank of a tensor group holds; of routed experts, one of expert x
// expert_tensor ranks.
struct Held {
  std::int64_t sharded = 0;     // held by this rank alone
  std::int64_t replicated = 0;  // held by other ranks of the group too
  std::int64_t total() const { return sharded + replicated; }
  friend Held operator+(Held a, Held b) { return {a.sharded + b.sharded, a.replicated + b.replicated}; }
  friend Held operator*(std::int64_t n, Held a) { return {n * a.sharded, n * a.replicated}; }
};

// One piece of a pipeline: consecutive layers, and perhaps the model's ends.
struct Stage {
  std::int64_t layers = 0;
  bool embedding = false;
  bool head = false;
  std::int64_t first_layer = 0;
  std::int64_t predictions = 0;  // modules behind the layers, which read the table and the head's matrix
};

// What one rank of a tensor group holds of one stage. A stage that has the head
// of a tied model, or prediction modules, but not the embedding holds a copy of the table.
struct StageParameters {
  Held attention, mlp, experts, router, norms;  // of all its layers, as in LayerParameters; norms also
                                                // those at the model's ends
  Held embedding;                               // table and positions
  Held head;                                    // output matrix, or the copy of the tied table
  bool tied_copy = false;   // head is such a copy: its gradient is reduced with the first stage's
  bool table_copy = false;  // embedding is one that only prediction modules read, likewise
  // With sequence parallelism a rank sees a part of the sequence where these work (norms, routers,
  // the narrow projections of latent attention), so their gradients are summed over the group.
  std::int64_t of_cut_tokens = 0;
  Held total() const { return attention + mlp + experts + router + norms + embedding + head; }
};
StageParameters operator+(const StageParameters& a, const StageParameters& b);
// REQUIRES: CanShare(model, shape.tensor); CanSpread() of the experts; its layers are layers of the model
StageParameters ParametersOfRank(const Model& model, const Stage& stage, const TensorShape& shape);

}  // namespace models

#endif  // MODELS_PARAMETERS_H_
