#include "scenarios/budget/budget_sketch.h"

#include <algorithm>

#include "models/training_state.h"
#include "scenarios/budget/plan_request.h"
#include "scenarios/budget/prices.h"
#include "scenarios/budget/save_storage.h"
#include "scenarios/budget/section.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/scaling.h"

namespace scenarios {
namespace {

using sim::Number;

// One end of the interval.
struct End {
  const char* name;
  std::int64_t total, active;
  double tokens = 0, flops = 0;
  models::TrainingState state;
  std::int64_t devices = 0;
  double days = 0;
};

// Shapes that make no model, or one that is not budgeted.
void CheckSketch(const models::Sketch& s, std::vector<std::string>* errors) {
  if (s.layers <= 0 || s.hidden <= 0) {
    errors->push_back("sketch: layers and hidden are wanted: layers=32,hidden=4096");
  } else if (s.hidden % 128 != 0) {
    errors->push_back("sketch: hidden " + Grouped(s.hidden) +
                      " is no multiple of 128, the width of a head; " + Grouped(WholeGroups(s.hidden, 128)) +
                      " is");
  } else if (s.kv_heads && s.hidden / 128 % *s.kv_heads != 0) {
    errors->push_back("sketch: kv-heads " + Grouped(*s.kv_heads) + " do not divide the " +
                      Grouped(s.hidden / 128) + " heads of 128");
  }
  if ((s.experts > 0) != (s.per_token > 0) || s.per_token > s.experts) {
    errors->push_back("sketch: experts " + Grouped(s.experts) + " and per-token " + Grouped(s.per_token) +
                      "; both are wanted or neither, and a token visits no more than there are");
  }
}

// Devices that hold the state, and that are in time, in whole nodes where more than one is needed.
std::int64_t DevicesOf(const End& e, double peak, double utilisation, double days,
                       const hardware::Device& d) {
  const std::int64_t hold =
      DevicesFor(Number(e.state.total().count()), Number(d.usable_memory.count()), 1, 1);
  const std::int64_t in_time = DevicesFor(e.flops, peak, utilisation, days * kSecondsOfDay);
  const std::int64_t needed = std::max({hold, in_time, std::int64_t{1}});
  return needed > d.node.devices ? WholeGroups(needed, d.node.devices) : needed;
}

void AddEnd(const End& e, double price, const std::string& on, Budget* budget) {
  Section s(e.name, &budget->lines);
  s.AddCount("parameters", e.total, "17.2.5 as A4", "models between these, see the assumptions");
  s.AddCount("active", e.active, "without the experts that a token does not visit");
  s.Add("6PD", e.flops, "FLOP", "17.3.8", "D " + Short(e.tokens));
  s.AddBytes("training state", e.state.total(), "27.5: 18 B a parameter", "AdamW, gradients in FP32");
  s.AddBytes("one save", SaveBytes(e.state), "17.7.3 as E19: weights, master, optimizer");
  s.AddCount("devices", e.devices, "(27.19), and as many as hold the state", on);
  s.AddBytes("state of a device", sim::Bytes((e.state.total().count() + e.devices - 1) / e.devices),
             "(27.15): ZeRO-3", "");
  s.Add("time", e.days, "days", "17.5.3", on);
  s.Add("cost", CostUsd(DeviceHours(e.devices, e.days * 24), price), "USD", "17.5.9",
        "price " + Short(price));
}

// What of the shapes is given and between what the rest lies.
void AddShapes(const models::Sketch& s, std::vector<Assumption>* list) {
  const auto number = [](const std::optional<std::int64_t>& n) {
    return n ? Grouped(*n) : std::string("open");
  };
  const auto yes = [](const std::optional<bool>& b) { return std::string(!b ? "open" : *b ? "yes" : "no"); };
  const auto add = [&](const char* name, const std::string& value, const char* between) {
    list->push_back({name, value, value == "open" ? between : "given"});
  };
  add("layers", Grouped(s.layers), "");
  add("hidden", Grouped(s.hidden), "");
  add("ffn", number(s.ffn), "8/3 hidden with a gate, 4 hidden without, to 4 hidden");
  add("kv_heads", number(s.kv_heads), "one in eight query heads to as many");
  add("vocabulary", number(s.vocabulary), "32,000 to 256,000");
  add("gated", yes(s.gated), "yes");
  add("tied", yes(s.tied), "one table or two");
  if (s.experts > 0) add("experts", Grouped(s.experts) + ", " + Grouped(s.per_token) + " a token", "");
}

}  // namespace

BudgetResult MakeSketchBudget(const models::Sketch& sketch, const BudgetRequest& r) {
  BudgetResult result;
  CheckSketch(sketch, &result.errors);
  if (r.devices && r.days) {
    result.errors.push_back("days: " + Short(*r.days) +
                            " is given beside devices; one follows from the other, give one");
  }
  if (!result.errors.empty()) return result;
  const models::SketchParameters p = models::ParametersOf(sketch);
  if (p.total.most > kMostParameters) {
    result.errors.push_back("sketch: " + Grouped(p.total.most) + " parameters are too many; at most " +
                            Grouped(kMostParameters) + " are budgeted");
    return result;
  }
  Budget budget{.model = "sketch", .device = r.device.name};
  Chooser choose(&budget.assumptions);
  AddShapes(sketch, &budget.assumptions);
  const bool bf16 = hardware::SupportsFormat(r.device, sim::NumberFormat::kBf16);
  const double peak =
      hardware::PeakFlopsPerSecond(r.device, bf16 ? sim::NumberFormat::kBf16 : sim::NumberFormat::kFp16);
  choose("peak", std::optional<double>(), peak * 1e-12, "TFLOP/s, the device's file, dense", Short);
  const double u = choose("utilisation", r.utilisation, 0.4, "textbook 17.3.8", Short);
  const RentedPrice* known = RentedPriceOf(r.device.name);
  const double price =
      choose("price", r.usd_per_device_hour, known != nullptr ? known->usd_per_hour : 2.0,
             known != nullptr ? known->source : "USD an hour of an H800; give this one's", Short);
  const double days = r.days.value_or(30);
  if (!r.devices) choose("days", r.days, 30.0, "the deadline of textbook table 17-58", Short);
  for (End e : {End{.name = "least", .total = p.total.least, .active = p.active.least},
                End{.name = "most", .total = p.total.most, .active = p.active.most}}) {
    e.tokens = r.tokens.value_or(kTokensPerParameter * Number(e.total));
    e.flops = 6 * Number(e.active) * e.tokens;
    e.state = models::AdamWStateOf(e.total, {.gradient = 4});
    if (!r.devices && e.flops / (peak * u * days * kSecondsOfDay) > 1e9) {
      result.errors.push_back("days: " + Short(days) + " take more than 1e9 devices; more days are wanted");
      return result;
    }
    e.devices = r.devices ? *r.devices : DevicesOf(e, peak, u, days, r.device);
    e.days = TrainingSeconds(e.flops, Number(e.devices), peak, u) / kSecondsOfDay;
    AddEnd(e, price, "peak " + Short(peak * 1e-12) + " TFLOP/s; u " + Short(u), &budget);
    budget.fits = e.state.total().count() / e.devices <= r.device.usable_memory.count();
  }
  choose("tokens", r.tokens, kTokensPerParameter * Number(p.total.least),
         "20 a parameter, Hoffmann et al. 2022; of the least", Short);
  result.budget = std::move(budget);
  return result;
}

}  // namespace scenarios
