#include "tests/planning/wishes.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "scenarios/budget/prices.h"
#include "sim/base/check.h"
#include "tests/pages/page.h"

namespace planning {

using pages::Count;
using pages::Number;
using pages::Percent;

scenarios::PlanRequest Wishes(const std::string& model, double tokens,
                              const std::vector<std::string>& devices) {
  proto::Diagnostics diagnostics;
  auto read = models::ReadModel(model, {}, "", &diagnostics);
  CHECK(read.has_value());
  scenarios::PlanRequest r;
  r.sequence_length = std::min<std::int64_t>(read->max_positions, 4096);
  r.model = *std::move(read);
  r.model_name = model;
  r.tokens = tokens;
  for (const std::string& name : devices) {
    auto device = hardware::ReadDevice(name, {}, "", &diagnostics, "device");
    CHECK(device.has_value());
    const scenarios::RentedPrice* price = scenarios::RentedPriceOf(name);
    CHECK(price != nullptr);
    r.devices.push_back({*std::move(device), name, price->usd_per_hour, price->source});
  }
  r.margins.spares = 0.05;  // those of the command
  r.margins.safety = 0.06;
  r.search = {.plays = 2, .whole = 0, .slice = 16, .looks = 60};
  return r;
}

scenarios::Plan PlanOf(const scenarios::PlanRequest& request) {
  scenarios::PlanResult result = scenarios::MakePlan(request);
  for (const std::string& error : result.errors) std::fprintf(stderr, "%s\n", error.c_str());
  CHECK(result.plan.has_value());
  return *std::move(result.plan);
}

scenarios::DevicePlan OnePlanOf(const scenarios::PlanRequest& request) {
  return std::move(PlanOf(request).plans.front());
}

const scenarios::Played& Best(const scenarios::DevicePlan& plan) {
  CHECK(plan.best() != nullptr);
  return *plan.best();
}
double StepSeconds(const scenarios::DevicePlan& plan) { return Best(plan).step_s(); }
double Utilisation(const scenarios::DevicePlan& plan) { return plan.outcome()->utilisation; }
double Expected(const scenarios::DevicePlan& plan) {
  return Utilisation(plan) / (1 + scenarios::kLongerThanSimulated);
}
double Days(const scenarios::DevicePlan& plan) { return plan.outcome()->days; }
double Usd(const scenarios::DevicePlan& plan) { return *plan.outcome()->usd; }

std::string LayoutText(const scenarios::DevicePlan& plan) {
  const scenarios::Candidate& c = Best(plan).candidate;
  return ToText(c.layout, c.shape.data);
}

double PartOf(const scenarios::Report& report, const std::string& cause) {
  for (const scenarios::TimePart& part : report.breakdown) {
    if (part.name == cause) return part.time.seconds() / report.step_time.seconds();
  }
  return 0;
}

double ShareOf(const scenarios::DevicePlan& plan, const std::string& cause) {
  return PartOf(Best(plan).report, cause);
}

std::string WaitsText(const scenarios::Report& report) {
  constexpr std::size_t kMost = 3;
  std::vector<scenarios::TimePart> waits;
  for (const scenarios::TimePart& part : report.breakdown) {
    const bool own = part.name == "compute" || part.name == "recomputation" || part.name == "optimizer";
    if (!own && part.time.seconds() > 1e-3 * report.step_time.seconds()) waits.push_back(part);
  }
  std::stable_sort(waits.begin(), waits.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
  waits.resize(std::min(kMost, waits.size()));
  std::string text;
  for (const scenarios::TimePart& part : waits) {
    text += (text.empty() ? "" : ", ") + part.name + ' ' +
            Percent(part.time.seconds() / report.step_time.seconds());
  }
  return text;
}

Line Heads() { return {"plan", "devices", "layout", "MFU", "to expect", "days", "M USD", "why they differ"}; }

Line Printed(const std::string& plan, const std::string& devices, const std::string& layout,
             const std::string& utilisation, const std::string& days, const std::string& usd) {
  return {"**" + plan + "**", devices, layout, "", utilisation, days, usd, ""};
}

Line Found(const scenarios::DevicePlan& plan, const std::string& why) {
  if (plan.best() == nullptr) {
    return {"plan", Count(plan.rounds.back().devices), "nothing fits", "", "", "", "", why};
  }
  return {"plan",
          Count(Best(plan).candidate.shape.devices),
          LayoutText(plan),
          Percent(Utilisation(plan)),
          Percent(Expected(plan)),
          Number(Days(plan), 1),
          Number(Usd(plan) * 1e-6, 2),
          why};
}

std::string Command(const std::string& arguments) { return "`orrery plan " + arguments + "`"; }

}  // namespace planning
