// Blocks with the times of their phases on one device.

#ifndef SCENARIOS_BLOCK_PLAN_H_
#define SCENARIOS_BLOCK_PLAN_H_

#include <vector>

#include "hardware/cost_model.h"
#include "models/block.h"
#include "scenarios/stage_plan.h"
#include "sim/base/kernel.h"

namespace scenarios {

PhaseTimes TimesOf(const hardware::CostModel& cost, const std::vector<sim::Kernel>& kernels);
BlockPlan PlanBlock(const hardware::CostModel& cost, const models::Block& block, Recompute recompute);
// For PlanBlock's `pieced`. REQUIRES: both ways gather and the forward scatters; rows divide by `pieces`
PiecedPlan PlanPieces(const hardware::CostModel& cost, const models::Block& block, std::int64_t pieces);
ExpertPlan PlanExperts(const hardware::CostModel& cost, const models::SpreadExperts& experts);

}  // namespace scenarios

#endif  // SCENARIOS_BLOCK_PLAN_H_
