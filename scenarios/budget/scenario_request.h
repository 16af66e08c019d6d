// A scenario's choices as a budget request.

#ifndef SCENARIOS_BUDGET_SCENARIO_REQUEST_H_
#define SCENARIOS_BUDGET_SCENARIO_REQUEST_H_

#include "scenarios/budget/budget.h"
#include "scenarios/scenario.h"
#include "sim/base/result.h"

namespace scenarios {

// Fails where the scenario has what a budget does not count (`orrery check` does): context groups that are no
// rings, experts cut otherwise than the rest or sent otherwise than by an even all-to-all, chunks of a stage,
// parts of sequences, schedules with backwards in halves or that hold other than 1F1B does, offload,
// prediction modules, FP8, shares of data ranks, recomputation of some layers or of modules but attention's
// core.
sim::Result<BudgetRequest> RequestOf(const Scenario& scenario);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_SCENARIO_REQUEST_H_
