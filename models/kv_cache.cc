#include "models/kv_cache.h"

#include "models/parameters.h"
#include "sim/base/check.h"

namespace models {

sim::Bytes KvCacheBytesPerToken(const Model& model, std::int64_t width, std::int64_t tensor) {
  CHECK(width > 0);
  if (model.has_latent()) return sim::Bytes((model.latent.kv_rank + model.latent.rope_dim) * width);
  return sim::Bytes(2 * KvHeadsOfRank(model, tensor) * model.head_dim * width);
}

std::int64_t KvCacheLayerTokens(const Model& model, std::int64_t tokens) {
  std::int64_t sum = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) sum += ReachOf(model, layer, tokens);
  return sum;
}

sim::Bytes KvCacheBytes(const Model& model, std::int64_t tokens, std::int64_t width, std::int64_t tensor) {
  return KvCacheLayerTokens(model, tokens) * KvCacheBytesPerToken(model, width, tensor);
}

}  // namespace models
