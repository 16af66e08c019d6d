// Training: the preset of the row's framework, and what the row says itself.

#include "proto/scenario.pb.h"
#include "scenarios/published/row_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

struct Framework {
  const char* source;     // in the row's source
  const char* precision;  // in its precision; "" = any
  const char* preset;
};

// The first that fits.
constexpr Framework kFrameworks[] = {
    {"BigScience", "bf16", "megatron_deepspeed_bf16"},
    {"BigScience", "", "megatron_deepspeed_fp16"},
    {"Hagemann", "", "aa_scaling"},
    {"InternEvo", "", "internevo"},
    {"Korthikanti", "", "megatron_lm_2022"},
    {"Megatron-Bridge", "", "megatron_bridge_26"},
    {"Megatron-LM README 2020", "", "megatron_lm_2020"},
    {"NeMo 24.07", "", "nemo_24_07"},
    {"NeMo long-context", "", "nemo_24_07"},
    {"NeMo Framework docs", "", "nemo_25"},
    {"dgxc-benchmarking", "", "nemo_25"},
    {"SC21", "", "megatron_lm_sc21"},
    {"SimuMax", "", "megatron_core_0_8"},
    {"Ultra-Scale", "", "nanotron"},
    {"Zero Bubble", "", "megatron_core_0_8"},
    {"flash-attention training", "", "flash_attention_training"},
    {"llm-foundry", "", "llm_foundry_fsdp"},
    {"torchtitan", "", "torchtitan_fsdp2"},
    {"vTrain", "", "megatron_deepspeed_fp16"},
    {"Megatron-LM", "", "megatron_core_0_8"},  // its tests, its README of 2024
};

void WritePreset(const StepRow& row, Draft* draft) {
  for (const Framework& framework : kFrameworks) {
    if (!Says(row.source, framework.source) || !Says(row.precision, framework.precision)) continue;
    draft->scenario->set_preset(framework.preset);
    return;
  }
  draft->Assume("no preset is known for this source: the defaults of a scenario");
}

// The first that a row's precision says.
struct Recipe {
  const char* says;
  config::MatmulRecipe::Kind recipe;
};
constexpr Recipe kRecipes[] = {{"MXFP8", config::MatmulRecipe::MXFP8},
                               {"FP8-MX", config::MatmulRecipe::MXFP8},
                               {"current", config::MatmulRecipe::FP8_TENSOR_CURRENT},
                               {"tensorwise", config::MatmulRecipe::FP8_TENSOR_CURRENT},
                               {"FP8-CS", config::MatmulRecipe::FP8_TENSOR_CURRENT},
                               {"delayed", config::MatmulRecipe::FP8_TENSOR_DELAYED}};

bool CutsWeights(const StepRow& row) { return Says(row.sharding, "FSDP") || Says(row.sharding, "ZeRO-3"); }

// NeMo had no other recipe than delayed scaling before Megatron-Bridge, whose default on H100 is
// current scaling. Source: NVIDIA, Megatron-Bridge, docs/training/mixed-precision.md.
config::MatmulRecipe::Kind UnstatedRecipe(const StepRow& row, Draft* draft) {
  const bool current = Says(row.source, "Megatron-Bridge") || Says(row.source, "torchtitan");
  draft->Assume(std::string("the recipe of FP8 is not stated: ") +
                (current ? "current scaling" : "delayed scaling"));
  return current ? config::MatmulRecipe::FP8_TENSOR_CURRENT : config::MatmulRecipe::FP8_TENSOR_DELAYED;
}

// Cut weights are cast before they are gathered: NVIDIA's recipes with one scale a tensor hold them in eight
// bits, torchtitan's benchmarks cast each share. Source: NVIDIA, Megatron-Bridge,
// training/mixed_precision.py; torchtitan, docs/float8.md.
void WriteEightBitGather(const StepRow& row, config::Matmul* matmul, Draft* draft) {
  if (matmul->recipe() == config::MatmulRecipe::MXFP8) return;
  draft->Assume("weights are gathered in FP8, which is not stated");
  matmul->set_fp8_param_gather(true);
  if (Says(row.source, "torchtitan")) matmul->set_cast_each_gather(true);
}

