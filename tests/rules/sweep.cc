#include "tests/rules/sweep.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "scenarios/loader.h"
#include "scenarios/run.h"
#include "sim/base/check.h"

namespace rules {
namespace {

std::optional<scenarios::Scenario> Load(const std::string& name, const Sets& sets, std::string* errors) {
  std::vector<proto::Override> overrides;
  for (const auto& [path, value] : sets) {
    overrides.push_back({static_cast<int>(overrides.size()) + 1, path, value});
  }
  proto::Diagnostics diagnostics;
  std::optional<scenarios::Scenario> scenario = scenarios::LoadScenario(name, overrides, &diagnostics);
  for (const std::string& error : diagnostics.errors()) *errors += error + '\n';
  return scenario;
}

}  // namespace

Sets operator+(Sets a, const Sets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

scenarios::Report Simulate(const std::string& scenario, const Sets& sets) {
  std::string errors;
  // Two steps give the period, where the sweep does not ask for more.
  const bool counted =
      std::any_of(sets.begin(), sets.end(), [](const auto& set) { return set.first == "steps"; });
  const std::optional<scenarios::Scenario> loaded =
      Load(scenario, counted ? sets : sets + Sets{{"steps", "2"}}, &errors);
  if (!loaded) std::fprintf(stderr, "%s", errors.c_str());
  CHECK(loaded.has_value());
  return scenarios::Run(*loaded).value().report;
}

std::string RefusalOf(const std::string& scenario, const Sets& sets) {
  std::string errors;
  Load(scenario, sets, &errors);
  return errors;
}

double SecondsOf(const scenarios::Report& report, const std::string& cause) {
  for (const scenarios::TimePart& part : report.breakdown) {
    if (part.name == cause) return part.time.seconds();
  }
  return 0;
}

double WaitingOf(const scenarios::Report& report) {
  double waiting = 0;
  for (const char* cause :
       {"tensor", "context", "expert", "pipeline", "data", "embedding", "gradient norm"}) {
    waiting += SecondsOf(report, cause);
  }
  return waiting;
}

double ShareWaiting(const scenarios::Report& report) {
  return WaitingOf(report) / report.step_time.seconds();
}

double MemoryOf(const scenarios::Report& report) {
  double most = 0;
  for (const scenarios::StageReport& stage : report.stages) {
    most = std::max(most, static_cast<double>(stage.memory_total.count()));
  }
  return most;
}

double MemoryOf(const scenarios::Report& report, const std::string& name) {
  double most = 0;
  for (const scenarios::StageReport& stage : report.stages) {
    for (const scenarios::BytePart& part : stage.memory) {
      if (part.name == name) most = std::max(most, static_cast<double>(part.bytes.count()));
    }
  }
  return most;
}

std::string Number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  std::string out = text;
  const std::size_t whole = std::min(out.find('.'), out.size());
  for (std::size_t i = whole; i > 3 + (out[0] == '-' ? 1u : 0u);) out.insert(i -= 3, 1, ',');
  return out;
}

std::string Count(std::int64_t value) { return Number(static_cast<double>(value)); }
std::string Percent(double part, int decimals) { return Number(100 * part, decimals) + " %"; }
std::string Milliseconds(double seconds, int decimals) { return Number(1e3 * seconds, decimals); }
char Answer(bool holds) { return holds ? 'y' : 'n'; }

}  // namespace rules
