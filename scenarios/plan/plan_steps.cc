// The ten steps, written down when all is known.

#include <algorithm>
#include <cmath>
#include <utility>

#include "scenarios/budget/budget.h"
#include "scenarios/budget/plan_request.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/plan/plan_parts.h"
#include "scenarios/scaling.h"

namespace scenarios {
namespace {

using sim::Number;
double Number(sim::Bytes n) { return Number(n.count()); }

std::string Percent(double part) { return Short(100 * part) + " %"; }

class Writer {
 public:
  Writer(const PlanRequest& request, const PlanBasis& basis, DevicePlan* plan)
      : r_(request),
        basis_(basis),
        plan_(*plan),
        best_(plan->best()),
        outcome_(plan->outcome()),
        budget_(MakeBudget(BudgetRequestOf(request, plan->device, best_)).budget) {}

  void Write() {
    Work();
    Devices();
    Layouts();
    if (best_ != nullptr) {
      Memory();
      Communication();
      Storage();
    }
    Money();
    Decide();
  }

 private:
  PlanStep& Step(const char* title) {
    plan_.steps.push_back({static_cast<int>(plan_.steps.size()) + 1, title, {}, {}, false});
    return plan_.steps.back();
  }

  void Add(const char* name, double value, const char* unit, std::string formula, std::string inputs = "") {
    PlanStep& step = plan_.steps.back();
    step.lines.push_back(
        {step.title, name, value, std::nullopt, unit, std::move(formula), std::move(inputs)});
  }
  void AddCount(const char* name, std::int64_t value, std::string formula, std::string inputs = "") {
    PlanStep& step = plan_.steps.back();
    step.lines.push_back({step.title, name, Number(value), value, "", std::move(formula), std::move(inputs)});
  }
  // A line of the budget as it is there.
  void Copy(const char* section, const char* name) {
    if (!budget_) return;
    for (const BudgetLine& line : budget_->lines) {
      if (line.section == section && line.name == name) plan_.steps.back().lines.push_back(line);
    }
  }

  void Work() {
    Step("parameters");
    Copy("parameters", "total");
    Copy("parameters", "active");
    Step("FLOPs");
    Add("6PD", basis_.six_pd, "FLOP", "17.3.8: active parameters", "D " + Short(r_.tokens));
    Copy("FLOPs of the run", "model FLOPs");
    PlanStep& step = Step("utilisation");
    Add("to begin with", 100 * plan_.guess, "%", "17.9.4: of 6PD, guessed",
        "peak " + Short(basis_.peak * 1e-12) + " TFLOP/s");
    if (best_ == nullptr) return;
    Add("as simulated", 100 * outcome_->utilisation, "%", "6PD over N peak T: an outcome");
    Add("MFU as simulated", 100 * best_->report.mfu, "%", "attention in full, logits",
        "HFU " + Percent(best_->report.hfu));
    Add("MFU to expect", 100 * best_->report.mfu / (1 + r_.longer), "%",
        "docs/validation.md: published steps beside simulated ones", Percent(r_.longer) + " longer");
    step.reasoning = "The guess only says where the search begins; what follows is of the simulated one.";
  }

  void Devices() {
    PlanStep* step = &Step("devices that hold the state");
    Add("16 bytes a parameter", 16 * Number(basis_.parameters), "B", "17.9.4: all of it, cut as ZeRO-3 does");
    Add("room on a device", std::max(Number(basis_.job.memory()) - 5e9, 0.0), "B",
        "usable, less 5 GB for activations and buffers", "safety " + Short(r_.margins.safety));
    AddCount("devices", basis_.for_memory, "rounded up");
    step->binds = !r_.device_count && basis_.for_memory >= basis_.for_time;
    if (step->binds) step->reasoning = "Memory asks for more devices than the deadline does.";
    step = &Step("devices that are in time");
    if (!r_.days) {
      step->reasoning = r_.device_count ? "The number of devices is given." : "No deadline is given.";
      if (r_.device_count) AddCount("devices", *r_.device_count, "given");
      return;
    }
    AddCount("devices", basis_.for_time, "(27.19), at the first utilisation", "days " + Short(*r_.days));
    if (r_.device_count) {
      step->reasoning = "The number of devices is given; these would be needed.";
      return;
    }
    step->binds = basis_.for_time > basis_.for_memory;
    step->reasoning = RoundsText(true) + RoundsText(false);
  }

  std::string RoundsText(bool few) const {
    std::string text;
    for (const PlanRound& round : plan_.rounds) {
      if (round.few != few) continue;
      text += (text.empty() ? "" : "; ") + Grouped(round.used > 0 ? round.used : round.devices) +
              (round.used > 0 ? " devices take " + Short(round.days) + " days" : " devices hold too little");
    }
    if (text.empty()) return "";
    return few ? "With a few layouts played: " + text + ". " : "With all that may be best: " + text + ".";
  }

