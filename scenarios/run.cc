#include "scenarios/run.h"

#include "hardware/device_cost_model.h"
#include "sim/program/executor.h"

namespace scenarios {

models::Execution ExecutionOf(const Scenario& scenario) {
  return {.tensor = scenario.layout.tensor,
          .sequence_parallel = scenario.layout.sequence,
          .micro_batch = scenario.batch.micro,
          .sequence_length = scenario.batch.sequence_length,
          .format = scenario.training.format,
          .attention = scenario.training.attention,
          .vocabulary_divisor = scenario.training.vocabulary_divisor,
          .dropout = scenario.training.dropout,
          .gradient_fp32 = scenario.training.gradient_format == sim::NumberFormat::kFp32};
}

sim::Result<RunResult> Run(const Scenario& scenario, const RunOptions& options) {
  const hardware::DeviceCostModel cost(scenario.device);
  sim::Result<StepProgram> steps = BuildSteps(scenario, cost);
  if (!steps.ok()) return steps.error();
  RunResult result{.steps = std::move(steps).value(), .timeline = {}, .report = {}};
  sim::Result<sim::Timeline> timeline = sim::Simulate(result.steps.program, {.log_rates = options.log_rates});
  if (!timeline.ok()) return timeline.error();
  result.timeline = std::move(timeline).value();
  result.report = MakeReport(scenario, result.steps, result.timeline);
  return result;
}

}  // namespace scenarios
