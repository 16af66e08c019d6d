#include "tools/outputs.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/rank_list.h"

namespace tools {
namespace {

using scenarios::IsSameFile;
using scenarios::OutputFile;

// A device or pipe may have any name.
bool IsNoFile(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_other(std::filesystem::status(path, none)) || path.starts_with("/dev/");
}

std::optional<sim::Error> FaultOfName(const std::string& flag, const std::string& path,
                                      const std::vector<std::string>& endings, const std::string& wanted) {
  const std::string given = "--" + flag + ' ' + path;
  if (path.empty() || path == "-") return sim::Error{given + ": the name of a file is wanted"};
  if (IsNoFile(path)) return std::nullopt;
  for (const std::string& ending : endings) {
    if (path.ends_with(ending)) return std::nullopt;
  }
  return sim::Error{given + ": a name that ends in " + wanted + " is wanted"};
}

std::optional<sim::Error> FaultOfNames(const Arguments& arguments, const scenarios::Scenario& scenario) {
  const std::string trace = arguments.value("trace"), report = arguments.value("report");
  if (arguments.has("trace")) {
    if (const auto fault = FaultOfName("trace", trace, {".json", ".json.gz"}, ".json or .json.gz"))
      return fault;
  }
  if (arguments.has("report")) {
    if (const auto fault = FaultOfName("report", report, {".json", ".txt"}, ".json or .txt")) return fault;
  }
  for (const std::string& output : {trace, report}) {
    for (const std::string& input : {scenario.file, scenario.device.file}) {
      if (output.empty() || input.empty() || IsNoFile(output) || !IsSameFile(output, input)) continue;
      return sim::Error{output + " is the file that was read; another name is wanted"};
    }
  }
  if (!trace.empty() && !report.empty() && !IsNoFile(trace) && IsSameFile(trace, report)) {
    return sim::Error{"--trace and --report both write " + report + "; two names are wanted"};
  }
  return std::nullopt;
}

}  // namespace

sim::Result<Outputs> PrepareOutputs(const Arguments& arguments, const scenarios::Scenario& scenario) {
  if (const auto fault = FaultOfNames(arguments, scenario)) return *fault;
  const std::string trace = arguments.value("trace"), report = arguments.value("report");
  Outputs outputs;
  if (arguments.has("trace-ranks") && !arguments.has("trace")) {
    return sim::Error{"--trace-ranks without --trace; give --trace FILE too"};
  }
  if (arguments.has("trace")) {
    outputs.trace = {.path = trace, .arguments = arguments.has("trace-args")};
    if (arguments.has("trace-ranks")) {
      auto ranks = ParseRanks("--trace-ranks", arguments.value("trace-ranks"), scenario.layout.ranks());
      if (!ranks.ok()) return ranks.error();
      outputs.trace->ranks = std::move(ranks).value();
    }
    if (const auto fault = OutputFile::WhyNot(trace)) return *fault;
  }
  if (arguments.has("report")) {
    outputs.report_as_text = report.ends_with(".txt");
    auto file = OutputFile::Create(report);
    if (!file.ok()) return file.error();
    outputs.report.emplace(std::move(file).value());
  }
  return outputs;
}

}  // namespace tools
