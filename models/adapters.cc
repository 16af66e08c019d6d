#include "models/adapters.h"

#include "models/matrices.h"
#include "sim/base/check.h"

namespace models {
namespace {

bool IsTarget(const Matrices& m, AdapterTargets targets) {
  switch (m.role) {
    case MatrixRole::kQuery:
    case MatrixRole::kValue:
      return true;
    case MatrixRole::kKey:
    case MatrixRole::kLatent:
    case MatrixRole::kAttentionOutput:
      return targets != AdapterTargets::kQueryValue;
    case MatrixRole::kGate:
    case MatrixRole::kUp:
    case MatrixRole::kDown:
      return targets == AdapterTargets::kAllLinear && !m.routed;
    default:
      return false;
  }
}

std::int64_t RoundUp(sim::Wide bits) { return static_cast<std::int64_t>((bits + 7) / 8); }

}  // namespace

std::int64_t AdapterParameters(const Model& model, AdapterTargets targets, std::int64_t rank) {
  CHECK(rank > 0);
  std::int64_t sum = 0;
  for (const Matrices& m : WeightsOf(model).matrices) {
    if (IsTarget(m, targets)) sum += m.count * rank * (m.out + m.in);
  }
  return sum;
}

sim::Bytes QuantisedBytes(std::int64_t parameters, const Quantisation& q) {
  CHECK(parameters >= 0 && q.bits > 0 && q.group > 0);
  const sim::Wide groups = (sim::Wide{parameters} + q.group - 1) / q.group;
  std::int64_t bytes =
      RoundUp(sim::Wide{parameters} * q.bits) + RoundUp(groups * (q.scale_bits + q.zero_bits));
  if (q.group_of_scales > 0) bytes += RoundUp((groups + q.group_of_scales - 1) / q.group_of_scales * 32);
  return sim::Bytes(bytes);
}

TrainingState AdapterTrainingState(sim::Bytes base, std::int64_t adapter_parameters,
                                   const StateWidths& widths) {
  TrainingState state = AdamWStateOf(adapter_parameters, widths);
  state.weights += base;
  return state;
}

}  // namespace models
