// A scenario's choices as a budget request.

#ifndef SCENARIOS_BUDGET_SCENARIO_REQUEST_H_
#define SCENARIOS_BUDGET_SCENARIO_REQUEST_H_

#include "scenarios/budget/budget.h"
#include "scenarios/scenario.h"
#include "sim/base/result.h"

namespace scenarios {

// Fails where the scenario has what a budget does not count (`orrery check` does): context or expert
// parallelism, chunks of a stage, offload, FP8, shares of data ranks.
sim::Result<BudgetRequest> RequestOf(const Scenario& scenario);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_SCENARIO_REQUEST_H_
