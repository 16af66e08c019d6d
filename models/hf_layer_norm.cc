// Families with layer norms and feed-forwards of two matrices.

#include "models/hf_families.h"

namespace models {
namespace {

void LayerNormed(Model* model) {
  model->norm = Norm::kLayer;
  model->gated = false;
}

// Heads as wide as they divide hidden: 71 of Falcon-7B's 4,544 channels are 64.
void ReadHeadDim(HfConfig* config, const std::string& heads_key, Model* model) {
  model->head_dim = model->hidden / model->heads;
  if (model->hidden % model->heads == 0) return;
  if (config->refused({"n_embd", "n_embed", "hidden_size", "n_head", "num_attention_heads"})) return;
  model->head_dim = 2;
  config->Error(heads_key, std::to_string(model->heads) + " heads do not divide " +
                               std::to_string(model->hidden) + " channels");
}

}  // namespace

// Conv1D is a linear layer with its matrix turned: the same count.
void ReadHfGpt2(HfConfig* config, Model* model) {
  LayerNormed(model);
  model->layers = config->Required({"n_layer", "num_hidden_layers"}, 1, kMostHfLayers);
  model->hidden = config->Required({"n_embd", "hidden_size"}, 1, kMostHfWidth);
  model->heads = config->Required({"n_head", "num_attention_heads"}, 1, kMostHfHeads);
  model->kv_heads = model->heads;
  ReadHeadDim(config, "n_head", model);
  model->ffn = config->Optional({"n_inner"}, 1, kMostHfFfn, 4 * model->hidden);
  model->vocabulary = config->Required({"vocab_size"}, 1, kMostHfFfn);
  model->max_positions =
      config->Required({"n_positions", "n_ctx", "max_position_embeddings"}, 1, kMostHfTokens);
  model->learned_positions = model->max_positions;
  model->rotary = false;
  model->tied_embedding = config->Flag("tie_word_embeddings", true);
  model->biases = {.qkv = true, .attention_output = true, .mlp = true};
  ReadHfNonlinearity(config, "activation_function", "gelu_new", model);
  if (config->Flag("add_cross_attention", false)) {
    config->Error("add_cross_attention", "true is not supported: models of a decoder alone are");
  }
}

void ReadHfGptNeoX(HfConfig* config, Model* model) {
  ReadHfTrunk(config, false, model);
  LayerNormed(model);
  model->ffn = config->Required({"intermediate_size"}, 1, kMostHfFfn);
  ReadHfNonlinearity(config, "hidden_act", "gelu", model);
  const bool bias = config->Flag("attention_bias", true);
  model->biases = {.qkv = bias, .attention_output = bias, .mlp = true};
  model->parallel_residual = config->Flag("use_parallel_residual", true);
}

// ALiBi instead of positions, and a norm after the embedding; the feed-forward is four times hidden.
void ReadHfBloom(HfConfig* config, Model* model) {
  LayerNormed(model);
  model->layers = config->Required({"n_layer", "num_hidden_layers"}, 1, kMostHfLayers);
  model->hidden = config->Required({"hidden_size", "n_embed"}, 1, kMostHfWidth);
  model->heads = config->Required({"n_head", "num_attention_heads"}, 1, kMostHfHeads);
  model->kv_heads = model->heads;
  ReadHeadDim(config, "n_head", model);
  model->ffn = 4 * model->hidden;
  model->vocabulary = config->Required({"vocab_size"}, 1, kMostHfFfn);
  model->max_positions = config->Optional({"seq_length"}, 1, kMostHfTokens, 2048);
  model->rotary = false;
  model->alibi = true;
  model->embedding_norm = true;
  model->tied_embedding = config->Flag("tie_word_embeddings", true);
  model->biases = {.qkv = true, .attention_output = true, .mlp = true};
  model->nonlinearity = Nonlinearity::kGelu;
}

// Two designs under one name: with one head of keys (7B), and with groups of them (40B and later).
void ReadHfFalcon(HfConfig* config, Model* model) {
  LayerNormed(model);
  model->layers = config->Required({"num_hidden_layers", "n_layer"}, 1, kMostHfLayers);
  model->hidden = config->Required({"hidden_size"}, 1, kMostHfWidth);
  model->heads = config->Required({"num_attention_heads", "n_head"}, 1, kMostHfHeads);
  ReadHeadDim(config, "num_attention_heads", model);
  const bool grouped = config->Flag("new_decoder_architecture", false);
  const bool multi_query = config->Flag("multi_query", true);
  const std::int64_t groups = config->Optional({"num_kv_heads", "n_head_kv"}, 1, kMostHfHeads, model->heads);
  model->kv_heads = grouped ? groups : multi_query ? 1 : model->heads;
  model->ffn = config->Optional({"ffn_hidden_size"}, 1, kMostHfFfn, 4 * model->hidden);
  model->vocabulary = config->Required({"vocab_size"}, 1, kMostHfFfn);
  model->max_positions = config->Optional({"max_position_embeddings"}, 1, kMostHfTokens, 2048);
  model->alibi = config->Flag("alibi", false);
  model->rotary = !model->alibi;
  model->tied_embedding = config->Flag("tie_word_embeddings", true);
  const bool bias = config->Flag("bias", false);
  model->biases = {.qkv = bias, .attention_output = bias, .mlp = bias};
  ReadHfNonlinearity(config, "activation", "gelu", model);
  model->parallel_residual = config->Flag("parallel_attn", true) || grouped;
  const std::int64_t norms = config->Optional({"num_ln_in_parallel_attn"}, 1, 2, grouped ? 2 : 1);
  model->norms_per_layer = model->parallel_residual ? norms : 2;
}

}  // namespace models