  void Layouts() {
    PlanStep& step = Step("layouts");
    const SearchResult& s = plan_.search;
    AddCount("enumerated", s.enumerated, "17.5.8: tensor inside NVLink, whole layers a stage");
    for (const auto& [reason, count] : s.dropped) AddCount("  dropped", count, reason);
    AddCount("fit", s.fit, "weights, gradients, optimizer, activations, stage by stage");
    AddCount("played", static_cast<std::int64_t>(s.played.size()), "simulated, by least possible time");
    AddCount("  ruled out", s.ruled_out, "their kernels alone take longer than the best play");
    if (s.not_playable > 0) AddCount("  not simulated", s.not_playable, s.first_refusal);
    if (s.left > 0) AddCount("  not played", s.left, "too many; --with plays takes more");
    if (best_ == nullptr) return;
    const Candidate& c = best_->candidate;
    step.reasoning = "Chosen: " + ToText(c.layout, c.shape.data) + ", " + Grouped(c.shape.global_batch) +
                     " sequences a step.";
    if (r_.device_count && c.shape.devices != *r_.device_count) {
      step.reasoning += " Of the " + Grouped(*r_.device_count) + " devices " + Grouped(c.shape.devices) +
                        " are used: those that are whole groups of the layout and whole nodes.";
    }
    if (!s.candidates.empty() && s.candidates.front().layout != c.layout) {
      step.reasoning += " By hand " + ToText(s.candidates.front().layout, s.candidates.front().shape.data) +
                        " would be shortest.";
    }
    if (!best_->whole()) {
      step.reasoning += " Played on a slice of " + Grouped(best_->devices) + " devices.";
    }
  }

  void Memory() {
    const Candidate& c = best_->candidate;
    PlanStep& step = Step("memory");
    Add("of a device", Number(c.memory), "B", "the fullest stage, tensor by tensor");
    Add("usable", Number(basis_.job.memory()), "B", "the device's file",
        "safety " + Short(r_.margins.safety));
    step.reasoning = "Fits, with " + Percent(1 - Number(c.memory) / Number(basis_.job.memory())) + " left.";
  }

  void Communication() {
    const HandTime& hand = best_->candidate.hand;
    PlanStep& step = Step("communication");
    if (hand.tensor_s > 0) Add("tensor group by hand", hand.tensor_s, "s", "17.6.4, over NVLink");
    if (hand.expert_s > 0) Add("experts by hand", hand.expert_s, "s", "17.6.6 as E9 corrects it");
    if (hand.data_s > 0)
      Add("data ranks by hand", hand.data_s, "s", "17.6.3, 17.4.8 as E2 and E23 correct them");
    Add("over compute", 100 * hand.communication_share(), "%", "17.9.4: above 20 % is looked at twice");
    Add("step by hand", hand.step_s(), "s", "17.5.5: kernels at 0.7 of the peak");
    Add("step as simulated", best_->step_s(), "s", "the slowest rank, event by event");
    double exposed = 0;
    std::string parts;
    for (const TimePart& part : best_->report.breakdown) {
      static constexpr const char* kOwn[] = {"compute", "recomputation", "optimizer"};
      const bool own = std::any_of(std::begin(kOwn), std::end(kOwn), [&](auto n) { return part.name == n; });
      if (own || part.time == sim::Duration()) continue;
      exposed += part.time.seconds();
      parts += (parts.empty() ? "" : ", ") + part.name + ' ' + Percent(part.time.seconds() / best_->step_s());
    }
    Add("not computing as simulated", 100 * exposed / best_->step_s(), "%", "of the step", parts);
    const bool much = hand.communication_share() > 0.2;
    step.reasoning =
        much ? "By hand more than a fifth of the work; the simulation says what of it is waited for."
             : "By hand a fifth of the work at the most.";
  }

  void Storage() {
    Step("storage");
    for (const char* name : {"one save", "copy to the hosts", "between failures", "best interval", "lost",
                             "rate to write within the interval"}) {
      Copy("checkpoints", name);
    }
    for (const char* name : {"tokens stored", "read rate"}) Copy("data", name);
  }

