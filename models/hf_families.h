// The families of models whose config.json can be read: what each key of each
// family means. One function a family; the table below names them.
//
// Source: transformers 4.57 and 5.0, models/*/configuration_*.py and
// modeling_*.py: names, defaults, biases and norms that no key tells.

#ifndef MODELS_HF_FAMILIES_H_
#define MODELS_HF_FAMILIES_H_

#include <span>
#include <string>

#include "models/hf_config.h"
#include "models/model.h"

namespace models {

struct HfFamily {
  const char* model_type;
  void (*read)(HfConfig* config, Model* model);
};

std::span<const HfFamily> HfFamilies();

// Llama 1 to 3, Mistral, Qwen2 and 2.5, Qwen3, Gemma 1 to 3.
void ReadHfLlama(HfConfig* config, Model* model);
void ReadHfMistral(HfConfig* config, Model* model);
void ReadHfQwen2(HfConfig* config, Model* model);
void ReadHfQwen3(HfConfig* config, Model* model);
void ReadHfGemma(HfConfig* config, Model* model);
void ReadHfGemma2(HfConfig* config, Model* model);
void ReadHfGemma3(HfConfig* config, Model* model);
// With layer norms and feed-forwards of two matrices.
void ReadHfGpt2(HfConfig* config, Model* model);
void ReadHfGptNeoX(HfConfig* config, Model* model);
void ReadHfBloom(HfConfig* config, Model* model);
void ReadHfFalcon(HfConfig* config, Model* model);
// With experts.
void ReadHfMixtral(HfConfig* config, Model* model);
void ReadHfQwen2Moe(HfConfig* config, Model* model);
void ReadHfQwen3Moe(HfConfig* config, Model* model);
void ReadHfDeepSeekV2(HfConfig* config, Model* model);
void ReadHfDeepSeekV3(HfConfig* config, Model* model);  // and Kimi-K2
void ReadHfLlama4(HfConfig* config, Model* model);
void ReadHfGptOss(HfConfig* config, Model* model);

// What the families share.

inline constexpr std::int64_t kMostHfLayers = 10'000, kMostHfWidth = 1'000'000, kMostHfHeads = 100'000,
                              kMostHfTokens = 100'000'000, kMostHfFfn = 10'000'000;

// Layers, hidden, heads, vocabulary and positions by their usual keys, RMS norm
// and gated SiLU. Heads of keys and their width: as many and as wide as queries'
// where no key says otherwise. Not the feed-forward's width.
void ReadHfTrunk(HfConfig* config, bool tied_by_default, Model* model);

// The nonlinearity under this key; what is not known is refused.
void ReadHfNonlinearity(HfConfig* config, const std::string& key, const std::string& otherwise, Model* model);

// "layer_types" as a pattern of windows. Returns whether the key was there.
bool ReadHfLayerTypes(HfConfig* config, Model* model);

// Qwen's window: given by many files and void unless use_sliding_window says so;
// then the first max_window_layers see everything all the same.
void ReadHfQwenWindow(HfConfig* config, Model* model);

// Shortens a pattern of all layers to its period; drops a window that no layer has.
void TidyPattern(Model* model);

}  // namespace models

#endif  // MODELS_HF_FAMILIES_H_
