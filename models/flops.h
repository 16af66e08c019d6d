// Model FLOPs: what a step must compute, by convention; never what a device
// happened to execute. A multiply-add counts two. Elementwise work, norms and
// look-ups count nothing. 128 bits hold a step's count: 10^22 is usual, and
// sim::Flops ends at 9.2e18, which suffices for one kernel only.
//
//   forward of one token   2 (QKVO + MLP matrices) layers + 2 hidden vocabulary
//                          + 2 reach heads (head_dim + value_dim), layer by layer
//   backward               twice the forward, also for the first layer
//
// In a layer with experts a token meets per_token routed ones, the shared ones and
// the router. Relative positions are projected once a sequence and count nothing.
// `reach` is the sequence, or the sliding window where that is less. The
// `causal` forms count only the pairs that a query may see, the diagonal as half.
//
// Source: Narayanan et al., "Efficient large-scale language model training on GPU
// clusters using Megatron-LM", SC 2021, appendix; full attention as there.

#ifndef MODELS_FLOPS_H_
#define MODELS_FLOPS_H_

#include <cstdint>

#include "models/block.h"
#include "models/model.h"
#include "sim/base/units.h"

namespace models {

struct FlopsOf {
  sim::Wide linear = 0;     // attention's matrices and the feed-forwards', of all layers
  sim::Wide attention = 0;  // QK^T and PV
  sim::Wide logits = 0;     // the output matrix, tied or not; the look-up counts nothing
  sim::Wide total() const { return linear + attention + logits; }
};

enum class AttentionCount : std::uint8_t { kFull, kCausal };

// One forward pass over `sequences` sequences of `sequence_length` tokens.
FlopsOf ForwardFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                     AttentionCount count = AttentionCount::kFull);

// Forward and backward: what MFU counts, with kFull.
sim::Wide ModelFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                     AttentionCount count = AttentionCount::kFull);

// Forward of the model's prediction modules: of each one layer more, as the last, a matrix
// 2 hidden x hidden, and the logits.
FlopsOf PredictionFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                        AttentionCount count = AttentionCount::kFull);

// The attention core once more: what selective recomputation meant in Korthikanti et al. 2022.
sim::Wide SelectiveRecomputeFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                                  AttentionCount count = AttentionCount::kFull);

// What recomputation adds: the modules of execution.selective once more, in the layers and in so many
// prediction modules, or every layer's forward once more (full; not the head). HFU counts model FLOPs
// and these.
sim::Wide SelectiveRecomputeFlops(const Model& model, const Execution& execution, std::int64_t sequences,
                                  std::int64_t sequence_length, std::int64_t predictions = 0,
                                  AttentionCount count = AttentionCount::kFull);
sim::Wide FullRecomputeFlops(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                             AttentionCount count = AttentionCount::kFull);

// 2 and 6 operations per parameter and token: the planner's rule of thumb.
// Source: Kaplan et al., "Scaling laws for neural language models", 2020, section 2.1;
// here with all parameters that are active, the embedding too.
sim::Wide TwoPD(const Model& model, std::int64_t tokens);
sim::Wide SixPD(const Model& model, std::int64_t tokens);

}  // namespace models

#endif  // MODELS_FLOPS_H_
