#include "scenarios/sweep/look.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "scenarios/estimate.h"
#include "scenarios/fold.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "scenarios/stage_plan.h"
#include "scenarios/step_builder.h"
#include "scenarios/sweep/lower_bound.h"

namespace scenarios {
namespace {

std::string GibOf(sim::Bytes bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", sim::Number(bytes.count()) / (1 << 30));
  return text;
}

// Why a run failed.
bool IsTooLarge(const Scenario& scenario, double memory_limit) {
  const std::vector<StagePlan> stages = PlanStages(scenario, CostModelOf(scenario));
  const std::optional<Fold> fold = FoldOf(scenario, stages);
  return RefuseToSimulate(scenario, stages, memory_limit, fold ? &*fold : nullptr).has_value();
}

}  // namespace

Look LookAt(const SweepJob& job, const Point& point, double memory_limit, bool play_all) {
  LoadedPoint loaded = Load(job, point);
  Look look{.row = {}, .files = std::move(loaded.files), .scenario = {}};
  Row& row = look.row;
  row.reason = std::move(loaded.refused);
  if (!loaded.scenario) return look;
  const Scenario& scenario = *loaded.scenario;
  Describe(scenario, &row);
  const std::vector<StagePlan> stages = PlanStages(scenario, CostModelOf(scenario));
  row.memory = LargestStageMemory(scenario, stages).total;
  row.least_step_time = LeastStepTime(scenario, stages);
  row.status = RowStatus::kOk;
  if (*row.memory > *row.memory_limit) {
    row.status = RowStatus::kDoesNotFit;
    row.reason = GibOf(*row.memory) + " a device of " + GibOf(*row.memory_limit);
    if (!play_all) return look;
  }
  if (const auto refusal = RefuseToFold(scenario, stages, memory_limit)) {
    row.status = RowStatus::kTooLarge;
    row.reason = refusal->message;
    return look;
  }
  // Of all ranks: what folding leaves takes about as long to find as to play.
  look.bytes = std::min(EstimateOf(scenario, stages).memory_bytes, memory_limit);
  look.scenario = *std::move(loaded.scenario);
  return look;
}

std::optional<Row> PlayLook(const Look& look, double memory_limit, const std::function<bool()>& go_on) {
  const auto ask = [&](const RunProgress&) { return !go_on || go_on(); };
  const sim::Result<RunResult> run = Run(*look.scenario, {.memory_limit = memory_limit, .go_on = ask});
  Row row = look.row;
  if (!run.ok()) {
    row.status = IsTooLarge(*look.scenario, memory_limit) ? RowStatus::kTooLarge : RowStatus::kNotPlayable;
    row.reason = run.error().message;
    return row;
  }
  if (run.value().interruption) return std::nullopt;
  TakeReport(run.value().report, &row);
  return row;
}

}  // namespace scenarios
