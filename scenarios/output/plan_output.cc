#include "scenarios/output/plan_output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "scenarios/output/bill_output.h"
#include "scenarios/output/figure_table.h"
#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

std::string Formatted(double value, const char* format) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Usd(const std::optional<double>& usd) {
  if (!usd) return "no price";
  return (*usd >= 100 && *usd < 1e15 ? CountText(std::llround(*usd)) : Formatted(*usd, "%.4g")) + " USD";
}

// "576 h800_sxm for 28.66 days, 792,311 USD, MFU 59.6 % simulated, 47.7 % to expect: holds".
std::string Headline(const DevicePlan& plan, double longer) {
  std::string out = plan.device.name;
  if (plan.best() != nullptr) {
    out = CountText(plan.best()->candidate.shape.devices) + ' ' + out + " for " +
          Formatted(plan.outcome()->days, "%.4g") + " days, " + Usd(plan.outcome()->usd) + ", MFU " +
          Formatted(100 * plan.best()->report.mfu, "%.1f") + " % simulated, " +
          Formatted(100 * plan.best()->report.mfu / (1 + longer), "%.1f") + " % to expect";
  }
  return out + (plan.feasible ? ": holds\n" : ": does not hold\n");
}

std::string StepsText(const DevicePlan& plan) {
  std::string out;
  for (const PlanStep& step : plan.steps) {
    out +=
        '\n' + Formatted(step.number, "%2.0f") + ' ' + step.title + (step.binds ? "   <- decides\n" : "\n");
    for (const BudgetLine& line : step.lines) out += FigureLine(line);
    if (!step.reasoning.empty()) out += Sentence(step.reasoning, 2);
  }
  return out;
}

std::string Column(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 1, ' ') + text;
}
std::string Column(std::int64_t n, std::size_t width) { return Column(std::to_string(n), width); }

const char* AgainText(Recompute recompute) {
  return recompute == Recompute::kFull ? "all" : recompute == Recompute::kSelective ? "core" : "-";
}

std::string ExpertsText(const LayoutChoice& l) {
  std::string text = std::to_string(l.expert);
  if (l.expert_tensor > 1) text += "x" + std::to_string(l.expert_tensor);
  return text;
}

// The best that were played; by hand beside it, and its place among all that fit by hand.
std::string LayoutsText(const DevicePlan& plan) {
  constexpr std::size_t kRows = 6;
  if (plan.best() == nullptr) return "";
  std::string out =
      "\nlayouts, best first; by hand: seconds, and its place by that among all that fit; MFU as simulated, "
      "days\n"
      "as real steps take\n"
      "  tensor pipe virt data expert ZeRO micro again devices  batch    GB   step s  by hand place   days  "
      "MFU\n";
  for (std::size_t i = 0; i < std::min(kRows, plan.search.played.size()); ++i) {
    const Played& p = plan.search.played[i];
    const Candidate& c = p.candidate;
    const LayoutChoice& l = c.layout;
    const auto& all = plan.search.candidates;
    const auto place =
        std::find_if(all.begin(), all.end(), [&](const Candidate& other) { return other.layout == l; });
    out += Column(l.tensor, 8) + Column(l.pipeline, 5) + Column(l.virtual_stages, 5) +
           Column(c.shape.data, 5) + Column(ExpertsText(l), 7) +
           Column(static_cast<std::int64_t>(l.sharding), 5) + Column(l.micro, 6) +
           Column(AgainText(l.recompute), 6) + Column(c.shape.devices, 8) + Column(c.shape.global_batch, 7) +
           Formatted(static_cast<double>(c.memory.count()) * 1e-9, "%6.1f") + Formatted(p.step_s(), "%9.3f") +
           Formatted(c.hand.step_s(), "%9.3f") + Column(place - all.begin() + 1, 6) +
           Formatted(plan.outcomes[i].days, "%7.1f") + Formatted(100 * p.report.mfu, "%5.1f") + '\n';
  }
  return out;
}

std::string TextOf(const DevicePlan& plan, double longer, bool bill) {
  std::string out = Headline(plan, longer);
  for (const std::string& gives : plan.gives) out += Sentence(gives, 2);
  out += StepsText(plan) + LayoutsText(plan) + AssumptionsText(plan.assumptions);
  if (bill && plan.outcome() != nullptr && plan.outcome()->bill)
    out += '\n' + BillText(*plan.outcome()->bill);
  return out;
}

