// Model: the shape of a dense decoder-only transformer as plain values. A Model
// that a reader returned is legal; see models/model_reader.h for what that means.

#ifndef MODELS_MODEL_H_
#define MODELS_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <string>

namespace models {

enum class Norm : std::uint8_t {
  kRms,    // one scale per channel
  kLayer,  // a scale and a bias per channel
};

enum class Nonlinearity : std::uint8_t { kGelu, kRelu, kSilu };

// Which linear layers add a bias.
struct Biases {
  bool qkv = false;
  bool attention_output = false;
  bool mlp = false;  // all of its linear layers
};

struct Model {
  std::string name;
  std::string source;  // title of the document that the shapes come from
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;                // width inside the feed-forward
  std::int64_t heads = 0;              // of queries
  std::int64_t kv_heads = 0;           // divides heads
  std::int64_t head_dim = 0;           // given, never hidden / heads
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
  // 2: before attention and feed-forward. 4: before and after each.
  std::int64_t norms_per_layer = 2;
  bool final_norm = true;
  bool embedding_norm = false;
  bool qk_norm = false;             // RMS norm of each query and key head
  std::int64_t sliding_window = 0;  // tokens a query sees back, itself included; 0 = all
  // Layer i (from 0) sees everything when this divides i + 1; 0 = all layers have the window.
  std::int64_t full_attention_every_layers = 0;

  bool post_norms() const { return norms_per_layer == 4; }
};

// Tokens that a query of this layer sees back; 0 = all.
inline std::int64_t WindowOf(const Model& model, std::int64_t layer) {
  const std::int64_t every = model.full_attention_every_layers;
  if (every > 0 && (layer + 1) % every == 0) return 0;
  return model.sliding_window;
}

// The same, as a number of tokens in a sequence of `sequence_length`.
inline std::int64_t ReachOf(const Model& model, std::int64_t layer, std::int64_t sequence_length) {
  const std::int64_t window = WindowOf(model, layer);
  return window == 0 ? sequence_length : std::min(window, sequence_length);
}

}  // namespace models

#endif  // MODELS_MODEL_H_
