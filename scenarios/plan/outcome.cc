// What a layout that was played makes of the run.

#include <algorithm>

#include "scenarios/budget/training_time.h"
#include "scenarios/plan/plan_parts.h"
#include "scenarios/scaling.h"

namespace scenarios {
namespace {

using sim::Number;

}  // namespace

BudgetRequest BudgetRequestOf(const PlanRequest& r, const PlanDevice& device, const Played* played) {
  BudgetRequest b{.model = r.model, .device = device.device};
  b.tokens = r.tokens;
  b.sequence_length = r.sequence_length;
  b.usd_per_device_hour = device.usd_per_hour.value_or(0);
  b.spares = r.margins.spares;
  b.maintenance = r.margins.maintenance;
  b.safety = r.margins.safety;
  if (played == nullptr) return b;
  const Candidate& c = played->candidate;
  b.tensor = c.layout.tensor;
  b.pipeline = c.layout.pipeline;
  b.devices = c.shape.devices;
  b.global_batch = c.shape.global_batch;
  b.micro_batch = c.layout.micro;
  b.zero_stage = static_cast<int>(c.layout.sharding);
  b.recompute = c.layout.recompute;
  b.utilisation = played->report.mfu / (1 + r.longer);
  return b;
}

PlanOutcome OutcomeOf(const PlanRequest& r, const PlanBasis& basis, const PlanDevice& device,
                      const Played& played) {
  const Candidate& c = played.candidate;
  PlanOutcome outcome{.steps = StepsFor(r.tokens, c.tokens(basis.job))};
  const double seconds = Number(outcome.steps) * played.step_s();
  outcome.utilisation = UtilisationOf(basis.six_pd, seconds, Number(c.shape.devices), basis.peak);
  if (const auto bill = BillRequestOf(BudgetRequestOf(r, device, &played), r.bill, &outcome.errors)) {
    BillRequest request = *bill;
    request.assumptions.clear();  // the plan has its own
    request.useful_s = seconds * (1 + r.longer);
    request.step_s = played.step_s() * (1 + r.longer);
    if (!device.usd_per_hour) request.usd_per_device_hour.reset();
    BillResult result = BillOfMaterials(request);
    outcome.errors.insert(outcome.errors.end(), result.errors.begin(), result.errors.end());
    outcome.bill = std::move(result.bill);
  }
  const double wall_s = outcome.bill ? outcome.bill->clock.wall_s()
                                     : WithMaintenance(seconds * (1 + r.longer), r.margins.maintenance);
  outcome.days = wall_s / kSecondsOfDay;
  if (device.usd_per_hour) {
    outcome.usd = CostUsd(DeviceHours(c.shape.devices, outcome.days * 24), *device.usd_per_hour);
  }
  return outcome;
}

}  // namespace scenarios
