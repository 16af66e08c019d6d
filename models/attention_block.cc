#include "models/attention_core.h"
#include "models/context_core.h"
#include "models/kernels.h"
#include "models/operations.h"
#include "models/quantise.h"
#include "models/transformer.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;

void AddHeadNorms(const Core& core, bool backward, std::vector<Kernel>* kernels) {
  const std::int64_t width = core.model.head_dim;
  const std::int64_t query_rows = core.sizes.tokens * core.heads,
                     key_rows = core.sizes.tokens * core.kv_heads;
  if (backward) {
    AddNormBackward("key_norm_backward", Norm::kRms, key_rows, width, core.execution, kernels);
    AddNormBackward("query_norm_backward", Norm::kRms, query_rows, width, core.execution, kernels);
  } else {
    AddNorm("query_norm", Norm::kRms, query_rows, width, core.execution, kernels);
    AddNorm("key_norm", Norm::kRms, key_rows, width, core.execution, kernels);
  }
}

void AddMain(const Core& core, Block* block) {
  const Sizes& sizes = core.sizes;
  const std::int64_t qkv = sizes.query + 2 * sizes.kv;
  const std::int64_t vector = qkv * sizes.element;
  const bool bias = core.model.biases.qkv, fused = core.execution.fused;
  std::vector<Kernel>* main = &block->main;
  const std::int64_t hidden = core.model.hidden;
  const auto format = LinearFormat(core.execution);
  main->push_back(Gemm("qkv", {sizes.tokens, qkv, hidden, 1}, format, bias && fused ? vector : 0));
  AddWeightCast(core.execution, qkv, hidden, 1, block);
  if (bias && !fused) main->push_back(Moves("qkv_bias", 2 * sizes.tokens * vector + vector));
  if (core.model.relative_positions) {
    AddCast("cast_input", core.execution, core.length * hidden, main);
    main->push_back(Gemm("position_keys", {core.length, sizes.query, hidden, 1}, format));
    AddWeightCast(core.execution, sizes.query, hidden, 1, block);
  }
  if (core.model.qk_norm) AddHeadNorms(core, false, main);
  if (core.model.rotary) AddRotary(core, "rotary", core.query_bytes + core.key_bytes, main);
  main = AddCoreForwardTo(core, block);
  AddCast("cast_input", core.execution, sizes.tokens * sizes.query, main);
  main->push_back(Gemm("attention_output", {sizes.tokens, hidden, sizes.query, 1}, format));
  AddWeightCast(core.execution, hidden, sizes.query, 1, block);
}

void AddBackwardMain(const Core& core, Block* block) {
  const Sizes& sizes = core.sizes;
  const std::int64_t hidden = core.model.hidden, qkv = sizes.query + 2 * sizes.kv;
  std::vector<Kernel>* main = &block->backward_main;
  const auto format = LinearFormat(core.execution);
  main->push_back(Gemm("attention_output_dgrad", {sizes.tokens, sizes.query, hidden, 1}, format));
  AddWeightGradient("attention_output_wgrad", hidden, sizes.query, sizes.tokens, core.execution, main);
  main = AddCoreBackwardTo(core, block);
  if (core.model.rotary) AddRotary(core, "rotary_backward", core.query_bytes + core.key_bytes, main);
  if (core.model.qk_norm) AddHeadNorms(core, true, main);
  if (core.model.relative_positions) {
    AddCast("cast_gradient", core.execution, core.length * sizes.query, main);
    AddWeightGradient("position_keys_wgrad", sizes.query, hidden, core.length, core.execution, main);
  }
  if (core.model.biases.qkv) AddBiasGradient("qkv_bias_gradient", sizes.tokens * qkv * sizes.element, main);
  AddCast("cast_gradient", core.execution, sizes.tokens * qkv, main);
  main->push_back(Gemm("qkv_dgrad", {sizes.tokens, hidden, qkv, 1}, format));
  if (SharesNorm(core.model)) {
    main->push_back(Moves("branch_gradient_sum", 3 * sizes.whole_h * sizes.element));
  }
  AddWeightGradient("qkv_wgrad", qkv, hidden, sizes.tokens, core.execution, &block->backward_weight);
}

void AddActivations(const Core& core, Block* block) {
  const Sizes& sizes = core.sizes;
  std::vector<Activation>* kept = &block->activations;
  const Bytes cut(sizes.cut_h * sizes.element);
  KeepNorm("norm_input", core.model.norm, sizes.cut_h, core.execution, false, kept);
  const SelectiveModules& modules = core.execution.selective;
  kept->push_back({"qkv_input", Bytes(LinearInputBytes(core.execution, sizes.cut_h)),
                   modules.norm_output || modules.operations});
  if (core.model.qk_norm) {
    const std::int64_t element = sizes.element;
    KeepNorm("query_norm_input", Norm::kRms, core.query_bytes / element, core.execution, false, kept);
    KeepNorm("key_norm_input", Norm::kRms, core.key_bytes / element, core.execution, modules.operations,
             kept);
  }
  AddCoreActivations(core, kept);
  if (modules.operations && core.execution.tensor > 1) {
    kept->push_back({"attention_reduced", cut, false, /*instead=*/true});
  }
}

Block GroupedAttentionBlock(const Core& core) {
  const Model& model = core.model;
  const Execution& execution = core.execution;
  const bool bias = model.biases.attention_output;
  Block block;
  block.name = "attention";
  AddActivations(core, &block);
  AddNorm("norm", model.norm, core.sizes.cut, model.hidden, execution, &block.before_gather);
  AddGatheredInputCast(model, execution, &block);
  AddMain(core, &block);
  if (model.parallel_residual) {
    // The feed-forward's end adds both to the residual.
    if (bias)
      AddBiasGradient("output_bias_gradient", core.sizes.cut_h * core.sizes.element, &block.backward_head);
  } else {
    AddAfterReduce(model, execution, bias, &block);
    AddBackwardHead(model, execution, bias, &block);
    AddGatheredGradientCast(model, execution, &block);
  }
  AddNormAgain(model, execution, &block);
  AddCoreAgain(core, &block);
  AddBackwardMain(core, &block);
  AddBackwardTail(model, execution, &block);
  AddCommunication(model, execution, Half::kAttention, &block);
  AddAttentionOperationsAgain(model, execution, &block);
  return block;
}

}  // namespace

Bytes KeyValueBytes(const Model& model, const Execution& execution, std::int64_t parts) {
  const Core core(model, execution, 0);
  return Bytes(parts * (core.key_bytes + core.value_bytes));
}

Block AttentionBlock(const Model& model, const Execution& execution, std::int64_t layer) {
  const Core core(model, execution, layer);
  return model.has_latent() ? LatentAttentionBlock(core) : GroupedAttentionBlock(core);
}

}  // namespace models
