// What training holds for every parameter, by optimizer: weights, gradients, a copy of
// the weights in FP32, and the optimizer's own numbers. Of the whole model, and of one
// of the ranks that share it by ZeRO.
//
// Leaves out: gathered units, buckets, activations, workspaces.

#ifndef MODELS_TRAINING_STATE_H_
#define MODELS_TRAINING_STATE_H_

#include <cstdint>

#include "models/model.h"
#include "sim/base/units.h"

namespace models {

// Bytes of each optimizer's own state (FP32 unless said), for p parameters:
//
//   kAdamW       8 p                      two moments
//   kAdamW8bit   2 p + 8 ceil(p / 2048)   two moments in 8 bits, an FP32 scale a block of 2,048
//   kSgdMomentum 4 p                      the momentum
//   kAdamMini    4 p + 4 blocks           the momentum, and one second moment a block: a head of
//                                         queries or keys, an output neuron of any other matrix, a
//                                         row of the vocabulary matrices, a vector's number each
//   kAdafactor   4 (rows + columns) of each matrix, 4 of each number of a vector; no momentum
//   kMuon        4 p of the layers' matrices (momentum), 8 p of tables, head and vectors (AdamW)
//
// Sources: Kingma and Ba 2015; Dettmers et al., "8-bit optimizers via block-wise quantization",
// 2022, section 2; Zhang et al., "Adam-mini", 2024, algorithms 1 and 3; Shazeer and Stern,
// "Adafactor", 2018, algorithms 4 and 5; Jordan et al., "Muon", 2024. Textbook: 17.4.3.
enum class OptimizerKind : std::uint8_t {
  kAdamW,
  kAdamW8bit,
  kSgdMomentum,
  kAdamMini,
  kAdafactor,
  kMuon,
};

const char* ToText(OptimizerKind kind);  // "adamw", "adamw-8bit", "sgd-momentum", ...

sim::Bytes OptimizerStateBytes(const Model& model, OptimizerKind kind);

// How wide each number is, in bytes; 0 = not there.
struct StateWidths {
  std::int64_t weight = 2;
  std::int64_t gradient = 2;
  std::int64_t master = 4;  // copy of the weights that the optimizer updates
};

struct TrainingState {
  sim::Bytes weights, gradients, master, optimizer;
  sim::Bytes total() const { return weights + gradients + master + optimizer; }
};
TrainingState TrainingStateOf(const Model& model, OptimizerKind kind, const StateWidths& widths = {});

// AdamW for so many parameters, whatever they belong to.
TrainingState AdamWStateOf(std::int64_t parameters, const StateWidths& widths = {});

// What one of `ranks` holds under ZeRO-`stage`: 1 cuts master and optimizer, 2 also gradients,
// 3 also weights; 0 nothing. A part that does not divide is rounded up.
// Source: Rajbhandari et al., "ZeRO", SC 2020, section 3; textbook, (27.12) to (27.15).
// REQUIRES: 0 <= stage <= 3, ranks > 0
TrainingState ShareOf(const TrainingState& state, int stage, std::int64_t ranks);

}  // namespace models

#endif  // MODELS_TRAINING_STATE_H_
