// What it takes to simulate a scenario rank by rank, known before it starts.

#ifndef SCENARIOS_ESTIMATE_H_
#define SCENARIOS_ESTIMATE_H_

#include <optional>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/base/result.h"

namespace scenarios {

struct Estimate {
  double tasks = 0;         // of all ranks and steps; at most 15 % more than are built, hardly ever fewer
  double memory_bytes = 0;  // of this program while it runs
};

// From the plans alone: no task is made. As coupled flows; transfer by transfer
// a collective of n ranks is 2n(n-1) tasks or more.
Estimate EstimateOf(const Scenario& scenario, const std::vector<StagePlan>& stages);

// Why it should not be tried: more tasks than a program holds, or more memory
// than `memory_limit` bytes; with the figures and what would do.
std::optional<sim::Error> RefuseToSimulate(const Estimate& estimate, double memory_limit);

}  // namespace scenarios

#endif  // SCENARIOS_ESTIMATE_H_
