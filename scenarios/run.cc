#include "scenarios/run.h"

#include <optional>
#include <utility>

#include "scenarios/estimate.h"
#include "scenarios/fold.h"
#include "scenarios/kernel_costs.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"

namespace scenarios {

sim::Result<RunResult> Run(const Scenario& scenario, const RunOptions& options) {
  const hardware::DeviceCostModel cost = CostModelOf(scenario);
  std::vector<StagePlan> stages = PlanStages(scenario, cost);
  std::optional<Fold> fold;
  if (options.fold && !options.log_rates) {
    if (const auto refusal = RefuseToFold(scenario, stages, options.memory_limit)) return *refusal;
    fold = FoldOf(scenario, stages);
  }
  const Fold* folded = fold ? &*fold : nullptr;
  if (const auto refusal = RefuseToSimulate(scenario, stages, options.memory_limit, folded)) return *refusal;
  RunProgress progress{.of = static_cast<std::uint64_t>(scenario.layout.ranks())};
  bool stopped = false;
  const auto go_on = [&] {
    stopped = options.go_on && !options.go_on(progress);
    return !stopped;
  };
  sim::Result<StepProgram> steps = BuildSteps(
      scenario, std::move(stages),
      [&](std::int64_t ranks) {
        progress.done = static_cast<std::uint64_t>(ranks);
        return go_on();
      },
      std::move(fold));
  if (stopped) return RunResult{.interruption = Interruption{progress, {}}};
  if (!steps.ok()) return steps.error();
  RunResult result{.steps = std::move(steps).value(), .timeline = {}, .report = {}};
  const auto follow = [&](const sim::SimulationProgress& at) {
    progress = {RunProgress::Phase::kSimulate, at.tasks_ended, at.tasks, at.now};
    return go_on();
  };
  sim::Result<sim::Timeline> timeline =
      sim::Simulate(result.steps.program, {.log_rates = options.log_rates, .go_on = follow});
  if (!timeline.ok()) return timeline.error();
  result.timeline = std::move(timeline).value();
  if (result.timeline.stopped) {
    result.interruption = {progress, sim::EndedSteps(result.steps.program, result.timeline)};
    return result;
  }
  result.report = MakeReport(scenario, result.steps, result.timeline);
  return result;
}

}  // namespace scenarios
