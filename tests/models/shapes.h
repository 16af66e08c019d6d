// Models as shapes, written out, for tests that need no catalogue.

#ifndef TESTS_MODELS_SHAPES_H_
#define TESTS_MODELS_SHAPES_H_

#include <cstdint>

#include "models/model.h"

namespace models {

// A GPT as Korthikanti et al. 2022 count it: plain GELU of 4 h, MHA, biases, LayerNorm.
inline Model Gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t vocabulary,
                 std::int64_t positions) {
  Model m;
  m.name = "gpt";
  m.layers = layers;
  m.hidden = hidden;
  m.ffn = 4 * hidden;
  m.heads = m.kv_heads = heads;
  m.head_dim = hidden / heads;
  m.vocabulary = vocabulary;
  m.max_positions = m.learned_positions = positions;
  m.rotary = false;
  m.gated = false;
  m.nonlinearity = Nonlinearity::kGelu;
  m.tied_embedding = true;
  m.biases = {.qkv = true, .attention_output = true, .mlp = true};
  m.norm = Norm::kLayer;
  return m;
}

inline Model Llama(std::int64_t layers, std::int64_t hidden, std::int64_t ffn, std::int64_t heads,
                   std::int64_t kv_heads, std::int64_t vocabulary) {
  Model m;
  m.name = "llama";
  m.layers = layers;
  m.hidden = hidden;
  m.ffn = ffn;
  m.heads = heads;
  m.kv_heads = kv_heads;
  m.head_dim = hidden / heads;
  m.vocabulary = vocabulary;
  m.max_positions = 4096;
  return m;
}

inline Model Gpt2() { return Gpt(12, 768, 12, 50257, 1024); }
inline Model Megatron22b() { return Gpt(48, 6144, 64, 51200, 2048); }
inline Model Gpt3() { return Gpt(96, 12288, 96, 50257, 2048); }
inline Model Llama7b() { return Llama(32, 4096, 11008, 32, 32, 32000); }
inline Model Llama70b() { return Llama(80, 8192, 28672, 64, 8, 128256); }

inline Model Qwen3Of4b() {
  Model m = Llama(36, 2560, 9728, 32, 8, 151936);
  m.head_dim = 128;
  m.tied_embedding = true;
  m.qk_norm = true;
  return m;
}

}  // namespace models

#endif  // TESTS_MODELS_SHAPES_H_
