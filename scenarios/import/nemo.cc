// NeMo 1's YAML of a GPT, as its launcher writes it: OmegaConf, with Megatron-LM's
// arguments under names of its own.
//
// Source of keys and defaults: NeMo 1.23, examples/nlp/language_modeling/conf/
// megatron_gpt_config.yaml and the configuration of its launcher.

#include <algorithm>
#include <string>
#include <utility>

#include "scenarios/import/importers.h"
#include "scenarios/import/megatron.h"
#include "scenarios/import/translate.h"
#include "scenarios/import/trees.h"

namespace scenarios {
namespace {

using How = KeyName::How;
using enum Treatment;

constexpr KeyName kNames[] = {
    {"trainer.num_nodes", "nnodes"},
    {"trainer.devices", "nproc-per-node"},
    {"trainer.gradient_clip_val", "clip-grad"},
    {"model.micro_batch_size", "micro-batch-size"},
    {"model.global_batch_size", "global-batch-size"},
    {"model.rampup_batch_size", "rampup-batch-size"},
    {"model.tensor_model_parallel_size", "tensor-model-parallel-size"},
    {"model.pipeline_model_parallel_size", "pipeline-model-parallel-size"},
    {"model.virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank"},
    {"model.context_parallel_size", "context-parallel-size"},
    {"model.expert_model_parallel_size", "expert-model-parallel-size"},
    {"model.expert_tensor_parallel_size", "expert-tensor-parallel-size"},
    {"model.sequence_parallel", "sequence-parallel"},
    {"model.encoder_seq_length", "seq-length"},
    {"model.max_position_embeddings", "max-position-embeddings"},
    {"model.num_layers", "num-layers"},
    {"model.hidden_size", "hidden-size"},
    {"model.ffn_hidden_size", "ffn-hidden-size"},
    {"model.num_attention_heads", "num-attention-heads"},
    {"model.num_query_groups", "num-query-groups"},
    {"model.kv_channels", "kv-channels"},
    {"model.qk_layernorm", "qk-layernorm"},
    {"model.hidden_dropout", "hidden-dropout"},
    {"model.attention_dropout", "attention-dropout"},
    {"model.make_vocab_size_divisible_by", "make-vocab-size-divisible-by"},
    {"model.override_vocab_size", "vocab-size"},
    {"model.bias", "disable-bias-linear", How::kOnWhenOff},
    {"model.position_embedding_type", "position-embedding-type"},
    {"model.share_embeddings_and_output_weights", "untie-embeddings-and-output-weights", How::kOnWhenOff},
    {"model.overlap_p2p_comm", "no-overlap-p2p-communication", How::kOnWhenOff},
    {"model.activations_checkpoint_granularity", "recompute-granularity"},
    {"model.activations_checkpoint_method", "recompute-method"},
    {"model.activations_checkpoint_num_layers", "recompute-num-layers"},
    {"model.ub_tp_comm_overlap", "tp-comm-overlap"},
    {"model.use_flash_attention", "use-flash-attn"},
    {"model.num_moe_experts", "num-experts"},
    {"model.moe_router_topk", "moe-router-topk"},
    {"model.moe_grouped_gemm", "moe-grouped-gemm"},
    {"model.moe_token_dispatcher_type", "moe-token-dispatcher-type"},
    {"model.moe_aux_loss_coeff", "moe-aux-loss-coeff"},
    {"model.moe_router_load_balancing_type", "moe-router-load-balancing-type"},
    {"model.moe_expert_capacity_factor", "moe-expert-capacity-factor"},
    {"model.optim.overlap_grad_sync", "overlap-grad-reduce"},
    {"model.optim.overlap_param_sync", "overlap-param-gather"},
};

constexpr KeyRule kRules[] = {
    {"trainer.precision", kMapped},
    {"trainer.*", kHarmless},
    {"model.activation", kMapped},
    {"model.normalization", kMapped},
    {"model.transformer_engine", kMapped},
    {"model.optim.name", kMapped},
    {"model.optim.grad_sync_dtype", kMapped},
    {"model.optim.bucket_cap_mb", kLeftOut, "size of gradient buckets"},
    {"model.optim.*", kHarmless},
    {"model.fp8", kMapped},
    {"model.fp8_e4m3", kMapped},
    {"model.fp8_hybrid", kHarmless},
    {"model.fp8_params", kMapped},
    {"model.fp8_recipe", kMapped},
    {"model.fp8_*", kHarmless},
    {"model.reduce_amax", kHarmless},
    {"model.mcore_gpt", kHarmless},
    {"model.megatron_amp_O2", kHarmless},
    {"model.pipeline_model_parallel_split_rank", kRefused, "an encoder"},
    {"model.activations_checkpoint_layers_per_pipeline", kLeftOut, "fewer recomputed layers on later stages"},
    {"model.num_micro_batches_with_partial_activation_checkpoints", kLeftOut,
     "micro-batches that recompute less"},
    {"model.grad_div_ar_fusion", kHarmless},
    {"model.gradient_accumulation_fusion", kHarmless},
    {"model.bias_activation_fusion", kHarmless},
    {"model.bias_dropout_add_fusion", kHarmless},
    {"model.masked_softmax_fusion", kHarmless},
    {"model.apply_rope_fusion", kHarmless},
    {"model.get_attention_mask_from_fusion", kHarmless},
    {"model.grad_allreduce_chunk_size_mb", kLeftOut, "size of gradient buckets"},
    {"model.batch_p2p_comm", kHarmless},
    {"model.ub_tp_comm_overlap_*", kHarmless},
    {"model.tp_comm_*", kHarmless},
    {"model.cpu_offloading", kMapped},
    {"model.cpu_offloading_num_layers", kMapped},
    {"model.cpu_offloading_weights", kMapped},
    {"model.cpu_offloading_*", kHarmless},
    {"model.sharp", kLeftOut, "reduction in the switches"},
    {"model.headscale", kRefused, "a scale a head"},
    {"model.transformer_block_type", kHarmless},
    {"model.openai_gelu", kHarmless},
    {"model.onnx_safe", kHarmless},
    {"model.rotary_*", kHarmless},
    {"model.seq_len_interpolation_factor", kHarmless},
    {"model.attention_type", kHarmless},
    {"model.normalize_attention_scores", kHarmless},
    {"model.apply_query_key_layer_scaling", kHarmless},
    {"model.layernorm_epsilon", kHarmless},
    {"model.do_layer_norm_weight_decay", kHarmless},
    {"model.persist_layer_norm", kHarmless},
    {"model.init_method_std", kHarmless},
    {"model.use_scaled_init_method", kHarmless},
    {"model.ffn_dropout", kHarmless},
    {"model.pre_process", kHarmless},
    {"model.post_process", kHarmless},
    {"model.native_amp_*", kHarmless},
    {"model.hysteresis", kHarmless},
    {"model.fp32_residual_connection", kLeftOut, "residuals in FP32"},
    {"model.fp16_lm_cross_entropy", kHarmless},
    {"model.use_cpu_initialization", kHarmless},
    {"model.gradient_as_bucket_view", kHarmless},
    {"model.sync_batch_comm", kHarmless},
    {"model.seed", kHarmless},
    {"model.resume_from_checkpoint", kHarmless},
    {"model.dist_ckpt_*", kHarmless},
    {"model.gc_interval", kHarmless},
    {"model.precision", kHarmless},
    {"model.name", kHarmless},
    {"model.nccl_communicator_config_path", kHarmless},
    {"model.nsys_profile*", kHarmless},
    {"model.memory_profile*", kHarmless},
    {"model.tokenizer*", kHarmless},
    {"model.data*", kHarmless},
    {"model.enable_*", kHarmless},
    {"exp_manager*", kHarmless},
    {"run.*", kHarmless},
    {"name", kHarmless},
    {"restore_from_path", kHarmless},
    {"defaults", kHarmless},
};

// Puts arguments that stand for a word of NeMo's, with that word's place.
class Adder {
 public:
  Adder(Settings* from, std::vector<Setting>* to) : from_(from), to_(to) {}
  void Add(const std::string& argument, const std::string& value, const std::string& key) {
    const std::string place = from_->Place(key);
    const std::size_t end = place.rfind(": ");
    to_->push_back({argument, place.substr(end + 2), place.substr(0, end), ScalarNode(value), ""});
  }

