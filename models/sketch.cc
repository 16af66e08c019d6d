#include "models/sketch.h"

#include <algorithm>

#include "models/parameters.h"
#include "sim/base/check.h"

namespace models {
namespace {

constexpr std::int64_t kHeadDim = 128;

// One end of every choice.
Model Completed(const Sketch& s, bool most) {
  Model m;
  m.layers = s.layers;
  m.hidden = s.hidden;
  m.head_dim = kHeadDim;
  m.heads = s.hidden / kHeadDim;
  m.kv_heads = s.kv_heads.value_or(most ? m.heads : std::max(m.heads / 8, std::int64_t{1}));
  m.gated = s.gated.value_or(true);
  const std::int64_t narrow = m.gated ? 8 * s.hidden / 3 : 4 * s.hidden;
  const std::int64_t width = s.ffn.value_or(most ? 4 * s.hidden : narrow);
  m.vocabulary = s.vocabulary.value_or(most ? 256'000 : 32'000);
  m.tied_embedding = s.tied.value_or(!most);
  if (s.experts == 0) {
    m.ffn = width;
  } else {
    m.experts.routed = s.experts;
    m.experts.per_token = s.per_token;
    m.experts.ffn = width;
  }
  return m;
}

}  // namespace

SketchParameters ParametersOf(const Sketch& sketch) {
  CHECK(sketch.layers > 0 && sketch.hidden > 0 && sketch.hidden % kHeadDim == 0);
  const ModelParameters least = ParametersOf(Completed(sketch, false)),
                        most = ParametersOf(Completed(sketch, true));
  return {{least.total(), most.total()}, {least.active(), most.active()}};
}

}  // namespace models
