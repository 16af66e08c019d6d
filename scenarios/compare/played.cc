#include "scenarios/compare/played.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "scenarios/checkpoint_report.h"
#include "sim/analysis/breakdown.h"
#include "sim/analysis/slow_down.h"

namespace scenarios {
namespace {

using sim::Cause;
using sim::Duration;

Duration TimeOf(const std::vector<TimePart>& breakdown, Cause cause) {
  const std::string_view name = sim::ToText(cause);
  for (const TimePart& part : breakdown) {
    if (part.name == name) return part.time;
  }
  return {};
}

// Classes of tasks that count as `cause` while they run on a compute stream.
Duration SlowDownOf(const std::array<Duration, sim::kTaskClasses>& slowed, Cause cause) {
  Duration sum;
  for (int c = 0; c < sim::kTaskClasses; ++c) {
    if (sim::CauseOf(static_cast<sim::TaskClass>(c)) == cause) sum += slowed[static_cast<std::size_t>(c)];
  }
  return sum;
}

// Compute by class of kernels; what no class has is casts of weights that plans leave out, or a window that
// is not a whole step.
void AddCompute(const std::vector<KernelWork>& kernels, Duration compute, std::vector<StepPart>* parts) {
  for (const KernelClass kernel_class : kKernelClasses) {
    const auto of = std::find_if(kernels.begin(), kernels.end(),
                                 [&](const KernelWork& k) { return k.kernel_class == kernel_class; });
    StepPart part{
        .id = IdOf(kernel_class), .name = ToText(kernel_class), .time = {}, .kernels = kernel_class};
    if (of != kernels.end()) {
      part.time = of->time;
      part.kilo_amount = of->kilo_amount;
    }
    compute = compute - part.time;
    parts->push_back(std::move(part));
  }
  parts->push_back({.id = "other_kernels", .name = "other kernels", .time = compute, .kernels = {}});
}

struct Waited {
  Cause cause;
  const char* id;
  const char* name;
};
constexpr Waited kWaited[] = {
    {Cause::kBubble, "bubble", "bubble: waits for other stages"},
    {Cause::kTensor, "tensor", "exposed tensor communication"},
    {Cause::kContext, "context", "exposed context communication"},
    {Cause::kExpert, "expert", "exposed expert communication"},
    {Cause::kPipeline, "pipeline", "exposed pipeline transfers"},
    {Cause::kData, "data", "exposed data-parallel communication"},
    {Cause::kEmbedding, "embedding", "reduction of the tied table"},
    {Cause::kNorm, "gradient_norm", "gradient norm"},
    {Cause::kHost, "host", "waits for the host's launches"},
    {Cause::kOffload, "offload", "waits for offload"},
    {Cause::kLoad, "loading", "loading"},
    {Cause::kOther, "other", "other"},
};

}  // namespace

sim::Bytes PlayedJob::largest_stage() const {
  sim::Bytes largest;
  for (const StageReport& stage : report.stages) largest = std::max(largest, stage.memory_total);
  return largest;
}

const StageReport& PlayedJob::stage() const {
  return *std::find_if(report.stages.begin(), report.stages.end(),
                       [&](const StageReport& s) { return s.rank == report.breakdown_rank; });
}

PlayedJob ReadPlayed(const Scenario& scenario, RunResult run) {
  PlayedJob played{.report = std::move(run.report), .step = {}, .parts = {}};
  const Report& report = played.report;
  const sim::Rank rank(report.breakdown_rank);
  const sim::StepTimes times = SteadySteps(scenario, run.steps.program, run.timeline);
  const auto slowed = sim::SlowDownOf(run.steps.program, run.timeline, rank, times.WindowOf(rank));
  const auto alone = [&](Cause cause) { return TimeOf(report.breakdown, cause) - SlowDownOf(slowed, cause); };

  std::vector<StepPart>& parts = played.parts;
  AddCompute(ComputeByClass(scenario, rank), alone(Cause::kCompute), &parts);
  Duration slow_down;
  for (const Cause work : {Cause::kCompute, Cause::kRecompute, Cause::kOptimizer}) {
    slow_down += SlowDownOf(slowed, work);
  }
  parts.push_back(
      {.id = "slow_down", .name = "work slowed down beside communication", .time = slow_down, .kernels = {}});
  parts.push_back({"recomputation", "recomputation", alone(Cause::kRecompute), {}});
  parts.push_back({"optimizer", "optimizer", alone(Cause::kOptimizer), {}});
  for (const Waited& waited : kWaited) {
    parts.push_back({waited.id, waited.name, TimeOf(report.breakdown, waited.cause), {}});
  }
  // The step time is without saves; what they cost a step in the long run comes on top.
  const Duration saves =
      report.checkpoint ? report.checkpoint->effective_step_time - report.step_time : Duration();
  played.step = report.step_time + saves;
  parts.push_back({"checkpoint", "saves", TimeOf(report.breakdown, Cause::kCheckpoint) + saves, {}});
  return played;
}

}  // namespace scenarios