  void Money() {
    PlanStep& step = Step("money");
    if (best_ == nullptr) {
      step.reasoning = "No layout, so no cost.";
      return;
    }
    const std::int64_t devices = best_->candidate.shape.devices;
    AddCount(
        "devices", devices, "that train",
        Grouped((devices + basis_.job.device.node.devices - 1) / basis_.job.device.node.devices) + " nodes");
    Copy("time and cost", "devices with spares");
    AddCount("steps", outcome_->steps, "D / (B S)");
    Add("steps take", Number(outcome_->steps) * best_->step_s() / kSecondsOfDay, "days", "as simulated");
    if (outcome_->bill) {
      const WallClock& clock = outcome_->bill->clock;
      Add("longer", clock.useful_s * r_.longer / (1 + r_.longer) / kSecondsOfDay, "days",
          "real steps beside simulated ones: docs/validation.md", Percent(r_.longer) + " longer");
      Add("saves, failures and maintenance", (clock.wall_s() - clock.useful_s) / kSecondsOfDay, "days",
          "17.7.4 as E18; a save every " + Grouped(clock.every_steps) + " steps",
          Short(clock.failures) + " failures; goodput " + Percent(clock.goodput()));
    }
    Add("time", outcome_->days, "days", "on the clock", "maintenance " + Short(r_.margins.maintenance));
    Add("device-hours", DeviceHours(devices, outcome_->days * 24), "h", "17.5.9");
    if (outcome_->usd) {
      Add("cost", *outcome_->usd, "USD", "17.5.9; " + plan_.device.price_source,
          Short(*plan_.device.usd_per_hour));
      if (r_.budget_usd) Add("budget", *r_.budget_usd, "USD", "given");
    } else {
      step.reasoning = "No price is known; --device NAME=USD gives one.";
    }
  }

  void Decide() {
    plan_.feasible = best_ != nullptr && outcome_->errors.empty();
    if (best_ == nullptr) return NothingFits();
    // Failures that leave no time to train, or more nodes than switches connect.
    for (const std::string& error : outcome_->errors) plan_.gives.push_back("No bill of materials: " + error);
    if (r_.days && outcome_->days > *r_.days) Late();
    if (r_.budget_usd && outcome_->usd && *outcome_->usd > *r_.budget_usd) Dear();
  }

  void NothingFits() {
    const SearchResult& s = plan_.search;
    const std::string devices = Grouped(plan_.rounds.empty() ? basis_.begin : plan_.rounds.back().devices);
    if (!s.nearest_miss || s.not_playable > 0) {
      std::string why = s.first_refusal;
      if (why.empty()) {
        const std::int64_t node = basis_.job.device.node.devices;
        why = "devices come in groups of tensor x pipeline and, beyond one node, in nodes of " +
              Grouped(node) + ", and the batch of " + Grouped(basis_.job.global_batch) +
              " sequences in as many parts as data ranks";
      }
      plan_.gives.push_back("No layout for " + devices + " devices was simulated: " + why + ".");
      return;
    }
    const Candidate& miss = *s.nearest_miss;
    plan_.gives.push_back("Nothing fits on " + devices + " devices: the nearest, " +
                          ToText(miss.layout, miss.shape.data) + ", holds " +
                          Short(Number(miss.memory) * 1e-9) + " GB a device of " +
                          Short(Number(basis_.job.memory()) * 1e-9) +
                          "; more devices, more memory, or less that is fixed would do.");
    for (PlanStep& step : plan_.steps) step.binds = step.number == 4;
  }

  void Late() {
    plan_.feasible = false;
    const double over = outcome_->days / *r_.days;
    const std::int64_t devices = best_->candidate.shape.devices;
    plan_.gives.push_back(
        "Late: " + Short(outcome_->days) + " days of " + Short(*r_.days) + " on " + Grouped(devices) +
        " devices; more than " + Grouped(static_cast<std::int64_t>(std::ceil(Number(devices) * over))) +
        " devices, " + Short(r_.tokens / over) + " tokens or " + Short(outcome_->days) + " days would do.");
  }

  void Dear() {
    plan_.feasible = false;
    const double over = *outcome_->usd / *r_.budget_usd;
    plan_.gives.push_back("Dear: " + Short(*outcome_->usd) + " USD of " + Short(*r_.budget_usd) + "; " +
                          Short(r_.tokens / over) + " tokens, or " +
                          Short(*plan_.device.usd_per_hour / over) + " USD an hour of a device, would do.");
    plan_.steps.back().binds = true;
  }

  const PlanRequest& r_;
  const PlanBasis& basis_;
  DevicePlan& plan_;
  const Played* best_;
  const PlanOutcome* outcome_;
  const std::optional<Budget> budget_;
};

}  // namespace

void WriteSteps(const PlanRequest& request, const PlanBasis& basis, DevicePlan* plan) {
  if (const Played* best = plan->best()) {
    const Candidate& c = best->candidate;
    plan->scenario_text = ScenarioText(basis.job, c.layout, c.shape, "plan");
  }
  Writer(request, basis, plan).Write();
}

}  // namespace scenarios
