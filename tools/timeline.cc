// orrery timeline: what a run did and when, as a file for a viewer.

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "scenarios/catalogue.h"
#include "scenarios/output/chrome_trace.h"
#include "scenarios/output/interruption.h"
#include "scenarios/output/kineto_trace.h"
#include "scenarios/output/perfetto_trace.h"
#include "scenarios/output/report_text.h"
#include "scenarios/output/speedscope_trace.h"
#include "scenarios/output/timeline_svg.h"
#include "scenarios/run.h"
#include "sim/analysis/step.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/link_counters.h"
#include "tools/load_job.h"
#include "tools/memory_limit.h"
#include "tools/progress.h"
#include "tools/timeline_request.h"

namespace tools {
namespace {

// Above this many tasks a timeline shows one pipeline unless ranks are chosen.
constexpr std::uint64_t kTasksToShow = 300'000;

const char* ViewersOf(TimelineFormat format) {
  switch (format) {
    case TimelineFormat::kChrome:
      return "ui.perfetto.dev, chrome://tracing or speedscope";
    case TimelineFormat::kPerfetto:
      return "ui.perfetto.dev or trace_processor";
    case TimelineFormat::kSpeedscope:
      return "speedscope";
    case TimelineFormat::kSvg:
      return "a browser";
    case TimelineFormat::kKineto:
      return "HolisticTraceAnalysis or ui.perfetto.dev";
  }
  return "";
}

// The first rank of each script: ranks of one script have the same tasks, at other times maybe. Of a folded
// run, the ranks that are played.
std::vector<sim::Rank> KindsOf(const sim::Program& program) {
  std::vector<sim::Rank> ranks;
  for (std::uint32_t r = 0; r < program.plays_for.size(); ++r) {
    if (program.plays_for[r] > 0) ranks.emplace_back(r);
  }
  if (!ranks.empty()) return ranks;
  for (const sim::Script& script : program.scripts) ranks.push_back(program.rank_of({&script, 0, 0}));
  return ranks;
}

std::vector<sim::Rank> RanksOf(const TimelineRequest& request, const scenarios::Scenario& scenario,
                               const sim::Program& program) {
  switch (request.choice) {
    case RankChoice::kListed:
    case RankChoice::kStages:
      return request.ranks;
    case RankChoice::kAll:
      return {};
    case RankChoice::kKinds:
      return KindsOf(program);
    case RankChoice::kFew:
      if (program.tasks() <= kTasksToShow && request.format != TimelineFormat::kSvg) return {};
      return scenario.layout.Group(sim::Rank(std::uint32_t{0}), scenarios::Dimension::kPipeline);
  }
  return {};
}

// One step more than is asked for: HolisticTraceAnalysis leaves the last one out.
std::optional<scenarios::StepRange> KinetoSteps(const TimelineRequest& request) {
  if (!request.steps) return std::nullopt;
  return scenarios::StepRange{request.steps->first, request.steps->second + 1};
}

// The scenario with as many steps as that takes.
sim::Result<scenarios::Scenario> WithSteps(const TimelineRequest& request, const Job& job) {
  if (request.format != TimelineFormat::kKineto || request.window) return job.scenario;
  const std::int64_t asked = request.steps ? request.steps->second + 1 : job.scenario.steps;
  if (asked < job.scenario.steps) return job.scenario;
  return job.reload({"steps=" + std::to_string(asked + 1)});
}

// Of the run's clock. Steps end for the whole job when the last rank ends them.
sim::Result<std::optional<sim::Interval>> WindowOf(const TimelineRequest& request,
                                                   const scenarios::RunResult& run) {
  if (request.format == TimelineFormat::kKineto && request.steps) return std::optional<sim::Interval>();
  if (request.steps) {
    const std::vector<sim::Time> end = sim::FindSteps(run.steps.program, run.timeline).end;
    const auto [first, last] = *request.steps;
    return std::optional(
        sim::Interval{first == 0 ? sim::Time::Start() : end[static_cast<std::size_t>(first - 1)],
                      end[static_cast<std::size_t>(last)]});
  }
  if (request.window && request.window->from >= run.timeline.finish) {
    return sim::Error{"--window: the run ends at " +
                      std::to_string(run.timeline.finish.since_start().seconds()) + " s, before it begins"};
  }
  return request.window;
}

sim::Result<scenarios::TraceSummary> WriteFile(const TimelineRequest& request,
                                               const scenarios::Scenario& scenario,
                                               const scenarios::RunResult& run,
                                               const scenarios::TraceOptions& options) {
  const sim::Program& program = run.steps.program;
  switch (request.format) {
    case TimelineFormat::kChrome:
      return scenarios::WriteChromeTrace(program, run.timeline, options);
    case TimelineFormat::kPerfetto:
      return scenarios::WritePerfettoTrace(program, run.timeline, options);
    case TimelineFormat::kSpeedscope:
      return scenarios::WriteSpeedscopeTrace(program, run.timeline, options);
    case TimelineFormat::kSvg:
      return scenarios::WriteTimelineSvg(program, run.timeline, scenario.name, options);
    case TimelineFormat::kKineto:
      return scenarios::WriteKinetoTraces(scenario, run.steps, run.timeline, options, KinetoSteps(request));
  }
  return sim::Error{"no such format"};
}

// A page of text or one document; nothing of it depends on the machine.
std::string Answer(const TimelineRequest& request, const scenarios::RunResult& run,
                   const scenarios::TraceOptions& options, const scenarios::TraceSummary& summary,
                   bool json) {
  const std::int64_t ranks =
      options.ranks.empty() ? run.steps.program.ranks : static_cast<std::int64_t>(options.ranks.size());
  if (json) {
    nlohmann::ordered_json document = {{"version", 1},
                                       {"file", request.path},
                                       {"ranks", ranks},
                                       {"ranks_of_job", run.steps.program.ranks},
                                       {"slices", summary.slices},
                                       {"instants", summary.instants},
                                       {"arrows", summary.arrows},
                                       {"counter_values", summary.counter_values},
                                       {"bytes", summary.bytes},
                                       {"digest", run.timeline.digest},
                                       {"warnings", summary.warnings}};
    return document.dump(2) + '\n';
  }
  using scenarios::CountText;
  return request.path + ": " + CountText(ranks) + " of " + CountText(run.steps.program.ranks) + " ranks, " +
         CountText(summary.slices) + " slices, " + CountText(summary.arrows) + " arrows, " +
         CountText(summary.counter_values) + " values of link load; open it in " + ViewersOf(request.format) +
         '\n';
}

// Files, what is on standard output, and the exit status.
int Show(const TimelineRequest& request, const scenarios::Scenario& scenario, const scenarios::RunResult& run,
         scenarios::TraceOptions options, const InterruptWatch& watch, const Arguments& arguments,
         std::ostream& out, std::ostream& err) {
  const auto window = WindowOf(request, run);
  if (!window.ok()) return Fail(window.error().message, err);
  options.window = window.value();
  options.ranks = RanksOf(request, scenario, run.steps.program);
  const auto summary = WriteFile(request, scenario, run, options);
  if (!summary.ok()) {
    Fail(summary.error().message, err);
    return watch.interrupted() ? kExitInterrupted : kExitUsage;
  }
  for (const std::string& warning : summary.value().warnings) err << "orrery: warning: " << warning << '\n';
  out << Answer(request, run, options, summary.value(), arguments.has("json"));
  if (summary.value().slices > 0) return kExitDone;
  err << "orrery: no slice is left: none of these ranks and streams, in this time, is as long as that\n";
  return kExitNo;
}

ProgressLine::Style StyleOfProgress(const Arguments& arguments, const std::ostream& err) {
  if (arguments.has("quiet")) return ProgressLine::Style::kNone;
  if (&err == &std::cerr && isatty(STDERR_FILENO) != 0) return ProgressLine::Style::kInPlace;
  return arguments.has("progress") ? ProgressLine::Style::kLines : ProgressLine::Style::kNone;
}

int RunTimeline(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) return Fail(overrides.error().message, err);
  const std::string name =
      arguments.positional.empty() ? std::string(scenarios::kDefaultScenario) : arguments.positional.front();
  const std::optional<Job> job = LoadJob(name, overrides.value(), err);
  if (!job) return kExitUsage;
  std::vector<std::string> errors;
  const auto request = ReadTimelineRequest(arguments, job->scenario, &errors);
  for (const std::string& error : errors) Fail(error, err);
  if (!request) return kExitUsage;
  if (request->format != TimelineFormat::kKineto) {
    if (const auto fault = scenarios::OutputFile::WhyNot(request->path)) return Fail(fault->message, err);
  }
  const auto reloaded = WithSteps(*request, *job);
  if (!reloaded.ok()) return Fail(reloaded.error().message, err);
  const scenarios::Scenario& scenario = reloaded.value();

