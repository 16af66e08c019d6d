// What a bill's run takes on the clock, whom it needs, and what it costs.

#include <algorithm>

#include "scenarios/budget/bill_parts.h"
#include "scenarios/budget/cost.h"
#include "scenarios/budget/plan_request.h"
#include "scenarios/budget/round_up.h"
#include "scenarios/budget/section.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/scaling.h"

namespace scenarios {
namespace {

using sim::Number;

void AddTimes(const BillChoice& c, Bill* bill) {
  const WallClock& w = bill->clock;
  Section s("time", &bill->lines);
  const auto days = [&](const char* what, double seconds, const char* formula, std::string inputs) {
    s.Add(what, seconds / kSecondsOfDay, "days", formula, std::move(inputs));
  };
  days("training", w.useful_s, "steps x the time of one", "step " + Short(c.r.step_s) + " s");
  days("saves", w.saves_s, "Daly 2006: stalls", Short(w.saves) + " saves, each copied to the hosts");
  days("work done again", w.lost_s, "half an interval and a write a failure",
       "a save each " + Grouped(w.every_steps) + " steps");
  days("restarts", w.restarts_s, "detection, reading, start", Short(w.restarts_s / w.failures) + " s each");
  days("maintenance", w.maintenance_s, "27.8", "maintenance " + Short(c.r.margins.maintenance));
  days("on the clock", w.wall_s(), "all of these", "");
  s.Add("failures", w.failures, "", "time over that between failures",
        "one in " + Short(w.failure_s / 3600) + " h, E18");
  s.Add("goodput", 100 * w.goodput(), "%", "training over the clock", "");
}

// Persons who keep it running: the hours of hands that failures ask for in a week, over 40 of each.
std::int64_t People(const BillChoice& c, const WallClock& w) {
  constexpr double kWeek = 7 * kSecondsOfDay, kWorkingHours = 40;
  const double hours_of_week = w.failures / (w.wall_s() / kWeek) * c.hours_of_failure;
  return std::max(RoundUp(hours_of_week / kWorkingHours), std::int64_t{1});
}

void AddRent(const BillChoice& c, Bill* bill) {
  const double hours = DeviceHours(c.r.working, bill->clock.wall_s() / 3600);
  Section s("rented", &bill->lines);
  s.Add("device-hours", hours, "h", "17.5.9: those that work", "the lender replaces what fails");
  if (!c.r.usd_per_device_hour) return s.AddUnknown("cost", "USD", "a price of the device for an hour");
  s.Add("cost", CostUsd(hours, *c.r.usd_per_device_hour), "USD", "17.5.9",
        "price " + PriceText(*c.r.usd_per_device_hour) + " an hour");
}

// Lines of USD and their sum; what has no price is missing from it.
class Expenses {
 public:
  explicit Expenses(Section* section) : section_(section) {}

  void Add(const char* what, double usd, const char* formula, std::string inputs) {
    section_->Add(what, usd, "USD", formula, std::move(inputs));
    sum_ += usd;
  }
  // `count` of a thing for `days` out of `years`.
  void AddDepreciation(const char* what, std::int64_t count, const std::optional<double>& price, double years,
                       double days) {
    if (!price) {
      section_->AddUnknown(what, "USD", "no published price; none is in what follows");
      return;
    }
    const Ownership o{.price = *price, .years = years};
    Add(what, Number(count) * DepreciationUsdPerDay(o) * days, "17.5.9: price over years x days",
        Grouped(count) + " at " + PriceText(*price) + "; years " + Short(years));
  }
  double sum() const { return sum_; }

 private:
  Section* section_;
  double sum_ = 0;
};

void AddBreakEven(const BillChoice& c, const Bill& bill, double together, Section* s) {
  if (!c.usd_of_device || !c.usd_of_node) {
    s->AddUnknown("a device-hour", "USD", "the price of a device or of the rest of its node is missing");
    s->AddUnknown("use that breaks even", "%", "as above");
    return;
  }
  const double hour = together / DeviceHours(c.r.working, bill.clock.wall_s() / 3600);
  s->Add("a device-hour", hour, "USD", "together over the hours of those that work", "");
  if (const double usd = c.r.usd_per_device_hour.value_or(0); usd > 0) {
    s->Add("use that breaks even", 100 * hour / usd, "%", "table 17-67: an hour owned over one rented",
           "price " + PriceText(usd));
  }
}

void AddOwned(const BillChoice& c, Bill* bill) {
  const double days = bill->clock.wall_s() / kSecondsOfDay;
  const RailNetwork network = c.network.value_or(RailNetwork{});
  Section s("owned, for as long", &bill->lines);
  Expenses e(&s);
  e.AddDepreciation("devices", c.bought, c.usd_of_device, c.years, days);
  e.AddDepreciation("rest of the nodes", c.nodes, c.usd_of_node, c.years, days);
  e.AddDepreciation("switches", network.switches(), c.usd_of_switch, c.years, days);
  e.AddDepreciation("cables and optics", network.cables + network.nodes * network.rails,
                    c.r.choices.usd_of_cable, c.years, days);
  e.Add("storage", c.stored * 1e-9 * c.usd_per_gb_month * days / 30, "table 17-67: bytes x months",
        PriceText(c.usd_per_gb_month) + " a GB and month");
  const double devices =
      Number(c.bought) * PowerUsdPerDay({.watts = c.r.device.tdp_watts, .usd_per_kwh = c.usd_per_kwh}) * days;
  const double rest =
      Number(c.nodes) * PowerUsdPerDay({.watts = c.host_watts, .usd_per_kwh = c.usd_per_kwh}) * days;
  e.Add("power of devices", devices, "17.5.9", PriceText(c.usd_per_kwh) + " a kWh");
  e.Add("power of the rest of the nodes", rest, "17.5.9", "");
  e.Add("power of cooling", (devices + rest) * c.cooling, "table 17-67", "cooling " + Short(c.cooling));
  const std::int64_t people = People(c, bill->clock);
  e.Add("people", Number(people) * c.usd_of_person_year / 365 * days, "as many for so many days",
        Grouped(people) + " at " + PriceText(c.usd_of_person_year) + " a year");
  s.Add("together", e.sum(), "USD", "17.5.9, table 17-67", "");
  AddBreakEven(c, *bill, e.sum(), &s);
}

}  // namespace

void AddTimeAndMoney(const BillChoice& c, Bill* bill) {
  AddTimes(c, bill);
  AddRent(c, bill);
  AddOwned(c, bill);
}

}  // namespace scenarios