void WriteEightBits(const StepRow& row, Draft* draft) {
  config::Training& out = *draft->scenario->mutable_training();
  out.set_format(config::Format::BF16);
  if (Says(row.precision, "rowwise")) {
    return draft->Refuse("precision: FP8 with a scale a row is not simulated yet");
  }
  config::Matmul* matmul = out.mutable_matmul();
  for (const Recipe& recipe : kRecipes) {
    if (!Says(row.precision, recipe.says)) continue;
    matmul->set_recipe(recipe.recipe);
    break;
  }
  if (!matmul->has_recipe()) matmul->set_recipe(UnstatedRecipe(row, draft));
  if (CutsWeights(row)) WriteEightBitGather(row, matmul, draft);
}

void WritePrecision(const StepRow& row, Draft* draft) {
  config::Training& out = *draft->scenario->mutable_training();
  if (Says(row.precision, "NVFP4")) return draft->Refuse("precision: NVFP4 is not simulated yet");
  if (Says(row.precision, "FP8") || Says(row.precision, "float8")) return WriteEightBits(row, draft);
  if (Says(row.precision, "bf16")) {
    out.set_format(config::Format::BF16);
  } else if (Says(row.precision, "fp16")) {
    out.set_format(config::Format::FP16);
  } else {
    return draft->Refuse("precision: not understood");
  }
  if (Says(row.precision, "fp32 grad")) out.set_gradient_type(config::Format::FP32);
  // Composer's mixed precision PURE reduces in the format of the weights.
  if (Says(row.precision, "PURE")) out.set_gradient_type(out.format());
}

void WriteAttention(const StepRow& row, Draft* draft) {
  config::Training& out = *draft->scenario->mutable_training();
  const std::string& text = row.attention;
  const bool engine = text.find("TE") != text.npos;  // Transformer Engine; "te" is in "attention"
  if (Says(text, "unfused") || Says(text, "softmax") || text == "torch" || text == "fused") {
    out.set_attention(config::Attention::UNFUSED);  // "fused" is Megatron-LM's softmax
  } else if (engine || Says(text, "cuDNN") || Says(text, "CP ring")) {
    out.set_attention(config::Attention::CUDNN);
  } else if (Says(text, "flash")) {
    out.set_attention(config::Attention::FLASH2);
    if (Says(text, "v1") || Says(text, "triton")) {
      draft->LeaveOut("FlashAttention before 2, whose kernels are slower: FLASH2");
    }
  } else {
    draft->Refuse("attention: not understood");
  }
  if (Says(text, "RMS kernel")) out.set_fused_norms(true);
}

void WriteRecompute(const StepRow& row, Draft* draft) {
  config::Training& out = *draft->scenario->mutable_training();
  const std::string& text = row.recompute;
  const auto starts = [&](const char* start) {
    return Says(text.substr(0, std::string(start).size()), start);
  };
  if (starts("none")) {
    out.set_recompute(config::Recompute::NONE);
    if (Says(text, "stated")) draft->Assume("no recomputation, which is not stated");
  } else if (starts("unstated") || starts("unspecified") || starts("per recipe")) {
    out.set_recompute(config::Recompute::NONE);
    draft->Assume("no recomputation, which is not stated");
  } else if (starts("full")) {
    out.set_recompute(config::Recompute::FULL);
    const std::int64_t layers = NumberAfter(text, "full for ", 0);
    if (layers == 0) return;
    out.set_recompute_method(config::RecomputeMethod::BLOCK);
    out.set_recompute_layers(layers);
  } else if (Says(text, "offload")) {
    const std::int64_t layers = NumberAfter(text, "activation offload ", 0);
    if (layers == 0) return draft->Refuse("recompute: not understood");
    out.set_recompute(config::Recompute::NONE);
    out.mutable_offload()->set_activation_layers(layers);
  } else if (Says(text, "selective (op)")) {
    out.set_recompute(config::Recompute::OPERATIONS);
  } else if (Says(text, "attention core")) {
    out.set_recompute(config::Recompute::SELECTIVE);
  } else if (starts("selective modules: ")) {
    out.set_recompute(config::Recompute::SELECTIVE);
    if (Says(text, "layernorm")) out.add_recompute_modules(config::RecomputeModule::LAYERNORM);
    if (Says(text, "moe_act")) out.add_recompute_modules(config::RecomputeModule::MOE_ACT);
    if (Says(text, "core_attn")) out.add_recompute_modules(config::RecomputeModule::CORE_ATTENTION);
  } else {
    draft->Refuse("recompute: not understood");
  }
}