 private:
  Settings* from_;
  std::vector<Setting>* to_;
};

void ReadOffload(Settings* s, Adder* out) {
  if (!s->Flag("model.cpu_offloading")) return;
  const char* key = "model.cpu_offloading_num_layers";
  const std::int64_t layers = s->Required(key, 1, 1000, "layers are wanted");
  out->Add("cpu-offloading-num-layers", std::to_string(layers), key);
  // Source: NeMo 2.0, megatron_gpt_config.yaml: on unless told otherwise.
  if (s->Boolean("model.cpu_offloading_weights").value_or(true)) {
    s->Error("model.cpu_offloading_weights", "weights on the host are not simulated; false is wanted");
  }
}

void ReadPrecision(Settings* s, Adder* out) {
  const std::string precision = s->OneOf("trainer.precision", {"bf16", "bf16-mixed", "bf16-true", "16",
                                                               "16-mixed", "16-true", "32", "32-true"})
                                    .value_or("32");
  if (precision.starts_with("bf16")) out->Add("bf16", "true", "trainer.precision");
  if (precision.starts_with("16")) out->Add("fp16", "true", "trainer.precision");
  if (s->Flag("model.fp8"))
    out->Add("fp8-format", s->Flag("model.fp8_e4m3") ? "e4m3" : "hybrid", "model.fp8");
  if (s->Flag("model.fp8") && s->Flag("model.fp8_params")) {
    out->Add("fp8-param-gather", "true", "model.fp8_params");
  }
  if (const auto recipe = s->OneOf("model.fp8_recipe", {"tensorwise", "delayed", "blockwise", "mxfp8"})) {
    out->Add("fp8-recipe", *recipe, "model.fp8_recipe");
  }
  const auto gradient = s->OneOf("model.optim.grad_sync_dtype", {"bf16", "fp32"});
  if (gradient == "bf16") out->Add("grad-reduce-in-bf16", "true", "model.optim.grad_sync_dtype");
  if (gradient == "fp32")
    out->Add("accumulate-allreduce-grads-in-fp32", "true", "model.optim.grad_sync_dtype");
  const std::string optimizer =
      s->OneOf("model.optim.name",
               {"fused_adam", "adam", "adamw", "distributed_fused_adam", "mcore_distributed_optim"})
          .value_or("fused_adam");
  const bool cut = optimizer == "distributed_fused_adam" || optimizer == "mcore_distributed_optim";
  if (cut) out->Add("use-distributed-optimizer", "true", "model.optim.name");
  if (!s->Boolean("model.transformer_engine").value_or(true)) {
    out->Add("transformer-impl", "local", "model.transformer_engine");
  }
}

void ReadShapes(Settings* s, Adder* out) {
  const std::string norm =
      s->OneOf("model.normalization", {"layernorm", "layernorm1p", "rmsnorm"}).value_or("layernorm");
  out->Add("normalization", norm == "rmsnorm" ? "RMSNorm" : "LayerNorm", "model.normalization");
  const std::string activation =
      s->OneOf("model.activation", {"gelu", "swiglu", "fast-swiglu", "geglu", "fast-geglu", "squared-relu"})
          .value_or("gelu");
  if (activation.ends_with("swiglu")) out->Add("swiglu", "true", "model.activation");
  if (activation.ends_with("geglu")) out->Add("quick-geglu", "true", "model.activation");
  if (activation == "squared-relu") out->Add("squared-relu", "true", "model.activation");
}

}  // namespace

std::optional<ImportedJob> ImportNemo(const ImportRequest& request, proto::Diagnostics* diagnostics) {
  const auto tree = ParseYaml(request.file, request.text, diagnostics);
  if (!tree) return std::nullopt;
  std::vector<Setting> all = Flatten(request.file, *tree);
  ApplyGiven(request.given, "", &all);
  ResolveInterpolations(&all);
  std::vector<Setting> arguments = Translate(kNames, &all);
  Settings own(request.file, "", std::move(all), false, diagnostics);
  Adder adder(&own, &arguments);
  ReadPrecision(&own, &adder);
  ReadOffload(&own, &adder);
  ReadShapes(&own, &adder);
  // Groups given are groups that count; not given, every head has its own keys.
  const auto groups = std::find_if(arguments.begin(), arguments.end(), [](const Setting& setting) {
    return setting.key == "num-query-groups" && setting.value.text != "null";
  });
  if (groups != arguments.end()) {
    arguments.push_back(
        {"group-query-attention", groups->shown, groups->place, ScalarNode("true"), groups->doubt});
  }
  std::vector<KeyRule> rules(std::begin(kRules), std::end(kRules));
  for (const KeyName& name : kNames) rules.push_back({name.from, Treatment::kMapped});
  std::vector<std::string> not_mapped = own.NotMapped(rules, request.keep_unknown);
  Settings settings(request.file, "", std::move(arguments), false, diagnostics);
  for (const KeyName& name : kNames) settings.ShowAs(name.to, name.from);
  return ImportMegatronSettings(request, "NeMo", &settings, std::move(not_mapped), diagnostics);
}

}  // namespace scenarios
