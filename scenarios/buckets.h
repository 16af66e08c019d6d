// The buckets of a stage: which gradients are reduced together, and which weights gathered.

#ifndef SCENARIOS_BUCKETS_H_
#define SCENARIOS_BUCKETS_H_

#include <cstdint>
#include <span>

#include "hardware/cost_model.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/schedule/pipeline_schedule.h"

namespace scenarios {

// A tied table that a stage holds once has its gradient with the last of its two
// uses, the embedding's unless the head's chunk ends later.
void PlaceTiedTable(std::int64_t table, StagePlan* plan);

// Gradients become ready chunk by chunk, from the last unit of each to its first.
// Where weights are cut, each unit is a bucket: what is gathered at once.
// REQUIRES: chunks and their order are planned
void FillBuckets(const Scenario& scenario, const hardware::CostModel& cost,
                 std::span<const sim::PipelineStep> steps, StagePlan* plan);

// What it takes to hold or gather shares in eight bits: the largest numbers found behind the optimizer and
// reduced, and the cast of what is held so. Returns how many numbers of this rank's share are cast there; 0
// where nothing is.
std::int64_t PlanShares(const Scenario& scenario, const hardware::CostModel& cost, StagePlan* plan);

}  // namespace scenarios

#endif  // SCENARIOS_BUCKETS_H_
