#include "tools/outputs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tools {
namespace {

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
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

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
    outputs.trace = {.path = trace, .ranks = {}, .counters = {}, .arguments = arguments.has("trace-args")};
    if (arguments.has("trace-ranks")) {
      auto ranks = ParseRanks(arguments.value("trace-ranks"), scenario.layout.ranks());
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
