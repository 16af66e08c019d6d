// Dense families with RMS norms and gated feed-forwards.

#include "models/hf_families.h"

namespace models {
namespace {

void ReadFfn(HfConfig* config, Model* model) {
  model->ffn = config->Required({"intermediate_size"}, 1, kMostHfFfn);
}

void ReadGemmaTrunk(HfConfig* config, Model* model) {
  // Gemma 3's text_config leaves out what is as its configuration class has it.
  model->layers = config->Required({"num_hidden_layers"}, 1, kMostHfLayers);
  model->hidden = config->Required({"hidden_size"}, 1, kMostHfWidth);
  ReadFfn(config, model);
  model->tied_embedding = config->Flag("tie_word_embeddings", true);
  model->norm = Norm::kRms;
  model->gated = true;
  const bool older = config->has("hidden_act") && !config->has("hidden_activation");
  ReadHfNonlinearity(config, older ? "hidden_act" : "hidden_activation", "gelu_pytorch_tanh", model);
  const bool bias = config->Flag("attention_bias", false);
  model->biases = {.qkv = bias, .attention_output = bias, .mlp = false};
}

}  // namespace

void ReadHfLlama(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  ReadFfn(config, model);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  const bool bias = config->Flag("attention_bias", false);
  model->biases = {.qkv = bias, .attention_output = bias, .mlp = config->Flag("mlp_bias", false)};
}

// The window is 4,096 where no key says otherwise, and none where it is null.
void ReadHfMistral(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  ReadFfn(config, model);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  constexpr std::int64_t kUsual = 4096;
  const std::int64_t otherwise = config->mentions("sliding_window") ? 0 : kUsual;
  model->sliding_window = config->Optional({"sliding_window"}, 1, kMostHfTokens, otherwise);
  ReadHfLayerTypes(config, model);
  TidyPattern(model);
}

// Queries, keys and values have biases, which no key tells; the output has none.
void ReadHfQwen2(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  ReadFfn(config, model);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  model->biases = {.qkv = true, .attention_output = false, .mlp = false};
  ReadHfQwenWindow(config, model);
}

// Norms of queries and keys instead; heads are 128 wide unless a key says otherwise.
void ReadHfQwen3(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  if (!config->has("head_dim")) model->head_dim = 128;
  ReadFfn(config, model);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  const bool bias = config->Flag("attention_bias", false);
  model->biases = {.qkv = bias, .attention_output = bias, .mlp = false};
  model->qk_norm = true;
  ReadHfQwenWindow(config, model);
}

void ReadHfGemma(HfConfig* config, Model* model) {
  ReadGemmaTrunk(config, model);
  model->heads = config->Required({"num_attention_heads"}, 1, kMostHfHeads);
  model->kv_heads = config->Optional({"num_key_value_heads"}, 1, kMostHfHeads, model->heads);
  model->head_dim = config->Optional({"head_dim"}, 1, kMostHfHeads, 256);
  model->vocabulary = config->Optional({"vocab_size"}, 1, kMostHfFfn, 256'000);
  model->max_positions = config->Optional({"max_position_embeddings"}, 1, kMostHfTokens, 8192);
}

// Every other layer, from the first, has the window; norms before and after.
void ReadHfGemma2(HfConfig* config, Model* model) {
  ReadHfGemma(config, model);
  model->norms_per_layer = 4;
  model->sliding_window = config->Optional({"sliding_window"}, 1, kMostHfTokens, 4096);
  if (!ReadHfLayerTypes(config, model)) model->attention_pattern = {Attention::kSliding, Attention::kFull};
  TidyPattern(model);
}

// Five layers with the window, then one without.
void ReadHfGemma3(HfConfig* config, Model* model) {
  ReadGemmaTrunk(config, model);
  model->heads = config->Optional({"num_attention_heads"}, 1, kMostHfHeads, 8);
  model->kv_heads = config->Optional({"num_key_value_heads"}, 1, kMostHfHeads, 4);
  model->head_dim = config->Optional({"head_dim"}, 1, kMostHfHeads, 256);
  model->vocabulary = config->Optional({"vocab_size"}, 1, kMostHfFfn, 262'208);
  model->max_positions = config->Optional({"max_position_embeddings"}, 1, kMostHfTokens, 131'072);
  model->norms_per_layer = 4;
  model->qk_norm = true;
  model->sliding_window = config->Optional({"sliding_window"}, 1, kMostHfTokens, 4096);
  const std::int64_t period =
      config->Optional({"sliding_window_pattern", "_sliding_window_pattern"}, 1, kMostHfLayers, 6);
  if (!ReadHfLayerTypes(config, model)) {
    for (std::int64_t layer = 0; layer < model->layers; ++layer) {
      model->attention_pattern.push_back((layer + 1) % period == 0 ? Attention::kFull : Attention::kSliding);
    }
  }
  TidyPattern(model);
}

}  // namespace models
