#include "scenarios/step_builder.h"

#include <utility>

#include "scenarios/job_builder.h"
#include "scenarios/rank_builder.h"

namespace scenarios {

std::vector<StagePlan> PlanStages(const Scenario& scenario, const hardware::CostModel& cost) {
  std::vector<StagePlan> stages;
  const StageOrders orders(scenario.pipeline);
  for (std::uint32_t stage = 0; stage < scenario.layout.pipeline; ++stage) {
    stages.push_back(PlanStage(scenario, cost, stage, orders.Of(stage)));
  }
  return stages;
}

sim::Result<StepProgram> BuildSteps(const Scenario& scenario, const hardware::CostModel& cost) {
  return BuildSteps(scenario, PlanStages(scenario, cost));
}

sim::Result<StepProgram> BuildSteps(const Scenario& scenario, std::vector<StagePlan> stages,
                                    const std::function<bool(std::int64_t)>& go_on,
                                    std::optional<Fold> fold) {
  StepProgram result{.program = {}, .stages = std::move(stages), .fold = std::move(fold)};
  JobBuilder builder(scenario, result.stages, result.fold ? &*result.fold : nullptr);
  for (std::int64_t r = 0; r < scenario.layout.ranks(); ++r) {
    if (go_on && !go_on(r)) return sim::Error{"stopped while the program was built"};
    const sim::Rank rank(static_cast<std::uint32_t>(r));
    if (result.fold && !result.fold->Acts(rank)) continue;
    RankBuilder(builder.job(), rank).Build();
    builder.CloseRank();
  }
  result.members = builder.communicators().members();
  sim::Result<sim::Program> program = std::move(builder).Build();
  if (!program.ok()) return program.error();
  result.program = std::move(program).value();
  return result;
}

}  // namespace scenarios
