#include "scenarios/budget/scenario_request.h"

#include <algorithm>
#include <string>

#include "scenarios/offload.h"

namespace scenarios {
namespace {

using std::to_string;

// What of each that a budget does not count; empty = nothing.
std::string NotCountedOfExperts(const Scenario& s) {
  if (s.model.experts.routed == 0 || !s.layout.spreads_experts()) return "";
  const RoutedExperts& experts = s.experts;
  if (s.layout.expert_tensor != s.layout.tensor) {
    return "layout.expert_tensor: " + to_string(s.layout.expert_tensor) + " beside tensor " +
           to_string(s.layout.tensor);
  }
  if (s.layout.tensor > 1 && !s.layout.sequence) return "layout.sequence: false beside spread experts";
  if (experts.dispatcher != models::Dispatcher::kAllToAll) return "experts.dispatcher other than ALLTOALL";
  if (experts.fp8_dispatch) return "experts.fp8_dispatch";
  if (experts.capacity_factor > 0) return "experts.capacity_factor";
  if (!experts.loads.empty()) return "experts.routing other than UNIFORM";
  return "";
}

std::string NotCountedOfLayout(const Scenario& s) {
  const Pipeline& pipeline = s.pipeline;
  const Layout& layout = s.layout;
  if (layout.context > 1 && (layout.ulysses > 1 || layout.context_kind != models::ContextKind::kRing)) {
    return "layout.context_kind other than RING";
  }
  if (const std::string what = NotCountedOfExperts(s); !what.empty()) return what;
  if (s.layout.virtual_stages > 1) return "layout.virtual: " + to_string(s.layout.virtual_stages);
  if (pipeline.shape.parts > 1) return "pipeline.sequence_parts: " + to_string(pipeline.shape.parts);
  if (pipeline.splits_backward()) return "pipeline.schedule: " + pipeline.name() + ", backwards in halves";
  // Stages hold what 1F1B does: their pieces once, and micro-batches to the end of the pipeline.
  const std::int64_t held = std::min(s.layout.pipeline, s.batch.micro_batches);
  if (pipeline.copies() > 1 || pipeline.InFlight(0) != held) return "pipeline.schedule: " + pipeline.name();
  return "";
}

// Of layers, what is not the same in all of them, and modules but the core of attention.
std::string NotCountedOfRecompute(const Training& training) {
  const FullRecompute& full = training.full_recompute;
  if (training.recompute == Recompute::kFull) {
    if (full.first_layers_only) return "training.recompute_method: BLOCK";
    if (full.every > 1) return "training.recompute_method: EVERY";
    if (full.layers > 1) return "training.recompute_layers: " + to_string(full.layers) + " together";
  }
  if (training.recompute != Recompute::kSelective) return "";
  const models::SelectiveModules& m = training.selective;
  if (m.operations) return "training.recompute: OPERATIONS";
  const bool more = m.norm_output || m.nonlinearity || m.expert_nonlinearity || m.latent_up ||
                    m.feed_forward || m.experts || m.shared_experts;
  return more || !m.attention_core ? "training.recompute_modules other than CORE_ATTENTION" : "";
}

std::string NotCountedOfTraining(const Scenario& s) {
  const Training& training = s.training;
  if (UsesHosts(s)) return "training.offload";
  if (training.mtp) return "training.mtp";
  if (training.matmul.recipe != models::Recipe::kNone) return "training.matmul in eight bits";
  const Sharding& sharding = training.sharding;
  if (sharding.ranks > 0) return "training.sharding.ranks: " + to_string(sharding.ranks);
  if (!sharding.reshard_after_forward) return "training.sharding.reshard_after_forward: false";
  // Gradients that are cut are scattered in every micro-batch, but in a pipeline.
  const bool late = training.optimizer_sharding < OptimizerSharding::kZero2 || s.layout.pipeline > 1;
  if (sharding.no_sync != late) {
    return std::string("training.sharding.no_sync: ") + (sharding.no_sync ? "true" : "false");
  }
  return NotCountedOfRecompute(training);
}

}  // namespace

sim::Result<BudgetRequest> RequestOf(const Scenario& s) {
  std::string what = NotCountedOfLayout(s);
  if (what.empty()) what = NotCountedOfTraining(s);
  if (!what.empty()) {
    return sim::Error{s.name + ": " + what + " is not budgeted; `orrery check` and `orrery run` count it"};
  }
  BudgetRequest r{.model = s.model, .device = s.device};
  r.sequence_length = s.batch.sequence_length;
  r.global_batch = s.batch.global;
  r.micro_batch = s.batch.micro;
  r.tensor = s.layout.tensor;
  r.pipeline = s.layout.pipeline;
  if (s.layout.context > 1) r.context_ranks = s.layout.context;
  if (s.model.experts.routed > 0 && s.layout.expert > 1) r.expert = s.layout.expert;
  // What the scenario does not choose is left to whoever takes another tensor group or pipeline.
  const auto [fewest, most] =
      std::minmax_element(s.pipeline.layers_of_piece.begin(), s.pipeline.layers_of_piece.end());
  if (*fewest != *most) r.stage_layers = s.pipeline.layers_of_piece;
  if (s.layout.tensor > 1) r.sequence_parallel = s.layout.sequence;
  r.format = s.training.format;
  r.devices = s.devices;
  r.zero_stage = static_cast<int>(s.training.optimizer_sharding);
  r.prefetch = s.training.sharding.prefetch;
  r.regather_last = s.training.sharding.reshard_last_unit;
  r.gradient_width = s.training.gradient_format == sim::NumberFormat::kFp32 ? 4 : 2;
  r.recompute = s.training.recompute;
  r.attention_kind = s.training.attention;
  r.dropout = s.training.dropout;
  r.usd_per_device_hour = s.price_usd_per_device_hour;
  return r;
}

}  // namespace scenarios
