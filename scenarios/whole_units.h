// WholeUnits: which units of a stage are whole as a rank goes through its micro-batches
// where weights are cut (ZERO_3), and which eight-bit copies of them there are.
//
// A unit is gathered before its forward and, if it was given back after that, again before its backward, the
// experts that a layer spreads behind the rest of it. While one unit runs, those that come next in its chunk
// are gathered beside it. In a pipeline a backward gives nothing back but the last of a step. Source of that:
// PyTorch 2.6, distributed/pipelining/stage.py, backward_maybe_with_nosync.
//
// Where linear layers multiply in eight bits, weights that arrive in 16 are cast behind their gather: into
// one copy for a pass, into all where the unit stays whole for the backward or the backward computes its
// forward again. Weights that arrive in eight are a forward's copy; the backward makes the second. Copies
// last as long as the unit is whole. Source: torchao 0.7, float8/float8_linear.py and fsdp_utils.py; NVIDIA
// Transformer Engine 2, pytorch/module/base.py (get_weight_workspace).

#ifndef SCENARIOS_WHOLE_UNITS_H_
#define SCENARIOS_WHOLE_UNITS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/schedule/pipeline_schedule.h"

namespace scenarios {

class WholeUnits {
 public:
  // Both must outlive this. REQUIRES: weights are cut
  WholeUnits(const Scenario& scenario, const StagePlan& plan);

  // The buckets to gather now: those of the unit and of those ahead of it in its chunk that are not
  // whole. They are whole from now on.
  std::vector<std::uint32_t> BeforeForward(const Unit& unit);
  std::vector<std::uint32_t> BeforeBackward(const Unit& unit);
  // What is cast once the unit is there.
  WeightCast CastForForward(const Unit& unit);
  WeightCast CastForBackward(const Unit& unit);
  void AfterForward(const Unit& unit);
  // `last`: of the step, in the unit's chunk.
  void AfterBackward(const Unit& unit, bool last);

  sim::Bytes gathered() const;
  sim::Bytes copies() const;  // in eight bits, beside what was gathered

 private:
  struct Place {
    std::uint32_t chunk = 0, index = 0;
  };
  struct State {
    bool whole = false, forward_copy = false, backward_copy = false;
  };
  void Take(const Unit& unit, std::vector<std::uint32_t>* missing);
  void GiveBack(const Unit& unit);
  WeightCast Cast(State* state, bool forward, bool backward) const;
  sim::Bytes CopiesOf(const Unit& unit, const State& state) const;

  const Scenario& scenario_;
  const StagePlan& plan_;
  const models::Matmul matmul_;
  std::vector<Place> places_;  // by Unit::bucket, as all below
  std::vector<State> states_;
};

// What a stage does with its units in a step.
struct PlayedUnits {
  std::int64_t casts = 0;       // of a unit, of any kind
  sim::Bytes gathered, copies;  // when they are most together
};
PlayedUnits PlayUnits(const Scenario& scenario, const StagePlan& plan,
                      std::span<const sim::PipelineStep> order);

}  // namespace scenarios

#endif  // SCENARIOS_WHOLE_UNITS_H_
