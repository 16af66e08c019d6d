// What it takes to simulate a scenario rank by rank, known before it starts.

#ifndef SCENARIOS_ESTIMATE_H_
#define SCENARIOS_ESTIMATE_H_

#include <optional>
#include <vector>

#include "scenarios/fold.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/base/result.h"

namespace scenarios {

struct Estimate {
  // Of all ranks and steps; at most 15 % more than are built, hardly ever fewer; up to
  // twice as many are said where launches take longer than kernels.
  double tasks = 0;
  double memory_bytes = 0;  // of this program while it runs
};

// From the plans alone: no task is made. Of the ranks that act in a fold, where there is one. Transfer by
// transfer (Fidelity::kChunk) each transfer of a collective counts as a task, and weighs more.
Estimate EstimateOf(const Scenario& scenario, const std::vector<StagePlan>& stages,
                    const Fold* fold = nullptr);

// Why it should not be tried: more tasks than a program holds, more memory than
// `memory_limit` bytes, or a piece of work of more than a day; with the figures
// and what would do.
std::optional<sim::Error> RefuseToSimulate(const Scenario& scenario, const std::vector<StagePlan>& stages,
                                           double memory_limit, const Fold* fold = nullptr);

// The same of the most that folding can leave: one rank a stage, and what all ranks have for each other.
std::optional<sim::Error> RefuseToFold(const Scenario& scenario, const std::vector<StagePlan>& stages,
                                       double memory_limit);

}  // namespace scenarios

#endif  // SCENARIOS_ESTIMATE_H_
