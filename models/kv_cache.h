// What a model keeps of the tokens before when it generates: keys and values, or
// the narrow vector of latent attention.

#ifndef MODELS_KV_CACHE_H_
#define MODELS_KV_CACHE_H_

#include <cstdint>

#include "models/model.h"
#include "sim/base/units.h"

namespace models {

// Bytes of one token in one layer on one of `tensor` ranks, `width` bytes a number.
// Heads are shared by the ranks, at least one each; a narrow vector is whole on all.
//   grouped   2 kv_heads / tensor head_dim width
//   latent    (kv_rank + rope_dim) width
// Source: DeepSeek-AI, "DeepSeek-V2", 2024, table 1.
// REQUIRES: CanShare(model, tensor)
sim::Bytes KvCacheBytesPerToken(const Model& model, std::int64_t width, std::int64_t tensor = 1);

// Tokens that all layers together keep of a sequence of `tokens`: a layer with a
// window keeps no more than that.
std::int64_t KvCacheLayerTokens(const Model& model, std::int64_t tokens);

// Of one sequence in all layers.
sim::Bytes KvCacheBytes(const Model& model, std::int64_t tokens, std::int64_t width, std::int64_t tensor = 1);

}  // namespace models

#endif  // MODELS_KV_CACHE_H_
