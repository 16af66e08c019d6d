// Model: the shape of a decoder-only transformer, dense or with experts, as plain
// values. A Model that a reader returned is legal; see models/model_reader.h for
// what that means.

#ifndef MODELS_MODEL_H_
#define MODELS_MODEL_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace models {

enum class Norm : std::uint8_t {
  kRms,    // one scale per channel
  kLayer,  // a scale and a bias per channel
  kLayerScaleOnly,
};

enum class Nonlinearity : std::uint8_t { kGelu, kRelu, kSilu };

// Which linear layers add a bias.
struct Biases {
  bool qkv = false;
  bool attention_output = false;
  bool mlp = false;  // all of its linear layers
};

// What a query of a layer sees.
enum class Attention : std::uint8_t { kFull, kSliding };

// Multi-head latent attention (MLA): a token's queries are made from one vector of
// query_rank, keys and values of all heads from another of kv_rank, which is also
// what a cache keeps, with rope_dim rotary channels that all heads' keys share.
// Source: DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1.
struct Latent {
  std::int64_t query_rank = 0;  // 0 = queries straight from hidden
  std::int64_t kv_rank = 0;     // 0 = no latent attention
  std::int64_t nope_dim = 0;    // channels of a head's query and key without position
  std::int64_t rope_dim = 0;    // with
  std::int64_t value_dim = 0;   // channels of a head's value
};

// Mixture of experts; which layers have them, HasExperts() says.
struct Experts {
  std::int64_t routed = 0;  // of a layer; 0 = none anywhere
  std::int64_t per_token = 0;
  std::int64_t ffn = 0;         // width inside a routed expert
  std::int64_t shared = 0;      // visited by every token
  std::int64_t shared_ffn = 0;  // width inside one shared expert
  bool shared_gate = false;     // a learned scalar a token weighs their output
  bool router_bias = false;     // one number a routed expert
  std::int64_t first_dense_layers = 0;
  std::int64_t every_layers = 1;
  std::int64_t offset = 0;
  std::vector<std::int64_t> dense_layers;  // from 0, rising

  std::int64_t all_shared_ffn() const { return shared * shared_ffn; }
};

struct Model {
  std::string name;
  std::string source;  // title of the document that the shapes come from
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;                // width inside the feed-forward of a layer without experts;
                                       // 0 where every layer has them
  std::int64_t heads = 0;              // of queries
  std::int64_t kv_heads = 0;           // divides heads
  std::int64_t head_dim = 0;           // of queries and keys; given, never hidden / heads
  std::int64_t vocabulary = 0;         // tokens, without padding
  std::int64_t max_positions = 0;      // longest sequence it was made for, tokens; only a
                                       // learned table forbids longer ones
  std::int64_t learned_positions = 0;  // rows of a learned position table; 0 = none
  bool rotary = true;
  bool gated = true;  // feed-forward of three matrices; two otherwise
  Nonlinearity nonlinearity = Nonlinearity::kSilu;
  bool tied_embedding = false;  // the output layer uses the input's table
  Biases biases;
  Norm norm = Norm::kRms;
  // 2: before attention and feed-forward. 4: before and after each. 1: one for both, which
  // needs a parallel residual.
  std::int64_t norms_per_layer = 2;
  bool final_norm = true;
  bool embedding_norm = false;
  bool qk_norm = false;             // RMS norm of each query and key head
  std::int64_t sliding_window = 0;  // tokens a query sees back, itself included; 0 = all
  // With a window: layer i (from 0) has entry i modulo the length; empty = all have the window.
  std::vector<Attention> attention_pattern;
  Latent latent;
  Experts experts;
  bool alibi = false;
  bool relative_positions = false;      // a matrix a layer turns distances into keys
  bool attention_sinks = false;         // a learned logit a query head
  bool parallel_residual = false;       // attention and feed-forward read one input, side by side
  std::int64_t prediction_modules = 0;  // MTP; counted apart, executed where a job trains them

  bool post_norms() const { return norms_per_layer == 4; }
  bool has_latent() const { return latent.kv_rank > 0; }
  std::int64_t value_dim() const { return has_latent() ? latent.value_dim : head_dim; }  // of a head
};

inline bool HasExperts(const Model& model, std::int64_t layer) {
  const Experts& e = model.experts;
  if (e.routed == 0 || layer < e.first_dense_layers || layer % e.every_layers != e.offset) return false;
  return !std::binary_search(e.dense_layers.begin(), e.dense_layers.end(), layer);
}

// Tokens that a query of this layer sees back; 0 = all.
inline std::int64_t WindowOf(const Model& model, std::int64_t layer) {
  if (model.attention_pattern.empty()) return model.sliding_window;
  const auto at = static_cast<std::size_t>(layer) % model.attention_pattern.size();
  return model.attention_pattern[at] == Attention::kFull ? 0 : model.sliding_window;
}

// The same, as a number of tokens in a sequence of `sequence_length`.
inline std::int64_t ReachOf(const Model& model, std::int64_t layer, std::int64_t sequence_length) {
  const std::int64_t window = WindowOf(model, layer);
  return window == 0 ? sequence_length : std::min(window, sequence_length);
}

// All that layers of one model differ by: layers of one kind have the same blocks
// and as many parameters.
struct LayerKind {
  std::int64_t window = 0;
  bool experts = false;
  friend auto operator<=>(const LayerKind&, const LayerKind&) = default;
};
inline LayerKind KindOf(const Model& model, std::int64_t layer) {
  return {WindowOf(model, layer), HasExperts(model, layer)};
}

}  // namespace models

#endif  // MODELS_MODEL_H_