  scenarios::TraceOptions options{.path = request->path,
                                  .streams = request->streams,
                                  .shortest = request->shortest,
                                  .arguments = request->arguments};
  // One rank of each kind is what a folded run has, which has no rates of links.
  const bool fold = request->choice == RankChoice::kKinds;
  const bool has_counters =
      request->format == TimelineFormat::kChrome || request->format == TimelineFormat::kPerfetto;
  if (!fold && has_counters) options.counters = LinkCounters(scenario, err);
  const InterruptWatch watch;
  options.go_on = [&watch] { return !watch.interrupted(); };
  auto played = [&] {
    ProgressLine line(err, StyleOfProgress(arguments, err));
    return scenarios::Run(scenario, {.log_rates = !options.counters.empty(),
                                     .fold = fold,
                                     .memory_limit = MemoryForARun(),
                                     .go_on = [&](const scenarios::RunProgress& progress) {
                                       line.Show(progress);
                                       return !watch.interrupted();
                                     }});
  }();
  if (!played.ok()) return Fail(played.error().message, err);
  const scenarios::RunResult run = std::move(played).value();
  if (run.interruption) {
    err << "orrery: interrupted; nothing was written\n";
    return kExitInterrupted;
  }
  return Show(*request, scenario, run, options, watch, arguments, out, err);
}

}  // namespace

