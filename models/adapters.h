// Adapters of low rank beside frozen weights (LoRA), and weights of few bits with
// scales (QLoRA, GPTQ, AWQ).
//
// Sources: Hu et al., "LoRA", 2021, section 4.1; Dettmers et al., "QLoRA", 2023, section 3;
// textbook, (27.9), 17.8.10, 17.8.11.

#ifndef MODELS_ADAPTERS_H_
#define MODELS_ADAPTERS_H_

#include <cstdint>

#include "models/model.h"
#include "models/training_state.h"
#include "sim/base/units.h"

namespace models {

// Which matrices have an adapter; never tables, routers and routed experts.
enum class AdapterTargets : std::uint8_t {
  kQueryValue,  // of attention: the paper's choice
  kAttention,   // queries, keys, values and output, and the narrow projections
  kAllLinear,   // those and the feed-forwards'
};

// Numbers of adapters: rank x (out + in) of each matrix. REQUIRES: rank > 0
std::int64_t AdapterParameters(const Model& model, AdapterTargets targets, std::int64_t rank);

// How weights of few bits are stored. Groups of `group` weights share a scale of
// `scale_bits` and a zero point of `zero_bits`; with `group_of_scales` the scales have
// a scale of 32 bits themselves (double quantisation).
struct Quantisation {
  std::int64_t bits = 4;
  std::int64_t group = 128;
  std::int64_t scale_bits = 16;
  std::int64_t zero_bits = 0;
  std::int64_t group_of_scales = 0;  // 0 = scales are as they are
};

// NF4 with double quantisation: 4 bits, an 8-bit scale of 64 weights, FP32 of 256 scales:
// 4.127 bits a weight.
inline constexpr Quantisation kNf4{4, 64, 8, 0, 256};

// Each part rounded up to whole bytes. Leaves out: packing, alignment, and layers that
// are not quantised, which the caller adds. Source: textbook, (27.9).
// REQUIRES: parameters >= 0; bits > 0, group > 0
sim::Bytes QuantisedBytes(std::int64_t parameters, const Quantisation& quantisation);

// Fine-tuning adapters beside frozen weights: the weights of the model in `base` bytes, with
// gradients, master copy and optimizer of the adapters alone. Activations stay what
// they are: gradients pass the frozen layers. Source: textbook, 27.5.
TrainingState AdapterTrainingState(sim::Bytes base, std::int64_t adapter_parameters,
                                   const StateWidths& widths = {});

}  // namespace models

#endif  // MODELS_ADAPTERS_H_
