// orrery run: one scenario, played event by event and reported.

#include <cerrno>
#include <cstdlib>
#include <ostream>

#include "scenarios/catalogue.h"
#include "scenarios/output/chrome_trace.h"
#include "scenarios/output/output_file.h"
#include "scenarios/output/report_json.h"
#include "scenarios/output/report_text.h"
#include "scenarios/run.h"
#include "tools/commands.h"

namespace tools {
namespace {

using scenarios::Dimension;

// Above this many tasks a trace shows one pipeline instead of every rank.
constexpr std::uint64_t kTasksToTrace = 300'000;

int Fail(const std::string& message, std::ostream& err) {
  err << "orrery: error: " << message << '\n';
  return kExitUsage;
}

// "0,8,16-23" as ranks below `ranks`.
sim::Result<std::vector<sim::Rank>> ParseRanks(const std::string& text, std::int64_t ranks) {
  const sim::Error error{"--trace-ranks " + text + ": give ranks from 0 to " + std::to_string(ranks - 1) +
                         ", as in 0,8,16-23"};
  std::vector<sim::Rank> list;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    const std::size_t dash = item.find('-');
    const std::string first = item.substr(0, dash);
    const std::string last = dash == std::string::npos ? first : item.substr(dash + 1);
    for (const std::string& number : {first, last}) {
      if (number.empty() || number.size() > 9 ||
          number.find_first_not_of("0123456789") != std::string::npos) {
        return error;
      }
    }
    const std::int64_t from = std::atoll(first.c_str()), to = std::atoll(last.c_str());
    if (from > to || to >= ranks) return error;
    for (std::int64_t r = from; r <= to; ++r) list.emplace_back(static_cast<std::uint32_t>(r));
    at = comma + 1;
  }
  return list;
}

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

// Writes the trace and says where it is. Returns the exit status.
int WriteTrace(const Arguments& arguments, const scenarios::Scenario& scenario,
               const scenarios::RunResult& run, std::ostream& err) {
  scenarios::TraceOptions options{.path = arguments.value("trace"),
                                  .ranks = {},
                                  .counters = {},
                                  .arguments = arguments.has("trace-args")};
  options.counters = CountersOf(scenario.fabric);
  if (arguments.has("trace-ranks")) {
    auto ranks = ParseRanks(arguments.value("trace-ranks"), scenario.layout.ranks());
    if (!ranks.ok()) return Fail(ranks.error().message, err);
    options.ranks = std::move(ranks).value();
  } else if (run.report.tasks > kTasksToTrace) {
    options.ranks = scenario.layout.Group(sim::Rank(std::uint32_t{0}), Dimension::kPipeline);
  }
  const auto summary = scenarios::WriteChromeTrace(run.steps.program, run.timeline, options);
  if (!summary.ok()) return Fail(summary.error().message, err);
  for (const std::string& warning : summary.value().warnings) err << "orrery: warning: " << warning << '\n';
  err << "trace: " << options.path << " ("
      << scenarios::CountText(static_cast<std::int64_t>(
             options.ranks.empty() ? static_cast<std::size_t>(scenario.layout.ranks())
                                   : options.ranks.size()))
      << " ranks, " << scenarios::CountText(summary.value().slices)
      << " slices); open it in ui.perfetto.dev, chrome://tracing or speedscope\n";
  return kExitDone;
}

int WriteReport(const std::string& path, const scenarios::Report& report, std::ostream& err) {
  const bool text = path.ends_with(".txt");
  if (!text && !path.ends_with(".json"))
    return Fail("--report " + path + ": a name that ends in .json or .txt", err);
  auto file = scenarios::OutputFile::Create(path);
  if (!file.ok()) return Fail(file.error().message, err);
  scenarios::OutputFile output = std::move(file).value();
  output.Write(text ? scenarios::ReportText(report) : scenarios::ReportJson(report));
  const auto finished = output.Finish();
  return finished.ok() ? kExitDone : Fail(finished.error().message, err);
}

int RunRun(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) return Fail(overrides.error().message, err);
  if (arguments.has("trace-ranks") && !arguments.has("trace")) {
    return Fail("--trace-ranks without --trace; give --trace FILE too", err);
  }
  proto::Diagnostics diagnostics;
  const std::string name =
      arguments.positional.empty() ? std::string(scenarios::kDefaultScenario) : arguments.positional.front();
  const auto scenario = scenarios::LoadScenario(name, overrides.value(), &diagnostics);
  Print(diagnostics, err);
  if (!scenario) return kExitUsage;
  const auto run = scenarios::Run(*scenario, {.log_rates = arguments.has("trace")});
  if (!run.ok()) return Fail(run.error().message, err);
  const scenarios::Report& report = run.value().report;
  if (arguments.has("trace")) {
    if (const int status = WriteTrace(arguments, *scenario, run.value(), err); status != kExitDone)
      return status;
  }
  if (arguments.has("report")) {
    if (const int status = WriteReport(arguments.value("report"), report, err); status != kExitDone)
      return status;
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
       {"report", "FILE", "write the report there too (.json, or .txt)", false},
       {"json", "", "print one JSON document", false}},
      "  orrery run                                       the default scenario\n"
      "  orrery run llama_70b_64xh800_a --trace a.json.gz\n"
      "  orrery run my_job.textproto --set layout.tensor=4 --set layout.pipeline=8\n"
      "  orrery run --json | jq .step_time_s\n",
      RunRun};
}

}  // namespace tools
