// Linear layers in eight bits: the recipe, and what does not go with it.

#include <string>

#include "models/quantise.h"
#include "proto/scenario.pb.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

models::Recipe RecipeOf(config::MatmulRecipe::Kind kind) {
  switch (kind) {
    case config::MatmulRecipe::FP8_TENSOR_DELAYED:
      return models::Recipe::kTensorDelayed;
    case config::MatmulRecipe::FP8_TENSOR_CURRENT:
      return models::Recipe::kTensorCurrent;
    case config::MatmulRecipe::FP8_BLOCK:
      return models::Recipe::kBlock;
    case config::MatmulRecipe::MXFP8:
      return models::Recipe::kMx;
    default:
      return models::Recipe::kNone;
  }
}

void CheckDevice(const Block& block, const Scenario& scenario) {
  const Training& training = scenario.training;
  const sim::NumberFormat format = models::FormatOf(training.matmul.recipe, training.format);
  const hardware::Device& device = scenario.device;
  if (hardware::SupportsFormat(device, format)) return;
  block.Error("recipe", std::string(hardware::ToText(format)) +
                            " products: " + hardware::WhyNotFormat(device, format) + "; \"" + device.name +
                            "\" has " + hardware::FormatsOf(device));
}

// What is not simulated together with a recipe.
void CheckTogether(const Block& block, const Scenario& scenario) {
  const Training& training = scenario.training;
  if (sim::ByteWidth(training.format) != 2) {
    block.Error("recipe", std::string("with training.format ") + hardware::ToText(training.format) +
                              "; BF16 or FP16 is wanted");
  }
  if (training.recompute == Recompute::kSelective &&
      (training.selective.norm_output || training.selective.nonlinearity)) {
    block.Error("recipe",
                "is not simulated with recompute_modules LAYERNORM or NONLINEARITY, whose outputs "
                "are kept in eight bits only; CORE_ATTENTION would do");
  }
  const bool cut = training.optimizer_sharding == OptimizerSharding::kZero3;
  if (training.matmul.cast_each_gather && !(cut && training.matmul.parameter_gather)) {
    block.Error("cast_each_gather", "true needs fp8_param_gather true and optimizer_sharding ZERO_3");
  }
  if (!training.matmul.parameter_gather) return;
  const bool sharded = training.optimizer_sharding != OptimizerSharding::kReplicated;
  if (!sharded) {
    block.Error("fp8_param_gather", "nothing is gathered with NONE; ZERO_1, ZERO_2 or ZERO_3 is wanted");
  }
  if (training.matmul.recipe == models::Recipe::kMx) {
    block.Error("fp8_param_gather", "MXFP8 weights are gathered in BF16; false is wanted");
  }
}

}  // namespace

// REQUIRES: the rest of training, the model and the device are read
void ReadMatmul(const config::Training& in, const Block& training, bool has_device, Scenario* scenario) {
  if (!in.has_matmul()) return;
  const Block block = training.Of("matmul");
  const config::Matmul& from = in.matmul();
  Matmul& matmul = scenario->training.matmul;
  matmul.recipe = RecipeOf(from.recipe());
  if (matmul.recipe == models::Recipe::kNone) {
    block.Missing("recipe", "one of FP8_TENSOR_DELAYED, FP8_TENSOR_CURRENT, FP8_BLOCK and MXFP8 is wanted");
    return;
  }
  constexpr std::int64_t kMostLayers = 1'000'000;
  const std::int64_t layers = scenario->model.layers > 0 ? scenario->model.layers : kMostLayers;
  const auto some = [&](const char* name, bool has, std::int64_t value) {
    return block.Optional(name, has, value, 0, layers, 0);
  };
  matmul.first_layers_bf16 =
      some("first_layers_bf16", from.has_first_layers_bf16(), from.first_layers_bf16());
  matmul.last_layers_bf16 = some("last_layers_bf16", from.has_last_layers_bf16(), from.last_layers_bf16());
  matmul.parameter_gather = from.fp8_param_gather();
  matmul.cast_each_gather = from.cast_each_gather();
  CheckTogether(block, *scenario);
  if (has_device) CheckDevice(block, *scenario);
}

}  // namespace scenarios
