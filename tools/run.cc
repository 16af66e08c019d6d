// orrery run: one scenario, played event by event and reported.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <ostream>

#include "scenarios/catalogue.h"
#include "scenarios/collective_use.h"
#include "scenarios/estimate.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/kernel_use.h"
#include "scenarios/output/chrome_trace.h"
#include "scenarios/output/interruption.h"
#include "scenarios/output/report_json.h"
#include "scenarios/output/report_text.h"
#include "scenarios/run.h"
#include "scenarios/verdict/verdict.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/load_job.h"
#include "tools/memory_limit.h"
#include "tools/outputs.h"
#include "tools/progress.h"

namespace tools {
namespace {

using scenarios::Dimension;

// Above this many tasks a trace shows one pipeline instead of every rank.
constexpr std::uint64_t kTasksToTrace = 300'000;
// Above this many it has no graphs of link load: they need the rates of all
// flows, which would take as much memory again as the run.
constexpr double kTasksToGraph = 20e6;

// One graph a tier of links.
std::vector<scenarios::TraceCounter> CountersOf(const topologies::Fabric& fabric) {
  std::vector<scenarios::TraceCounter> counters;
  for (int t = 0; t < topologies::kTierCount; ++t) {
    scenarios::TraceCounter counter{.name = topologies::ToText(static_cast<topologies::Tier>(t)),
                                    .links = {}};
    for (std::size_t l = 0; l < fabric.links.size(); ++l) {
      if (fabric.links[l].tier == static_cast<topologies::Tier>(t)) counter.links.emplace_back(l);
    }
    if (!counter.links.empty()) counters.push_back(std::move(counter));
  }
  return counters;
}

void AddCounters(const scenarios::Scenario& scenario, scenarios::TraceOptions* trace, std::ostream& err) {
  const hardware::DeviceCostModel cost = scenarios::CostModelOf(scenario);
  const double tasks = scenarios::EstimateOf(scenario, scenarios::PlanStages(scenario, cost)).tasks;
  if (tasks <= kTasksToGraph) {
    trace->counters = CountersOf(scenario.fabric);
  } else {
    err << "orrery: warning: the trace has no graphs of link load, for which there are too many tasks\n";
  }
}

// Writes the trace and says where it is. Returns the exit status.
int WriteTrace(const scenarios::Scenario& scenario, const scenarios::RunResult& run,
               scenarios::TraceOptions options, const InterruptWatch& watch, bool quiet, std::ostream& err) {
  if (options.ranks.empty() && run.report.tasks > kTasksToTrace) {
    options.ranks = scenario.layout.Group(sim::Rank(std::uint32_t{0}), Dimension::kPipeline);
  }
  options.go_on = [&watch] { return !watch.interrupted(); };
  const auto summary = scenarios::WriteChromeTrace(run.steps.program, run.timeline, options);
  if (!summary.ok()) {
    Fail(summary.error().message, err);
    return watch.interrupted() ? kExitInterrupted : kExitUsage;
  }
  for (const std::string& warning : summary.value().warnings) err << "orrery: warning: " << warning << '\n';
  if (quiet) return kExitDone;
  const auto all = static_cast<std::size_t>(scenario.layout.ranks());
  const std::size_t shown = options.ranks.empty() ? all : options.ranks.size();
  err << "trace: " << options.path << " (" << scenarios::CountText(static_cast<std::int64_t>(shown)) << " of "
      << scenarios::CountText(scenario.layout.ranks()) << " ranks, "
      << scenarios::CountText(summary.value().slices)
      << " slices); open it in ui.perfetto.dev, chrome://tracing or speedscope\n";
  return kExitDone;
}

ProgressLine::Style StyleOf(const Arguments& arguments, const std::ostream& err) {
  if (arguments.has("quiet")) return ProgressLine::Style::kNone;
  if (&err == &std::cerr && isatty(STDERR_FILENO) != 0) return ProgressLine::Style::kInPlace;
  return arguments.has("progress") ? ProgressLine::Style::kLines : ProgressLine::Style::kNone;
}

// Builds, simulates and reads, with progress, until Ctrl-C.
sim::Result<scenarios::RunResult> Play(const scenarios::Scenario& scenario, const Arguments& arguments,
                                       const Outputs& outputs, const InterruptWatch& watch,
                                       std::ostream& err) {
  ProgressLine line(err, StyleOf(arguments, err));
  return scenarios::Run(scenario, {.log_rates = outputs.trace.has_value() && !outputs.trace->counters.empty(),
                                   .fold = !outputs.trace.has_value() && !arguments.has("all-ranks"),
                                   .memory_limit = MemoryForARun(),
                                   .go_on = [&](const scenarios::RunProgress& progress) {
                                     line.Show(progress);
                                     return !watch.interrupted();
                                   }});
}

int RunRun(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) return Fail(overrides.error().message, err);
  const std::string name =
      arguments.positional.empty() ? std::string(scenarios::kDefaultScenario) : arguments.positional.front();
  const std::optional<Job> job = LoadJob(name, overrides.value(), err);
  if (!job) return kExitUsage;
  const scenarios::Scenario& scenario = job->scenario;
  sim::Result<Outputs> prepared = PrepareOutputs(arguments, scenario);
  if (!prepared.ok()) return Fail(prepared.error().message, err);
  Outputs outputs = std::move(prepared).value();
  if (outputs.trace) AddCounters(scenario, &*outputs.trace, err);
  const InterruptWatch watch;
  auto played = Play(scenario, arguments, outputs, watch, err);
  if (!played.ok()) return Fail(played.error().message, err);
  scenarios::RunResult run = std::move(played).value();
  if (const auto& interruption = run.interruption) {
    out << (arguments.has("json") ? scenarios::InterruptionJson(*interruption)
                                  : scenarios::InterruptionText(*interruption));
    return kExitInterrupted;
  }
  scenarios::Report& report = run.report;
  report.nccl_version = sim::ToText(scenario.device.nccl.version);
  report.collectives = scenarios::CollectivesOf(scenario, run.steps, sim::Rank(report.breakdown_rank));
  report.kernels = scenarios::KernelsOf(scenario, sim::Rank(report.breakdown_rank));
  report.verdict = scenarios::MakeVerdict(scenario, report, job->reload);
  if (outputs.report) {
    outputs.report->Write(outputs.report_as_text ? scenarios::ReportText(report)
                                                 : scenarios::ReportJson(report));
  }
  if (outputs.trace) {
    const int status = WriteTrace(scenario, run, *outputs.trace, watch, arguments.has("quiet"), err);
    if (status != kExitDone) return status;
  }
  if (outputs.report) {
    if (const auto finished = outputs.report->Finish(); !finished.ok())
      return Fail(finished.error().message, err);
  }
  out << (arguments.has("json") ? scenarios::ReportJson(report) : scenarios::ReportText(report));
  if (report.fits) return kExitDone;
  err << "orrery: the job does not fit into the memory of its devices\n";
  return kExitNo;
}

}  // namespace

