#include "scenarios/output/plan_output.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "scenarios/output/budget_output.h"
#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

std::string Padded(const std::string& text, std::size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

std::string Digits(double value, const char* format) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Days of the run where its steps take so long.
double DaysAt(const DevicePlan& plan, double step_s) { return plan.days * step_s / plan.step_s; }

std::string Row(const DevicePlan& plan, const Candidate& c, const std::string& simulated) {
  return "  " + Padded(ToText(c.layout, c.shape.data), 66) + Digits(static_cast<double>(c.shape.devices), "%7.0f") +
         Digits(static_cast<double>(c.memory.count()) * 1e-9, "%8.1f") +
         Digits(c.hand.step_s(), "%9.3f") + simulated + '\n' + (plan.best ? "" : "");
}

// The best that were played, then what is best by hand where it is not among them.
std::string Layouts(const DevicePlan& plan) {
  constexpr std::size_t kRows = 6;
  if (!plan.best) return "";
  std::string out = "\n  layouts" + std::string(59, ' ') + "devices   GB by hand s simulated s days  MFU\n";
  const auto& played = plan.search.played;
  for (std::size_t i = 0; i < std::min(kRows, played.size()); ++i) {
    const Played& p = played[i];
    const double days = p.candidate.shape.devices == plan.best->candidate.shape.devices &&
                                p.candidate.shape.global_batch == plan.best->candidate.shape.global_batch
                            ? DaysAt(plan, p.step_s())
                            : DaysAt(plan, p.step_s()) *
                                  static_cast<double>(plan.best->candidate.shape.global_batch) /
                                  static_cast<double>(p.candidate.shape.global_batch);
    out += Row(plan, p.candidate,
               Digits(p.step_s(), "%9.3f") + Digits(days, "%7.1f") + Digits(100 * p.report.mfu, "%5.1f"));
  }
  return out;
}

std::string Steps(const DevicePlan& plan) {
  std::string out;
  for (const PlanStep& step : plan.steps) {
    out += Digits(step.number, "%2.0f") + " " + step.title + (step.binds ? "   <- decides" : "") + '\n';
    for (const BudgetLine& line : step.lines) {
      out += "   " + Padded(line.name, 32) + Padded(FigureText(line), 16) + line.formula +
             (line.inputs.empty() ? "" : "; " + line.inputs) + '\n';
    }
    if (!step.reasoning.empty()) out += "   " + step.reasoning + '\n';
  }
  return out;
}

std::string TextOf(const DevicePlan& plan) {
  std::string out = plan.device.name + (plan.feasible ? ": holds\n" : ": does not hold\n");
  out += Steps(plan);
  out += Layouts(plan);
  for (const std::string& gives : plan.gives) out += "  " + gives + '\n';
  return out;
}

}  // namespace

std::string PlanText(const Plan& plan) {
  std::string out = plan.model + "\n\n";
  for (const DevicePlan& p : plan.plans) out += TextOf(p) + '\n';
  return out;
}

std::string PlanJson(const Plan& plan) {
  Json json = {{"schema_version", 1}, {"model", plan.model}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace scenarios