Command TimelineCommand() {
  return {
      "timeline",
      "Writes when each rank did what, for viewers and tools of real traces.",
      "[SCENARIO] -o FILE [--set PATH=VALUE]... [OPTION]...",
      1,
      {{"output", "FILE", ".json, .pftrace, .speedscope.json or .svg; .gz after it compresses", false, 'o'},
       {"format", "NAME", "chrome, perfetto, speedscope or svg, where the name does not say", false},
       {"like", "kineto", "as PyTorch's profiler: a file a rank into folder FILE, or rank_{rank}.json",
        false},
       {"ranks", "LIST", "0,8,16-23; all; stages: one of each; kinds: one of each that does the same", false},
       {"steps", "LIST", "1 or 1-2, from 0; what reaches into them, whole", false},
       {"window", "FROM..TO", "1.2s..1.5s: what reaches into that time, whole", false},
       {"streams", "LIST", "compute,tensor,data,...", false},
       {"min", "TIME", "leave out what is shorter: 10us", false},
       {"args", "", "micro-batch and layer of each slice (chrome)", false},
       {"set", "PATH=VALUE", "change a field of the scenario", true},
       {"json", "", "print one JSON document about the file", false},
       {"progress", "", "tell how far it is, also when standard error is no terminal", false},
       {"quiet", "", "tell nothing but mistakes and warnings", false}},
      "  orrery timeline llama_70b_64xh800_a -o step.pftrace --steps 1 --ranks stages\n"
      "  orrery timeline llama_70b_64xh800_a -o a.json.gz --streams compute,data --min 10us\n"
      "  orrery timeline llama3_8b_8xh100 -o traces --like kineto --steps 1\n"
      "  docs/timelines.md says which tool opens what.\n",
      RunTimeline};
}

}  // namespace tools
