// Whatever a scenario says: it is refused with messages that fit a line, or what
// it plans is finite, and, when it is small, it runs and its report adds up.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "hardware/device_cost_model.h"
#include "proto/scenario.pb.h"
#include "proto/text_reader.h"
#include "scenarios/estimate.h"
#include "scenarios/loader.h"
#include "scenarios/output/report_json.h"
#include "scenarios/output/report_text.h"
#include "scenarios/run.h"
#include "sim/base/check.h"

namespace {

constexpr std::int64_t kMostDevices = 256;  // a fabric of a million takes seconds
constexpr double kMostTasks = 5'000;

bool IsLarge(const std::string& text) {
  orrery::config::Scenario scenario;
  proto::Document document;
  proto::Diagnostics diagnostics;
  proto::Read("a.textproto", text, {}, &scenario, &document, &diagnostics);
  return scenario.devices() > kMostDevices;
}

void CheckLines(const std::string& text) {
  CHECK(!text.empty());
  for (const char c : text) CHECK(c == '\n' || static_cast<unsigned char>(c) >= ' ');
}

void CheckReport(const scenarios::Report& report) {
  const std::string json = scenarios::ReportJson(report);
  CHECK(nlohmann::json::accept(json));  // which knows no NaN and no infinity
  sim::Duration sum;
  for (const scenarios::TimePart& part : report.breakdown) sum += part.time;
  CHECK(sum == report.step_time);
  CHECK(report.step_time > sim::Duration() && std::isfinite(report.mfu));
  CheckLines(scenarios::ReportText(report));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (IsLarge(text)) return 0;
  proto::Diagnostics diagnostics;
  const auto scenario = scenarios::LoadScenarioText("fuzz.textproto", text, {}, &diagnostics);
  CHECK(scenario.has_value() == diagnostics.ok());
  if (!scenario) return 0;
  const hardware::DeviceCostModel cost(scenario->device);
  const auto stages = scenarios::PlanStages(*scenario, cost);
  const scenarios::Estimate estimate = scenarios::EstimateOf(*scenario, stages);
  CHECK(std::isfinite(estimate.tasks) && std::isfinite(estimate.memory_bytes));
  if (estimate.tasks > kMostTasks) return 0;
  const auto result = scenarios::Run(*scenario);
  if (!result.ok()) {
    CheckLines(result.error().message);
    return 0;
  }
  CheckReport(result.value().report);
  return 0;
}
