// RankWork: what one rank runs of its stage's plan in a step, added up by what it is for.

#ifndef SCENARIOS_RANK_WORK_H_
#define SCENARIOS_RANK_WORK_H_

#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/base/index.h"

namespace scenarios {

// Of one rank in one step, each kernel alone on its device; `alone` and `host` alone are added up.
struct RankWork {
  PhaseTimes compute;  // forward and backward, with casts of weights
  PhaseTimes again;    // what runs again
  PhaseTimes optimizer;

  PhaseTimes total() const { return compute + again + optimizer; }
};

// Phase by phase as BlockWriter and ContextWriter run them; a plan whose cost model counts something else
// than time adds that up. Leaves out: casts of weights into eight bits after the first of a step, and of
// shares. REQUIRES: the plan is of the rank's stage
RankWork WorkOfRank(const Scenario& scenario, const StagePlan& plan, sim::Rank rank);

}  // namespace scenarios

#endif  // SCENARIOS_RANK_WORK_H_
