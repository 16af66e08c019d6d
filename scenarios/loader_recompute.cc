// What is computed again in the backward instead of being kept.

#include <algorithm>
#include <string>

#include "models/operations.h"
#include "proto/scenario.pb.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

using Module = config::RecomputeModule;

Recompute RecomputeOf(config::Recompute::Kind kind) {
  switch (kind) {
    case config::Recompute::SELECTIVE:
    case config::Recompute::OPERATIONS:
      return Recompute::kSelective;
    case config::Recompute::FULL:
      return Recompute::kFull;
    default:
      return Recompute::kNone;
  }
}

models::SelectiveModules ModulesOf(const config::Training& in) {
  const auto has = [&](Module::Kind kind) {
    return std::count(in.recompute_modules().begin(), in.recompute_modules().end(), kind) > 0;
  };
  return {.attention_core = has(Module::CORE_ATTENTION),
          .norm_output = has(Module::LAYERNORM),
          .nonlinearity = has(Module::NONLINEARITY),
          .expert_nonlinearity = has(Module::MOE_ACT),
          .latent_up = has(Module::MLA_UP_PROJ),
          .feed_forward = has(Module::MLP),
          .experts = has(Module::MOE),
          .shared_experts = has(Module::SHARED_EXPERTS),
          .operations = false};
}

// Modules that the model does not have, and one that is not cut out of its layers.
void CheckModules(const Block& block, const models::Model& model, const models::SelectiveModules& modules) {
  if (model.layers == 0) return;
  const auto wants = [&](const char* module, const std::string& what) {
    block.Error("recompute_modules", std::string(module) + ": " + what);
  };
  const std::string has_no = "\"" + model.name + "\" has no ";
  bool dense = false;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) dense |= !HasExperts(model, layer);
  if (modules.latent_up && !model.has_latent()) wants("MLA_UP_PROJ", has_no + "latent attention");
  if (modules.expert_nonlinearity && model.experts.routed == 0) wants("MOE_ACT", has_no + "experts");
  if (modules.experts && model.experts.routed == 0) wants("MOE", has_no + "experts");
  if (modules.shared_experts && model.experts.shared == 0) wants("SHARED_EXPERTS", has_no + "shared experts");
  if (modules.feed_forward && !dense) wants("MLP", has_no + "layer without experts; MOE would do");
  if (model.parallel_residual && (modules.feed_forward || modules.experts || modules.shared_experts)) {
    wants("MLP, MOE, SHARED_EXPERTS", "not simulated where attention and feed-forward lie side by side");
  }
}

void ReadModules(const config::Training& in, const Block& block, Scenario* scenario) {
  if (in.recompute_modules_size() == 0) return;
  if (in.recompute() != config::Recompute::SELECTIVE) {
    block.Error("recompute_modules", "needs recompute SELECTIVE");
    return;
  }
  scenario->training.selective = ModulesOf(in);
  CheckModules(block, scenario->model, scenario->training.selective);
}

void ReadOperations(const config::Training& in, const Block& block, Scenario* scenario) {
  if (in.recompute() != config::Recompute::OPERATIONS) return;
  Training& training = scenario->training;
  training.selective = {.attention_core = false, .operations = true};
  models::Execution execution;
  execution.attention = training.attention;
  execution.dropout = training.dropout;
  execution.context.ranks = scenario->layout.context;
  execution.tensor = scenario->layout.tensor;
  execution.sequence_parallel = scenario->layout.sequence;
  if (const char* why = models::WhyNotOperations(scenario->model, execution)) {
    block.Error("recompute",
                std::string("OPERATIONS is not simulated with ") + why + "; SELECTIVE or FULL would do");
  }
}

void ReadMethod(const config::Training& in, const Block& block, Scenario* scenario) {
  constexpr std::int64_t kMostLayers = 1000;
  Training& training = scenario->training;
  const auto method = in.recompute_method();
  const std::int64_t given =
      block.Optional("recompute_layers", in.has_recompute_layers(), in.recompute_layers(), 1, kMostLayers, 1);
  const std::int64_t layers = std::max<std::int64_t>(given, 1);
  const bool every = method == config::RecomputeMethod::EVERY,
             first = method == config::RecomputeMethod::BLOCK;
  training.full_recompute = {
      .first_layers_only = first, .layers = every ? 1 : layers, .every = every ? layers : 1};
  if (training.recompute != Recompute::kFull) {
    const char* needs = "needs recompute FULL; NONE, SELECTIVE and OPERATIONS treat all layers alike";
    if (in.has_recompute_method()) block.Error("recompute_method", needs);
    if (in.has_recompute_layers()) block.Error("recompute_layers", needs);
    return;
  }
  if (first)
    block.Missing("recompute_layers", "BLOCK recomputes so many layers of each piece; give a number");
  if (every) block.Missing("recompute_layers", "EVERY recomputes each so-many-th layer; give a number");
  if (!first && !every && layers > 1 && training.optimizer_sharding == OptimizerSharding::kZero3) {
    block.Error("recompute_layers", std::to_string(layers) +
                                        " layers together are not simulated with ZERO_3, which would gather "
                                        "each a third time; 1 is wanted");
  }
}

}  // namespace

void ReadRecompute(const config::Training& in, const Block& block, Scenario* scenario) {
  scenario->training.recompute = RecomputeOf(in.recompute());
  ReadModules(in, block, scenario);
  ReadOperations(in, block, scenario);
  ReadMethod(in, block, scenario);
}

}  // namespace scenarios
