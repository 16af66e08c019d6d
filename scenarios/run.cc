#include "scenarios/run.h"

#include "hardware/device_cost_model.h"
#include "scenarios/estimate.h"
#include "sim/program/executor.h"

namespace scenarios {

sim::Result<RunResult> Run(const Scenario& scenario, const RunOptions& options) {
  const hardware::DeviceCostModel cost(scenario.device);
  std::vector<StagePlan> stages = PlanStages(scenario, cost);
  if (const auto refusal = RefuseToSimulate(scenario, stages, options.memory_limit)) return *refusal;
  sim::Result<StepProgram> steps = BuildSteps(scenario, std::move(stages));
  if (!steps.ok()) return steps.error();
  RunResult result{.steps = std::move(steps).value(), .timeline = {}, .report = {}};
  sim::Result<sim::Timeline> timeline = sim::Simulate(result.steps.program, {.log_rates = options.log_rates});
  if (!timeline.ok()) return timeline.error();
  result.timeline = std::move(timeline).value();
  result.report = MakeReport(scenario, result.steps, result.timeline);
  return result;
}

}  // namespace scenarios