Command RunCommand() {
  return {
      "run",
      "Plays a training step and says how long it takes, why, and what it holds.",
      "[SCENARIO] [--set PATH=VALUE]... [--trace FILE] [--report FILE] [--json]",
      1,
      {{"set", "PATH=VALUE", "change a field: layout.tensor=8, model.layers=40, hardware.node.nics=4", true},
       {"trace", "FILE", "write a Chrome trace (.json, or .json.gz compressed)", false},
       {"trace-ranks", "LIST", "ranks to show in it: 0,8,16-23", false},
       {"trace-args", "", "write micro-batch and layer with each slice", false},
       {"report", "FILE", "write the report there too (.json, or .txt)", false},
       {"json", "", "print one JSON document", false},
       {"all-ranks", "", "play each rank, not one of those that do the same; the result is the same", false},
       {"progress", "", "tell how far it is, also when standard error is no terminal", false},
       {"quiet", "", "tell nothing but mistakes and warnings", false}},
      "  SCENARIO is a name of `orrery list scenarios`, a file, or - for standard input.\n"
      "  orrery run                                       the default scenario\n"
      "  orrery run llama_70b_64xh800_a --trace a.json.gz\n"
      "  orrery run my_job.textproto --set layout.tensor=4 --set layout.pipeline=8\n"
      "  orrery run --json | jq .step_time_s\n",
      RunRun};
}

}  // namespace tools
