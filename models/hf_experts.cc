// Families with experts, two of them with latent attention.

#include <algorithm>

#include "models/hf_families.h"

namespace models {
namespace {

constexpr std::int64_t kMostExperts = 100'000;

// The key that leaves no layer for the experts, with its value.
void RefuseAllDense(HfConfig* config, const Model& model) {
  const Experts& experts = model.experts;
  const std::string layers = std::to_string(model.layers) + " layers";
  if (experts.first_dense_layers >= model.layers) {
    return config->Error("first_k_dense_replace", std::to_string(experts.first_dense_layers) +
                                                      " leaves none of the " + layers + " to the experts");
  }
  for (const char* key : {"decoder_sparse_step", "interleave_moe_layer_step"}) {
    if (!config->has(key) || experts.every_layers <= model.layers) continue;
    return config->Error(key,
                         std::to_string(experts.every_layers) + " gives experts to none of the " + layers);
  }
  config->Error(config->has("mlp_only_layers") ? "mlp_only_layers" : "moe_layers",
                "leaves none of the " + layers + " to the experts");
}

// A width for layers without experts is given by many files and used by few.
void ReadDenseFfn(HfConfig* config, const std::string& key, Model* model) {
  const std::int64_t ffn = config->Optional({key}, 1, kMostHfFfn, 0);
  if (config->refused({"num_hidden_layers", "first_k_dense_replace", "moe_layer_freq", "decoder_sparse_step",
                       "mlp_only_layers", "interleave_moe_layer_step", "moe_layers"})) {
    return;  // which layers are dense is not known
  }
  bool dense = false, experts = false;
  for (std::int64_t layer = 0; layer < model->layers; ++layer) {
    (HasExperts(*model, layer) ? experts : dense) = true;
  }
  if (!experts) RefuseAllDense(config, *model);
  if (!dense) return;
  model->ffn = ffn;
  if (ffn == 0 && !config->refused({key}))
    config->Error(key, "missing; wanted because some layers have no experts");
}

void ReadPerToken(HfConfig* config, const std::vector<std::string>& keys, Model* model) {
  model->experts.per_token = config->Required(keys, 1, kMostExperts);
  if (model->experts.per_token > model->experts.routed && !config->refused({keys.front()}) &&
      !config->refused({"n_routed_experts", "num_local_experts", "num_experts"})) {
    config->Error(keys.front(), std::to_string(model->experts.per_token) + " are more than the " +
                                    std::to_string(model->experts.routed) + " experts");
  }
}

// Layer i has experts where the step divides i + 1, but for the layers listed.
void ReadQwenExperts(HfConfig* config, Model* model) {
  Experts& experts = model->experts;
  experts.routed = config->Required({"num_experts", "num_local_experts"}, 1, kMostExperts);
  ReadPerToken(config, {"num_experts_per_tok"}, model);
  experts.ffn = config->Required({"moe_intermediate_size"}, 1, kMostHfFfn);
  experts.every_layers = config->Optional({"decoder_sparse_step"}, 1, kMostHfLayers, 1);
  experts.offset = experts.every_layers - 1;
  if (const auto dense = config->Integers("mlp_only_layers", 0, kMostHfLayers)) experts.dense_layers = *dense;
  std::sort(experts.dense_layers.begin(), experts.dense_layers.end());
}

void ReadLatent(HfConfig* config, Model* model) {
  Latent& latent = model->latent;
  latent.query_rank = config->Optional({"q_lora_rank"}, 1, kMostHfWidth, 0);  // null: straight from hidden
  latent.kv_rank = config->Required({"kv_lora_rank"}, 1, kMostHfWidth);
  latent.nope_dim = config->Required({"qk_nope_head_dim"}, 1, kMostHfHeads);
  latent.rope_dim = config->Required({"qk_rope_head_dim"}, 1, kMostHfHeads);
  latent.value_dim = config->Required({"v_head_dim"}, 1, kMostHfHeads);
  // Keys of the file for neither: every head has a key, nope and rope wide.
  model->kv_heads = model->heads;
  model->head_dim = latent.nope_dim + latent.rope_dim;
}

void ReadDeepSeek(HfConfig* config, const char* usual_method, Model* model) {
  model->layers = config->Required({"num_hidden_layers"}, 1, kMostHfLayers);
  model->hidden = config->Required({"hidden_size"}, 1, kMostHfWidth);
  model->heads = config->Required({"num_attention_heads"}, 1, kMostHfHeads);
  config->Optional({"num_key_value_heads"}, 1, kMostHfHeads, 1);  // equals heads, and means nothing
  config->Optional({"head_dim", "qk_head_dim"}, 1, kMostHfHeads, 1);
  model->vocabulary = config->Required({"vocab_size"}, 1, kMostHfFfn);
  model->max_positions = config->Required({"max_position_embeddings"}, 1, kMostHfTokens);
  model->tied_embedding = config->Flag("tie_word_embeddings", false);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  if (config->Flag("attention_bias", false)) {
    config->Error("attention_bias", "true is not supported with latent attention");
  }
  ReadLatent(config, model);
  Experts& experts = model->experts;
  experts.routed = config->Required({"n_routed_experts"}, 1, kMostExperts);
  ReadPerToken(config, {"num_experts_per_tok"}, model);
  experts.ffn = config->Required({"moe_intermediate_size"}, 1, kMostHfFfn);
  experts.shared = config->Optional({"n_shared_experts"}, 0, kMostExperts, 0);
  experts.shared_ffn = experts.shared > 0 ? experts.ffn : 0;
  experts.first_dense_layers = config->Optional({"first_k_dense_replace"}, 0, kMostHfLayers, 0);
  experts.every_layers = config->Optional({"moe_layer_freq"}, 1, kMostHfLayers, 1);
  experts.router_bias = config->Text("topk_method", usual_method) == "noaux_tc";
  ReadDenseFfn(config, "intermediate_size", model);
}

}  // namespace

// intermediate_size is the width of an expert.
void ReadHfMixtral(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  model->experts.routed = config->Required({"num_local_experts"}, 1, kMostExperts);
  ReadPerToken(config, {"num_experts_per_tok"}, model);
  model->experts.ffn = config->Required({"intermediate_size"}, 1, kMostHfFfn);
  model->sliding_window = config->Optional({"sliding_window"}, 1, kMostHfTokens, 0);
}

// One shared expert, weighed by a gate; its width has a key of its own.
void ReadHfQwen2Moe(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  model->biases = {.qkv = config->Flag("qkv_bias", true), .attention_output = false, .mlp = false};
  ReadHfQwenWindow(config, model);
  ReadQwenExperts(config, model);
  model->experts.shared = 1;
  model->experts.shared_ffn = config->Required({"shared_expert_intermediate_size"}, 1, kMostHfFfn);
  model->experts.shared_gate = true;
  ReadDenseFfn(config, "intermediate_size", model);
}

void ReadHfQwen3Moe(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  const bool bias = config->Flag("attention_bias", false);
  model->biases = {.qkv = bias, .attention_output = bias, .mlp = false};
  model->qk_norm = true;
  ReadHfQwenWindow(config, model);
  ReadQwenExperts(config, model);
  ReadDenseFfn(config, "intermediate_size", model);
}

void ReadHfDeepSeekV2(HfConfig* config, Model* model) { ReadDeepSeek(config, "greedy", model); }

// Its router is balanced by a number an expert. Prediction modules are beside num_hidden_layers.
void ReadHfDeepSeekV3(HfConfig* config, Model* model) {
  ReadDeepSeek(config, "noaux_tc", model);
  model->prediction_modules = config->Optional({"num_nextn_predict_layers"}, 0, 100, 0);
}

// Names are turned round: intermediate_size is an expert's width, intermediate_size_mlp that of
// layers without; one shared expert is there without a key. Queries and keys are normed without
// parameters. Chunks of attention count as a window of their length.
void ReadHfLlama4(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  const bool bias = config->Flag("attention_bias", false);
  model->biases = {.qkv = bias, .attention_output = bias, .mlp = false};
  Experts& experts = model->experts;
  experts.routed = config->Required({"num_local_experts"}, 1, kMostExperts);
  ReadPerToken(config, {"num_experts_per_tok"}, model);
  experts.ffn = config->Required({"intermediate_size"}, 1, kMostHfFfn);
  experts.shared = 1;
  experts.shared_ffn = experts.ffn;
  experts.every_layers = config->Optional({"interleave_moe_layer_step"}, 1, kMostHfLayers, 1);
  experts.offset = experts.every_layers - 1;
  if (const auto with = config->Integers("moe_layers", 0, kMostHfLayers); with && !with->empty()) {
    experts.every_layers = 1;
    experts.offset = 0;
    for (std::int64_t layer = 0; layer < model->layers; ++layer) {
      if (std::find(with->begin(), with->end(), layer) == with->end()) experts.dense_layers.push_back(layer);
    }
  }
  ReadDenseFfn(config, "intermediate_size_mlp", model);
  model->sliding_window = config->Optional({"attention_chunk_size"}, 1, kMostHfTokens, 0);
  const std::int64_t every = config->Optional({"no_rope_layer_interval"}, 1, kMostHfLayers, 4);
  const auto rope = config->Integers("no_rope_layers", 0, 1);  // 1: with rotary positions, in chunks
  if (!ReadHfLayerTypes(config, model)) {
    for (std::int64_t layer = 0; layer < model->layers; ++layer) {
      const auto at = static_cast<std::size_t>(layer);
      const bool full = rope && at < rope->size() ? (*rope)[at] == 0 : (layer + 1) % every == 0;
      model->attention_pattern.push_back(full ? Attention::kFull : Attention::kSliding);
    }
  }
  TidyPattern(model);
}

// Biases everywhere, in experts and router too; a sink a head. Every other layer, from the first,
// has the window.
void ReadHfGptOss(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  ReadHfNonlinearity(config, "hidden_act", "silu", model);
  const bool bias = config->Flag("attention_bias", true);
  model->biases = {.qkv = bias, .attention_output = bias, .mlp = true};
  model->attention_sinks = true;
  Experts& experts = model->experts;
  experts.routed = config->Required({"num_local_experts"}, 1, kMostExperts);
  ReadPerToken(config, {"num_experts_per_tok", "experts_per_token"}, model);
  experts.ffn = config->Required({"intermediate_size"}, 1, kMostHfFfn);
  experts.router_bias = true;
  model->sliding_window = config->Optional({"sliding_window"}, 1, kMostHfTokens, 128);
  if (!ReadHfLayerTypes(config, model)) model->attention_pattern = {Attention::kSliding, Attention::kFull};
  TidyPattern(model);
}

}  // namespace models
