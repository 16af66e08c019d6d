#include "models/training_state.h"

#include "models/matrices.h"
#include "models/parameters.h"
#include "sim/base/check.h"

namespace models {
namespace {

constexpr std::int64_t kFp32 = 4;
constexpr std::int64_t kBlock = 2048;  // of block-wise 8-bit states

bool OfALayer(const Matrices& m) { return m.role != MatrixRole::kEmbedding && m.role != MatrixRole::kOutput; }

// Second moments that Adam-mini keeps of these matrices.
std::int64_t AdamMiniBlocks(const Matrices& m) {
  const bool by_head = m.role == MatrixRole::kQuery || m.role == MatrixRole::kKey;
  return m.count * (by_head ? m.heads : m.out);
}

}  // namespace

const char* ToText(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kAdamW:
      return "adamw";
    case OptimizerKind::kAdamW8bit:
      return "adamw-8bit";
    case OptimizerKind::kSgdMomentum:
      return "sgd-momentum";
    case OptimizerKind::kAdamMini:
      return "adam-mini";
    case OptimizerKind::kAdafactor:
      return "adafactor";
    case OptimizerKind::kMuon:
      return "muon";
  }
  CHECK(false);
}

sim::Bytes OptimizerStateBytes(const Model& model, OptimizerKind kind) {
  const std::int64_t p = ParametersOf(model).total();
  if (kind == OptimizerKind::kAdamW) return sim::Bytes(2 * kFp32 * p);
  if (kind == OptimizerKind::kSgdMomentum) return sim::Bytes(kFp32 * p);
  if (kind == OptimizerKind::kAdamW8bit) {
    return sim::Bytes(2 * p + 2 * kFp32 * ((p + kBlock - 1) / kBlock));
  }
  const Weights weights = WeightsOf(model);
  std::int64_t numbers = 0;
  for (const Matrices& m : weights.matrices) {
    if (kind == OptimizerKind::kAdamMini) numbers += m.elements() + AdamMiniBlocks(m);
    if (kind == OptimizerKind::kAdafactor) numbers += m.count * (m.out + m.in);
    if (kind == OptimizerKind::kMuon) numbers += (OfALayer(m) ? 1 : 2) * m.elements();
  }
  numbers += (kind == OptimizerKind::kAdafactor ? 1 : 2) * weights.vectors;
  return sim::Bytes(kFp32 * numbers);
}

TrainingState TrainingStateOf(const Model& model, OptimizerKind kind, const StateWidths& widths) {
  TrainingState state = AdamWStateOf(ParametersOf(model).total(), widths);
  state.optimizer = OptimizerStateBytes(model, kind);
  return state;
}

TrainingState AdamWStateOf(std::int64_t parameters, const StateWidths& widths) {
  return {.weights = sim::Bytes(widths.weight * parameters),
          .gradients = sim::Bytes(widths.gradient * parameters),
          .master = sim::Bytes(widths.master * parameters),
          .optimizer = sim::Bytes(2 * kFp32 * parameters)};
}

TrainingState ShareOf(const TrainingState& state, int stage, std::int64_t ranks) {
  CHECK(stage >= 0 && stage <= 3 && ranks > 0);
  const auto part = [&](sim::Bytes bytes, int from) {
    return stage < from ? bytes : sim::Bytes((bytes.count() + ranks - 1) / ranks);
  };
  return {.weights = part(state.weights, 3),
          .gradients = part(state.gradients, 2),
          .master = part(state.master, 1),
          .optimizer = part(state.optimizer, 1)};
}

}  // namespace models
