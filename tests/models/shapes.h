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

inline Model WithExperts(Model m, std::int64_t routed, std::int64_t per_token, std::int64_t ffn) {
  m.ffn = 0;
  m.experts.routed = routed;
  m.experts.per_token = per_token;
  m.experts.ffn = ffn;
  return m;
}

inline Model Mixtral8x7b() { return WithExperts(Llama(32, 4096, 0, 32, 8, 32000), 8, 2, 14336); }
inline Model Mixtral8x22b() { return WithExperts(Llama(56, 6144, 0, 48, 8, 32768), 8, 2, 16384); }

inline Model WithLatent(Model m, const Latent& latent) {
  m.latent = latent;
  m.kv_heads = m.heads;
  m.head_dim = latent.nope_dim + latent.rope_dim;
  return m;
}

// 27 layers, the first dense; 64 experts of 1,408, 6 a token, 2 shared.
inline Model DeepSeekV2Lite() {
  Model m = WithExperts(Llama(27, 2048, 0, 16, 16, 102400), 64, 6, 1408);
  m = WithLatent(m, {.kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128});
  m.ffn = 10944;
  m.experts.shared = 2;
  m.experts.shared_ffn = 1408;
  m.experts.first_dense_layers = 1;
  return m;
}

// 61 layers, the first three dense; 256 experts of 2,048, 8 a token, 1 shared.
inline Model DeepSeekV3() {
  Model m = WithExperts(Llama(61, 7168, 0, 128, 128, 129280), 256, 8, 2048);
  m = WithLatent(m, {.query_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128});
  m.ffn = 18432;
  m.experts.shared = 1;
  m.experts.shared_ffn = 2048;
  m.experts.first_dense_layers = 3;
  m.experts.router_bias = true;
  m.prediction_modules = 1;
  return m;
}

// As PaLM: both halves of a layer side by side behind one norm without bias, one key head.
inline Model SideBySide(std::int64_t norms) {
  Model m = Llama(4, 2048, 8192, 16, 1, 32000);
  m.parallel_residual = true;
  m.norms_per_layer = norms;
  m.norm = Norm::kLayerScaleOnly;
  m.tied_embedding = true;
  return m;
}

}  // namespace models

#endif  // TESTS_MODELS_SHAPES_H_