// Data ranks that share one copy of the state: "sharded within 8-GPU node", "group of 4".
std::int64_t RanksOfACopy(const StepRow& row) {
  const std::int64_t node = NumberAfter(row.sharding, "within ", 0);
  return node > 0 ? node / row.tp : NumberAfter(row.sharding, "group of ", 0);
}

void WriteSharding(const StepRow& row, Draft* draft) {
  config::Training& out = *draft->scenario->mutable_training();
  const std::string& text = row.sharding;
  if (CutsWeights(row)) {
    out.set_optimizer_sharding(config::OptimizerSharding::ZERO_3);
  } else if (Says(text, "ZeRO-1") || Says(text, "distributed optimizer")) {
    out.set_optimizer_sharding(config::OptimizerSharding::ZERO_1);
    const std::int64_t ranks = RanksOfACopy(row);
    if (ranks > 0 && ranks < row.dp) out.mutable_sharding()->set_ranks(ranks);
  } else if (text.starts_with("none") || text == "DDP" || Says(text, "ZeRO-0")) {
    out.set_optimizer_sharding(config::OptimizerSharding::NONE);
  } else if (Says(text, "unstated")) {
    out.set_optimizer_sharding(config::OptimizerSharding::NONE);
    draft->Assume("optimizer state is whole on each rank, which is not stated");
  } else {
    draft->Refuse("sharding: not understood");
  }
}

void WriteOverlap(const StepRow& row, Draft* draft) {
  config::Training& out = *draft->scenario->mutable_training();
  const std::string& text = row.overlap;
  const bool gathers = out.optimizer_sharding() == config::OptimizerSharding::ZERO_1;
  if (Says(text, "all overlap OFF")) {
    out.set_overlap_gradient_reduce(false);
    if (gathers) out.set_overlap_parameter_gather(false);
  }
  if (Says(text, "no overlap) for pp>1") && row.pp > 1) out.set_overlap_gradient_reduce(false);
  if (Says(text, "CE fusion on")) out.set_fused_loss(true);
  if (text == "eager") {
    out.set_fused_kernels(false);
    out.set_fused_loss(false);
  }
  const bool off = Says(text, "all overlap OFF");
  for (const char* name : {"tp-comm-overlap", "TP userbuffer", "AsyncTP", "async TP", "DP/TP/PP overlap"}) {
    if (row.tp == 1 || off || !Says(text, name)) continue;
    // As ReadTensorOverlap; of the rows' models DeepSeek's have latent attention. nanotron gathers in one
    // piece beside the product of the rank's own rows.
    const bool in_pieces = !Says(row.source, "nanotron") && draft->scenario->layout().sequence() &&
                           !Says(row.model_name, "DeepSeek") &&
                           !draft->scenario->pipeline().delay_weight_gradients();
    if (in_pieces) out.set_tensor_overlap(config::TensorOverlap::PIPELINED);
    if (!in_pieces) draft->LeaveOut("tensor-parallel communication beside its own product");
    break;
  }
  const bool whole = Says(text, "full_iteration") && !Says(text, "cuda_graph=none");
  out.set_launches(whole ? config::Launches::CUDA_GRAPHS : config::Launches::EAGER);
  if (Says(text, "cuda_graph=transformer_engine")) draft->LeaveOut("CUDA graphs of parts of a layer");
  if (Says(text, "LAUNCH_BLOCKING")) out.set_launches(config::Launches::BLOCKING);
}

}  // namespace

void WriteTraining(const StepRow& row, Draft* draft) {
  if (Says(row.notes, "LoRA")) draft->Refuse("training: fine-tuning by LoRA is not simulated");
  if (Says(row.notes, "vboost")) draft->LeaveOut("raised clocks (vboost)");
  WritePreset(row, draft);
  WritePrecision(row, draft);
  WriteAttention(row, draft);
  WriteRecompute(row, draft);
  WriteSharding(row, draft);
  WriteOverlap(row, draft);
}

}  // namespace scenarios
