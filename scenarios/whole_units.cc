#include "scenarios/whole_units.h"

#include <algorithm>

#include "models/quantise.h"
#include "scenarios/sharding.h"

namespace scenarios {

WholeUnits::WholeUnits(const Scenario& scenario, const StagePlan& plan)
    : scenario_(scenario),
      plan_(plan),
      matmul_(ExecutionOf(scenario).matmul),
      places_(plan.buckets.size()),
      states_(plan.buckets.size()) {
  for (std::size_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    const std::vector<Unit>& units = plan.chunks[chunk];
    for (std::size_t i = 0; i < units.size(); ++i) {
      places_[units[i].bucket] = {static_cast<std::uint32_t>(chunk), static_cast<std::uint32_t>(i)};
    }
  }
}

void WholeUnits::Take(const Unit& unit, std::vector<std::uint32_t>* missing) {
  if (states_[unit.bucket].whole) return;
  states_[unit.bucket].whole = true;
  missing->push_back(unit.bucket);
  if (unit.spread == 0) return;
  states_[unit.expert_bucket].whole = true;
  missing->push_back(unit.expert_bucket);
}

void WholeUnits::GiveBack(const Unit& unit) {
  states_[unit.bucket] = {};
  if (unit.spread > 0) states_[unit.expert_bucket] = {};
}

std::vector<std::uint32_t> WholeUnits::BeforeForward(const Unit& unit) {
  const Place at = places_[unit.bucket];
  const std::vector<Unit>& units = plan_.chunks[at.chunk];
  const auto ahead = static_cast<std::size_t>(scenario_.training.sharding.prefetch);
  std::vector<std::uint32_t> missing;
  for (std::size_t i = at.index; i < units.size() && i <= at.index + ahead; ++i) Take(units[i], &missing);
  return missing;
}

std::vector<std::uint32_t> WholeUnits::BeforeBackward(const Unit& unit) {
  const Place at = places_[unit.bucket];
  const std::vector<Unit>& units = plan_.chunks[at.chunk];
  const auto ahead = static_cast<std::size_t>(scenario_.training.sharding.prefetch);
  std::vector<std::uint32_t> missing;
  for (std::size_t i = 0; i <= at.index && i <= ahead; ++i) Take(units[at.index - i], &missing);
  return missing;
}

// Copies that a pass needs and that are not there; one serves both ways where products take any order.
WeightCast WholeUnits::Cast(State* state, bool forward, bool backward) const {
  forward = forward && !state->forward_copy;
  backward = backward && !state->backward_copy;
  if (!forward && !backward) return WeightCast::kNone;
  const bool both = forward && backward, one_serves = models::Copies(matmul_) == 1;
  state->forward_copy = state->forward_copy || forward || one_serves;
  state->backward_copy = state->backward_copy || backward || one_serves;
  return both && !one_serves ? WeightCast::kAllCopies : WeightCast::kOneCopy;
}

WeightCast WholeUnits::CastForForward(const Unit& unit) {
  if (unit.cast_weights + unit.spread_cast_weights == 0) return WeightCast::kNone;
  State* state = &states_[unit.bucket];
  if (matmul_.eight_bit_weights) {
    state->forward_copy = true;
    return WeightCast::kNone;
  }
  return Cast(state, true, StaysWhole(scenario_, plan_, unit.bucket));
}

// Of weights that came in eight bits all copies are the second one.
WeightCast WholeUnits::CastForBackward(const Unit& unit) {
  if (unit.cast_weights + unit.spread_cast_weights == 0) return WeightCast::kNone;
  State* state = &states_[unit.bucket];
  if (matmul_.eight_bit_weights) {
    const bool lacks = models::Copies(matmul_) > 1 && !state->backward_copy;
    state->forward_copy = state->backward_copy = true;
    return lacks ? WeightCast::kAllCopies : WeightCast::kNone;
  }
  // What multiplies again before the backward needs the forward's copy again.
  const bool again =
      unit.recompute == Recompute::kFull ||
      (unit.recompute == Recompute::kSelective &&
       scenario_.training.selective.MultipliesAgain(models::HasExperts(scenario_.model, unit.layer)));
  return Cast(state, again, true);
}

void WholeUnits::AfterForward(const Unit& unit) {
  if (!StaysWhole(scenario_, plan_, unit.bucket)) GiveBack(unit);
}

void WholeUnits::AfterBackward(const Unit& unit, bool last) {
  if (last || scenario_.layout.pipeline == 1) GiveBack(unit);
}

sim::Bytes WholeUnits::gathered() const {
  sim::Bytes sum;
  for (std::size_t b = 0; b < states_.size(); ++b) {
    if (states_[b].whole) sum += WeightsOf(scenario_, plan_.buckets[b]);
  }
  return sum;
}

// Unit::cast_weight_bytes are those of all copies that are not the weights themselves.
sim::Bytes WholeUnits::CopiesOf(const Unit& unit, const State& state) const {
  const std::int64_t arrives = matmul_.eight_bit_weights ? 1 : 0, all = models::Copies(matmul_) - arrives;
  if (all == 0 || (!state.forward_copy && !state.backward_copy)) return {};
  const std::int64_t there = state.forward_copy && state.backward_copy ? models::Copies(matmul_) : 1;
  return sim::Bytes(unit.cast_weight_bytes.count() / all * (there - arrives));
}

sim::Bytes WholeUnits::copies() const {
  sim::Bytes sum;
  for (const std::vector<Unit>& units : plan_.chunks) {
    for (const Unit& unit : units) sum += CopiesOf(unit, states_[unit.bucket]);
  }
  return sum;
}

namespace {

class UnitPlayer {
 public:
  UnitPlayer(const Scenario& scenario, const StagePlan& plan) : whole_(scenario, plan) {}

  void Forward(const std::vector<Unit>& units) {
    for (const Unit& unit : units) {
      whole_.BeforeForward(unit);
      Note(whole_.CastForForward(unit));
      whole_.AfterForward(unit);
    }
  }

  void Backward(const std::vector<Unit>& units, const sim::PipelineStep& step, bool last) {
    using enum sim::PipelineStep::Kind;
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
      if (step.kind != kBackwardWeight) {
        whole_.BeforeBackward(*unit);
        Note(whole_.CastForBackward(*unit));
      }
      if (step.kind != kBackwardInput) whole_.AfterBackward(*unit, last);
    }
  }

  PlayedUnits played() && { return std::move(played_); }

 private:
  void Note(WeightCast cast) {
    if (cast != WeightCast::kNone) ++played_.casts;
    const sim::Bytes now = whole_.gathered(), copies = whole_.copies();
    if (now + copies <= played_.gathered + played_.copies) return;
    played_.gathered = now;
    played_.copies = copies;
  }

  WholeUnits whole_;
  PlayedUnits played_;
};

}  // namespace

PlayedUnits PlayUnits(const Scenario& scenario, const StagePlan& plan,
                      std::span<const sim::PipelineStep> order) {
  using enum sim::PipelineStep::Kind;
  UnitPlayer player(scenario, plan);
  std::vector<std::int64_t> left(plan.chunks.size(), scenario.pipeline.microbatches_of_chunk());
  for (const sim::PipelineStep& step : order) {
    const std::vector<Unit>& units = plan.chunks[step.chunk];
    if (step.kind == kForward) {
      player.Forward(units);
    } else {
      const bool completes = step.kind != kBackwardInput;
      player.Backward(units, step, completes && --left[step.chunk] == 0);
    }
  }
  return std::move(player).played();
}

}  // namespace scenarios
