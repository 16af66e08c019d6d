// How many parameters a model has of which only some shapes are known: between what the usual choices of
// the others give.
//
// Source: textbook, 17.2.5 example 2, as erratum A4 corrects it.

#ifndef MODELS_SKETCH_H_
#define MODELS_SKETCH_H_

#include <cstdint>
#include <optional>

#include "models/model.h"

namespace models {

// Layers and hidden width are known, the rest where it is given.
struct Sketch {
  std::int64_t layers = 0, hidden = 0;
  std::optional<std::int64_t> ffn;       // of the feed-forward, or of an expert
  std::optional<std::int64_t> kv_heads;  // of heads of 128
  std::optional<std::int64_t> vocabulary;
  std::optional<bool> gated, tied;
  std::int64_t experts = 0, per_token = 0;  // of every layer; 0 = none
};

struct Bounds {
  std::int64_t least = 0, most = 0;
};
struct SketchParameters {
  Bounds total, active;
};

// The least and the most over what is not given: a gated feed-forward of 8/3 hidden (two matrices of 4 hidden
// have as many) to one of 4 hidden; one key head in eight to as many as query heads; 32,000 to 256,000
// tokens; one table or two. Heads are of 128 channels, norms RMS, no biases: what is left out is below a
// thousandth. REQUIRES: layers > 0; hidden a multiple of 128
SketchParameters ParametersOf(const Sketch& sketch);

}  // namespace models

#endif  // MODELS_SKETCH_H_