Json PlayedJson(const DevicePlan& plan, std::size_t i) {
  const Played& p = plan.search.played[i];
  const Candidate& c = p.candidate;
  const PlanOutcome& o = plan.outcomes[i];
  return {{"layout", ToText(c.layout, c.shape.data)},
          {"tensor", c.layout.tensor},
          {"pipeline", c.layout.pipeline},
          {"virtual", c.layout.virtual_stages},
          {"data", c.shape.data},
          {"expert", c.layout.expert},
          {"micro_batch", c.layout.micro},
          {"micro_batches", c.shape.micro_batches},
          {"global_batch", c.shape.global_batch},
          {"devices", c.shape.devices},
          {"devices_played", p.devices},
          {"memory_bytes", c.memory.count()},
          {"least_step_time_s", c.bound_s},
          {"step_time_by_hand_s", c.hand.step_s()},
          {"step_time_s", p.step_s()},
          {"mfu", p.report.mfu},
          {"six_pd_mfu", o.utilisation},
          {"days", o.days},
          {"cost_usd", o.usd ? Json(*o.usd) : Json(nullptr)}};
}

Json JsonOf(const DevicePlan& plan) {
  Json json = {{"device", plan.device.name}, {"feasible", plan.feasible}, {"first_mfu", plan.guess}};
  json["what_would_have_to_give"] = plan.gives;
  json["steps"] = Json::array();
  for (const PlanStep& step : plan.steps) {
    json["steps"].push_back({{"number", step.number},
                             {"title", step.title},
                             {"decides", step.binds},
                             {"lines", LinesJson(step.lines)},
                             {"reasoning", step.reasoning}});
  }
  json["rounds"] = Json::array();
  for (const PlanRound& round : plan.rounds) {
    json["rounds"].push_back(
        {{"devices", round.devices}, {"used", round.used}, {"days", round.days}, {"few_plays", round.few}});
  }
  const SearchResult& search = plan.search;
  json["search"] = {{"enumerated", search.enumerated},
                    {"dropped", search.dropped},
                    {"fit", search.fit},
                    {"ruled_out", search.ruled_out},
                    {"not_simulated", search.not_playable},
                    {"not_played", search.left}};
  json["layouts"] = Json::array();
  for (std::size_t i = 0; i < plan.outcomes.size(); ++i) json["layouts"].push_back(PlayedJson(plan, i));
  const bool bill = plan.outcome() != nullptr && plan.outcome()->bill;
  json["bill"] = bill ? LinesJson(plan.outcome()->bill->lines) : Json(nullptr);
  json["assumptions"] = AssumptionsJson(plan.assumptions);
  json["scenario"] = plan.scenario_text;
  return json;
}

}  // namespace

std::string PlanText(const Plan& plan, bool bill) {
  const PlanRequest& r = plan.request;
  std::string out = plan.model + ", " + Formatted(r.tokens, "%.4g") + " tokens";
  if (r.days) out += " in " + Formatted(*r.days, "%.4g") + " days";
  if (r.budget_usd) out += " for " + Usd(r.budget_usd);
  out += '\n';
  if (plan.plans.size() > 1) {
    for (const DevicePlan& p : plan.plans) out += "  " + Headline(p, r.longer);
    out += plan.chosen ? "  chosen: " + plan.plans[*plan.chosen].device.name + '\n' : "  none holds\n";
  }
  for (const DevicePlan& p : plan.plans) out += '\n' + TextOf(p, r.longer, bill);
  return out;
}

std::string PlanJson(const Plan& plan) {
  const PlanRequest& r = plan.request;
  Json json = {{"schema_version", 1},
               {"model", plan.model},
               {"tokens", r.tokens},
               {"days", r.days ? Json(*r.days) : Json(nullptr)},
               {"budget_usd", r.budget_usd ? Json(*r.budget_usd) : Json(nullptr)},
               {"chosen", plan.chosen ? Json(plan.plans[*plan.chosen].device.name) : Json(nullptr)}};
  json["plans"] = Json::array();
  for (const DevicePlan& p : plan.plans) json["plans"].push_back(JsonOf(p));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace scenarios
