// How long a step of any scenario takes at least, from the plans alone.
//
// A rank's compute stream runs one kernel at a time, none of them faster than alone on the device, and what
// it does in a step it does once between two gradient norms, for which all ranks wait. So the time from step
// to step is at least, for any stage s,
//
//   max( optimizer of s, optimizer of stage 0 + way ) + work of s + way back
//
// where the work is all kernels of all its micro-batches, forward, again and backward; the way is a
// micro-batch's forward through the first chunks of the stages before s, behind which everything on s comes,
// and the way back its backward through them, which everything on s comes before. What a forward sends in the
// tensor group lies between two kernels, so it counts too, at the rate of the devices' links.
//
// Where that is not so, less is counted: without a gradient norm steps of different stages overlap, so that
// the stage with least work counts, and no ways; micro-batches that enter at both ends have no way; split
// backwards leave weight gradients for the way back; joined steps and products in pieces have others' kernels
// beside what they send.
//
// Leaves out: what experts, context ranks, data ranks, the host and saves add. So it is low for jobs that
// they dominate, and still a bound.

#ifndef SCENARIOS_SWEEP_LOWER_BOUND_H_
#define SCENARIOS_SWEEP_LOWER_BOUND_H_

#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/base/units.h"

namespace scenarios {

// REQUIRES: `stages` are PlanStages of the scenario, by CostModelOf
sim::Duration LeastStepTime(const Scenario& scenario, const std::vector<StagePlan>& stages);

}  // namespace scenarios

#endif  // SCENARIOS_SWEEP_LOWER_BOUND_H_
