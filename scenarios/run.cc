#include "scenarios/run.h"

#include <optional>
#include <utility>
#include <vector>

#include "scenarios/estimate.h"
#include "scenarios/fold.h"
#include "scenarios/kernel_costs.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"

namespace scenarios {
namespace {

// Without the report.
sim::Result<RunResult> Play(const Scenario& scenario, const std::vector<StagePlan>& stages,
                            std::optional<Fold> fold, const RunOptions& options) {
  const Fold* folded = fold ? &*fold : nullptr;
  if (const auto refusal = RefuseToSimulate(scenario, stages, options.memory_limit, folded)) return *refusal;
  RunProgress progress{.of = static_cast<std::uint64_t>(scenario.layout.ranks())};
  bool stopped = false;
  const auto go_on = [&] {
    stopped = options.go_on && !options.go_on(progress);
    return !stopped;
  };
  const auto count = [&](std::int64_t ranks) {
    progress.done = static_cast<std::uint64_t>(ranks);
    return go_on();
  };
  sim::Result<StepProgram> steps = BuildSteps(scenario, stages, count, std::move(fold));
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
  if (result.timeline.stopped)
    result.interruption = {progress, sim::EndedSteps(result.steps.program, result.timeline)};
  return result;
}

bool WasApart(const RunResult& run) {
  return !run.steps.fold || MovedApart(*run.steps.fold, run.steps.program, run.timeline);
}

// One rank of each kind where there are like ones.
sim::Result<RunResult> PlayFolded(const Scenario& scenario, const std::vector<StagePlan>& stages,
                                  const RunOptions& options) {
  if (const auto refusal = RefuseToFold(scenario, stages, options.memory_limit)) return *refusal;
  const RunProgress at_start{.of = static_cast<std::uint64_t>(scenario.layout.ranks())};
  const auto go_on = [&] { return !options.go_on || options.go_on(at_start); };
  for (const bool apart : {true, false}) {
    std::optional<Fold> fold = FoldOf(scenario, stages, apart, go_on);
    if (!go_on()) return RunResult{.interruption = Interruption{at_start, {}}};
    sim::Result<RunResult> run = Play(scenario, stages, std::move(fold), options);
    if (!run.ok() || run.value().interruption || !apart || WasApart(run.value())) return run;
  }
  CHECK(false);
}

}  // namespace

sim::Result<RunResult> Run(const Scenario& scenario, const RunOptions& options) {
  const std::vector<StagePlan> stages = PlanStages(scenario, CostModelOf(scenario));
  const bool folds = options.fold && !options.log_rates;
  sim::Result<RunResult> run =
      folds ? PlayFolded(scenario, stages, options) : Play(scenario, stages, std::nullopt, options);
  if (!run.ok() || run.value().interruption) return run;
  RunResult result = std::move(run).value();
  result.report = MakeReport(scenario, result.steps, result.timeline);
  return result;
}

}  // namespace scenarios
