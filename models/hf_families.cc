#include "models/hf_families.h"

#include <algorithm>
#include <set>

namespace models {
namespace {

constexpr HfFamily kFamilies[] = {
    {"bloom", ReadHfBloom},
    {"deepseek_v2", ReadHfDeepSeekV2},
    {"deepseek_v3", ReadHfDeepSeekV3},
    {"falcon", ReadHfFalcon},
    {"gemma", ReadHfGemma},
    {"gemma2", ReadHfGemma2},
    {"gemma3", ReadHfGemma3},
    {"gemma3_text", ReadHfGemma3},
    {"gpt2", ReadHfGpt2},
    {"gpt_neox", ReadHfGptNeoX},
    {"gpt_oss", ReadHfGptOss},
    {"kimi_k2", ReadHfDeepSeekV3},
    {"llama", ReadHfLlama},
    {"llama4", ReadHfLlama4},
    {"llama4_text", ReadHfLlama4},
    {"mistral", ReadHfMistral},
    {"mixtral", ReadHfMixtral},
    {"qwen2", ReadHfQwen2},
    {"qwen2_moe", ReadHfQwen2Moe},
    {"qwen3", ReadHfQwen3},
    {"qwen3_moe", ReadHfQwen3Moe},
};

}  // namespace

std::span<const HfFamily> HfFamilies() { return kFamilies; }

void ReadHfNonlinearity(HfConfig* config, const std::string& key, const std::string& otherwise,
                        Model* model) {
  const std::string name = config->Text(key, otherwise);
  if (name == "silu" || name == "swish") {
    model->nonlinearity = Nonlinearity::kSilu;
  } else if (name == "gelu" || name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh") {
    model->nonlinearity = Nonlinearity::kGelu;
  } else if (name == "relu") {
    model->nonlinearity = Nonlinearity::kRelu;
  } else if (!config->refused({key})) {
    config->Error(key, '"' + name +
                           "\" is not known; silu, swish, gelu, gelu_new, gelu_fast, "
                           "gelu_pytorch_tanh and relu are");
  }
}

void ReadHfTrunk(HfConfig* config, bool tied_by_default, Model* model) {
  model->layers = config->Required({"num_hidden_layers"}, 1, kMostHfLayers);
  model->hidden = config->Required({"hidden_size"}, 1, kMostHfWidth);
  model->heads = config->Required({"num_attention_heads"}, 1, kMostHfHeads);
  model->kv_heads = config->Optional({"num_key_value_heads"}, 1, kMostHfHeads, model->heads);
  if (config->has("head_dim")) {
    model->head_dim = config->Required({"head_dim"}, 1, kMostHfHeads);
  } else if (model->hidden % model->heads == 0 || config->refused({"hidden_size", "num_attention_heads"})) {
    model->head_dim = model->hidden / model->heads;
  } else {
    model->head_dim = 2;
    config->Error("head_dim", "missing, and the " + std::to_string(model->heads) +
                                  " heads do not divide hidden_size " + std::to_string(model->hidden));
  }
  if (model->heads % model->kv_heads != 0 &&
      !config->refused({"num_attention_heads", "num_key_value_heads"})) {
    config->Error("num_key_value_heads", std::to_string(model->kv_heads) + " does not divide the " +
                                             std::to_string(model->heads) + " attention heads");
  }
  model->vocabulary = config->Required({"vocab_size"}, 1, kMostHfFfn);
  model->max_positions = config->Required({"max_position_embeddings"}, 1, kMostHfTokens);
  model->tied_embedding = config->Flag("tie_word_embeddings", tied_by_default);
  model->norm = Norm::kRms;
  model->gated = true;
  model->nonlinearity = Nonlinearity::kSilu;
}

bool ReadHfLayerTypes(HfConfig* config, Model* model) {
  const auto types = config->Texts("layer_types");
  if (!types) return config->refused({"layer_types"});
  model->attention_pattern.clear();
  std::set<std::string> unknown;
  for (const std::string& type : *types) {
    const bool full = type == "full_attention";
    const bool known = full || type == "sliding_attention" || type == "chunked_attention";
    if (!known && unknown.insert(type).second) {
      config->Error("layer_types", '"' + type +
                                       "\" is not known; full_attention, sliding_attention and "
                                       "chunked_attention are");
    }
    model->attention_pattern.push_back(full ? Attention::kFull : Attention::kSliding);
  }
  if (static_cast<std::int64_t>(types->size()) != model->layers && !config->refused({"num_hidden_layers"})) {
    config->Error("layer_types", std::to_string(types->size()) + " entries for " +
                                     std::to_string(model->layers) + " layers");
  }
  return true;
}

void TidyPattern(Model* model) {
  std::vector<Attention>& pattern = model->attention_pattern;
  const auto all = [&](Attention kind) {
    return std::all_of(pattern.begin(), pattern.end(), [kind](Attention a) { return a == kind; });
  };
  if (model->sliding_window == 0 || (!pattern.empty() && all(Attention::kFull))) {
    pattern.clear();
    model->sliding_window = 0;
    return;
  }
  if (all(Attention::kSliding)) return pattern.clear();
  for (std::size_t period = 1; period < pattern.size(); ++period) {
    if (std::equal(pattern.begin() + static_cast<std::ptrdiff_t>(period), pattern.end(), pattern.begin())) {
      pattern.resize(period);
      return;
    }
  }
}

void ReadHfQwenWindow(HfConfig* config, Model* model) {
  const std::int64_t window = config->Optional({"sliding_window"}, 1, kMostHfTokens, 4096);
  const std::int64_t full = config->Optional({"max_window_layers"}, 0, kMostHfLayers, 28);
  if (config->Flag("use_sliding_window", false)) model->sliding_window = window;
  if (!ReadHfLayerTypes(config, model)) {
    for (std::int64_t layer = 0; layer < model->layers; ++layer) {
      model->attention_pattern.push_back(layer < full ? Attention::kFull : Attention::kSliding);
    }
  }
  TidyPattern(model);
}

}  // namespace models
