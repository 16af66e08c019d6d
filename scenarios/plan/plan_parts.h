// The parts of a plan. Internal to this folder.

#ifndef SCENARIOS_PLAN_PLAN_PARTS_H_
#define SCENARIOS_PLAN_PLAN_PARTS_H_

#include <cstdint>

#include "scenarios/plan/plan.h"

namespace scenarios {

// What is known of a device's plan before anything is searched.
struct PlanBasis {
  PlanJob job;
  std::int64_t parameters = 0, active = 0;
  double six_pd = 0;                          // FLOPs of the run
  double peak = 0;                            // FLOP/s of a device
  double guess = 0;                           // MFU
  std::int64_t for_memory = 1, for_time = 0;  // devices; 0 without a deadline
  std::int64_t begin = 1;                     // the larger, or what is given
};

// The textbook's first guess, 17.9.4 step 3, for so many devices.
double GuessedUtilisation(const models::Model& model, std::int64_t devices, std::int64_t node);

PlanBasis BasisOf(const PlanRequest& request, const PlanDevice& device, std::vector<Assumption>* assumptions);

// The hand calculation beside a layout that was played, with the utilisation that came of it; of nothing: of
// the model alone.
BudgetRequest BudgetRequestOf(const PlanRequest& request, const PlanDevice& device, const Played* played);

PlanOutcome OutcomeOf(const PlanRequest& request, const PlanBasis& basis, const PlanDevice& device,
                      const Played& played);

// Searches, round after round. Fills rounds, search and outcomes.
void SearchRounds(const PlanRequest& request, const PlanBasis& basis, DevicePlan* plan);

// The ten steps, and what would have to give.
void WriteSteps(const PlanRequest& request, const PlanBasis& basis, DevicePlan* plan);

}  // namespace scenarios

#endif  // SCENARIOS_PLAN_PLAN_PARTS_H_
