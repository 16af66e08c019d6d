#include "scenarios/budget/scenario_request.h"

#include <string>

#include "scenarios/offload.h"

namespace scenarios {
namespace {

// What of a scenario a budget does not count; empty = nothing.
std::string NotCounted(const Scenario& s) {
  if (s.layout.context > 1) return "layout.context: " + std::to_string(s.layout.context);
  if (s.model.experts.routed > 0 && s.layout.spreads_experts()) {
    return "layout.expert: " + std::to_string(s.layout.expert) + " of a layout of their own";
  }
  if (s.layout.virtual_stages > 1) return "layout.virtual: " + std::to_string(s.layout.virtual_stages);
  if (Offloads(s)) return "training.offload";
  if (s.training.matmul.recipe != models::Recipe::kNone) return "training.matmul in eight bits";
  if (s.training.sharding.ranks > 0) {
    return "training.sharding.ranks: " + std::to_string(s.training.sharding.ranks);
  }
  return "";
}

}  // namespace

sim::Result<BudgetRequest> RequestOf(const Scenario& s) {
  if (const std::string what = NotCounted(s); !what.empty()) {
    return sim::Error{s.name + ": " + what + " is not budgeted; `orrery check` and `orrery run` count it"};
  }
  BudgetRequest r{.model = s.model, .device = s.device};
  r.sequence_length = s.batch.sequence_length;
  r.global_batch = s.batch.global;
  r.micro_batch = s.batch.micro;
  r.tensor = s.layout.tensor;
  r.pipeline = s.layout.pipeline;
  r.devices = s.devices;
  r.zero_stage = static_cast<int>(s.training.optimizer_sharding);
  r.gradient_width = s.training.gradient_format == sim::NumberFormat::kFp32 ? 4 : 2;
  r.recompute = s.training.recompute;
  r.attention_kind = s.training.attention;
  r.dropout = s.training.dropout;
  r.usd_per_device_hour = s.price_usd_per_device_hour;
  return r;
}

}  // namespace scenarios
