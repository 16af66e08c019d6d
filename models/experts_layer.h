// The sizes of a layer's experts on one rank, and how tokens travel to them and
// back. Internal to this folder.

#ifndef MODELS_EXPERTS_LAYER_H_
#define MODELS_EXPERTS_LAYER_H_

#include <cstdint>

#include "models/block.h"
#include "models/feed_forward.h"
#include "models/kernels.h"
#include "models/model.h"

namespace models {

struct ExpertsLayer {
  ExpertsLayer(const Model& m, const Execution& e);
  bool has_shared() const { return shared.ffn > 0; }

  const Model& model;
  const Execution& execution;
  Sizes sizes;
  std::int64_t own;   // tokens that this rank takes to experts
  std::int64_t rows;  // of this rank's tokens: once for each expert that they visit
  FeedForward routed, shared;
  std::int64_t logits;           // of one token: of the routed experts and the shared ones' gate
  std::int64_t whole_bytes;      // of the block's input and output
  std::int64_t cut_bytes;        // of this rank's part of them
  std::int64_t own_bytes;        // of its own tokens
  std::int64_t sent_bytes;       // of `rows`
  std::int64_t permuted_bytes;   // of what enters and leaves the routed experts
  std::int64_t score_bytes;      // of the router's scores, FP32
  std::int64_t down_bias_bytes;  // of the routed experts' output biases; 0 without
};

// Fills the ways outward and homeward.
void AddMoves(const ExpertsLayer& layer, SpreadExperts* spread);

}  // namespace models

#endif  // MODELS_EXPERTS_LAYER_H_
