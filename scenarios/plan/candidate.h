// One layout of a job without playing it: does it fit, how long does it take by hand, and how long at least.

#ifndef SCENARIOS_PLAN_CANDIDATE_H_
#define SCENARIOS_PLAN_CANDIDATE_H_

#include <string>
#include <vector>

#include "scenarios/plan/plan_job.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/base/result.h"
#include "sim/base/units.h"

namespace scenarios {

// The textbook's step: work at 0.7 of the peak (17.5.5), full recomputation a third more, the pipeline's
// bubble on both (17.6.5); data parallelism beside it (the longer of the two counts, 17.5.5), tensor and
// expert traffic behind it (17.6.4, 17.6.6). Bytes as errata E2, E9 and E23 have them, at the rates that
// collectives achieve of NVLink, or of the NICs where the group leaves the node: all of the group's (A20).
struct HandTime {
  double compute_s = 0, recompute_s = 0, bubble_s = 0;
  double data_s = 0, tensor_s = 0, expert_s = 0;
  double step_s() const;
  // 17.9.4, step 8: over a fifth is looked at twice.
  double communication_share() const { return (data_s + tensor_s + expert_s) / (compute_s + recompute_s); }
};

struct Candidate {
  LayoutChoice layout;
  JobShape shape;
  sim::Bytes memory;  // of the fullest stage, with all data ranks
  bool fits = false;
  HandTime hand;
  // No play of it is shorter. The slowest stage's kernels for all micro-batches, a micro-batch's way to that
  // stage and back, what the tensor group sends in forwards and what tokens travel longer than anything runs
  // beside them; or what the data ranks send, where that is longer.
  double bound_s = 0;

  double tokens(const PlanJob& job) const;  // of a step
};

// Device-seconds a token of a step that takes so long: what is compared where devices and batches differ.
double DeviceSecondsOfToken(const Candidate& candidate, const PlanJob& job, double step_s);

// Fails where the scenario's reader refuses the layout, with its reason.
sim::Result<Candidate> Examine(const PlanJob& job, const LayoutChoice& layout, const JobShape& shape);

// The bound of one scenario; see Candidate. Of `stages` that PlanStages made for it.
double LeastStepSeconds(const Scenario& scenario, const std::vector<StagePlan>& stages);

}  // namespace scenarios

#endif  // SCENARIOS_PLAN_CANDIDATE_H_
