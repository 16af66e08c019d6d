// DeepSpeed's ds_config.json. It says how a job is shared, not what is trained: the
// model and the sequence length come from the command line.
//
// Source of keys and defaults: DeepSpeed 0.15, runtime/config.py and runtime/zero/config.py;
// its documentation, "DeepSpeed configuration JSON".

#include <algorithm>
#include <string>
#include <utility>

#include "scenarios/import/importers.h"
#include "scenarios/import/trees.h"
#include "sim/base/units.h"

namespace scenarios {
namespace {

using enum Treatment;

constexpr KeyRule kRules[] = {
    {"train_batch_size", kMapped},
    {"train_micro_batch_size_per_gpu", kMapped},
    {"gradient_accumulation_steps", kMapped},
    {"gradient_clipping", kMapped},
    {"bf16.enabled", kMapped},
    {"bfloat16.enabled", kMapped},
    {"fp16.enabled", kMapped},
    {"communication_data_type", kMapped},
    {"data_types.grad_accum_dtype", kLeftOut, "the type that gradients are added in"},
    {"optimizer.type", kMapped},
    {"zero_optimization.stage", kMapped},
    {"zero_optimization.overlap_comm", kMapped},
    {"zero_optimization.reduce_bucket_size", kMapped},
    {"zero_optimization.mics_shard_size", kMapped},
    {"zero_optimization.stage3_prefetch_bucket_size", kMapped},
    {"zero_optimization.offload_optimizer.device", kMapped},
    {"zero_optimization.offload_param.device", kMapped},
    {"zero_optimization.offload_optimizer.ratio", kMapped},
    {"tensor_parallel.autotp_size", kMapped},
    {"sequence_parallel_size", kMapped},
    {"zero_optimization.allgather_bucket_size", kLeftOut, "weights are gathered by their own buckets"},
    {"zero_optimization.allgather_partitions", kLeftOut, "broadcasts in place of an all-gather"},
    {"zero_optimization.reduce_scatter", kHarmless},
    {"zero_optimization.contiguous_gradients", kHarmless},
    {"zero_optimization.round_robin_gradients", kHarmless},
    {"zero_optimization.sub_group_size", kLeftOut, "the optimizer in parts"},
    {"zero_optimization.stage3_param_persistence_threshold", kLeftOut, "small weights that stay whole"},
    {"zero_optimization.stage3_max_live_parameters", kLeftOut, "a cap of whole weights"},
    {"zero_optimization.stage3_max_reuse_distance", kLeftOut, "weights kept for an early second use"},
    {"zero_optimization.stage3_gather_16bit_weights_on_model_save", kHarmless},
    {"zero_optimization.gather_16bit_weights_on_model_save", kHarmless},
    {"zero_optimization.ignore_unused_parameters", kHarmless},
    {"zero_optimization.elastic_checkpoint", kHarmless},
    {"zero_optimization.load_from_fp32_weights", kHarmless},
    {"zero_optimization.zero_hpz_partition_size", kRefused, "a second copy of weights in each node"},
    {"zero_optimization.zero_quantized_weights", kRefused, "weights moved in fewer bits"},
    {"zero_optimization.zero_quantized_gradients", kRefused, "gradients moved in fewer bits"},
    {"zero_optimization.zero_quantized_nontrainable_weights", kHarmless},
    {"zero_optimization.mics_hierarchical_params_gather", kLeftOut, "a gather in two levels"},
    {"zero_optimization.offload_optimizer*", kHarmless},
    {"zero_optimization.offload_param*", kHarmless},
    {"zero_optimization.leaf_module*", kHarmless},
    {"optimizer.params*", kHarmless},
    {"scheduler*", kHarmless},
    {"bf16*", kHarmless},
    {"fp16*", kHarmless},
    {"amp*", kHarmless},
    {"activation_checkpointing.partition_activations", kLeftOut, "inputs of recomputed layers cut"},
    {"activation_checkpointing.cpu_checkpointing", kRefused, "offload to the host"},
    {"activation_checkpointing.*", kLeftOut,
     "what is recomputed is the program's choice: see training.recompute"},
    {"prescale_gradients", kHarmless},
    {"gradient_predivide_factor", kHarmless},
    {"sparse_gradients", kHarmless},
    {"zero_allow_untested_optimizer", kHarmless},
    {"zero_force_ds_cpu_optimizer", kHarmless},
    {"steps_per_print", kHarmless},
    {"wall_clock_breakdown", kHarmless},
    {"dump_state", kHarmless},
    {"memory_breakdown", kHarmless},
    {"disable_allgather", kHarmless},
    {"seed", kHarmless},
    {"aio*", kHarmless},
    {"flops_profiler*", kHarmless},
    {"comms_logger*", kHarmless},
    {"tensorboard*", kHarmless},
    {"wandb*", kHarmless},
    {"csv_monitor*", kHarmless},
    {"checkpoint*", kHarmless},
    {"data_efficiency*", kLeftOut, "shorter sequences at first"},
    {"curriculum_learning*", kLeftOut, "shorter sequences at first"},
    {"elasticity*", kHarmless},
    {"autotuning*", kHarmless},
    {"pipeline*", kHarmless},
    {"hybrid_engine*", kHarmless},
    {"compression_training*", kRefused, "compression"},
    {"sparse_attention*", kRefused, "another attention"},
};

constexpr std::int64_t kMost = 1'000'000'000, kMostDevices = 1'048'576;

// "auto" is filled in by Hugging Face's trainer from arguments that are not here.
std::vector<Setting> WithoutAuto(std::vector<Setting> all) {
  for (Setting& setting : all) {
    if (setting.value.text == "auto") setting.doubt = "\"auto\" is filled in by the program that reads it";
  }
  return all;
}

void ReadLength(const ImportRequest& request, Settings* s, Draft* draft) {
  if (request.sequence_length) {
    draft->Put("batch.sequence_length", *request.sequence_length, "--sequence-length");
  } else {
    s->diagnostics()->Error("--sequence-length", "missing; the file does not say how long sequences are");
  }
}

// Two of the three figures give the third.
void ReadBatch(std::int64_t data, Settings* s, Draft* draft) {
  const auto global = s->Integer("train_batch_size", 1, kMost);
  const auto micro = s->Integer("train_micro_batch_size_per_gpu", 1, kMost);
  const auto steps = s->Integer("gradient_accumulation_steps", 1, kMost);
  const bool refused = s->refused("train_batch_size") || s->refused("train_micro_batch_size_per_gpu") ||
                       s->refused("gradient_accumulation_steps");
  if (!refused && !global && !micro) {
    s->Error("train_batch_size", "missing, and so is train_micro_batch_size_per_gpu; one of them is wanted");
    return;
  }
  const std::int64_t each =
      micro.value_or(std::max<std::int64_t>(1, global.value_or(1) / steps.value_or(1) / data));
  const std::string micro_key = micro ? "train_micro_batch_size_per_gpu" : "train_batch_size";
  // Beyond the schema's range the loader says so.
  const sim::Wide product = static_cast<sim::Wide>(each) * steps.value_or(1) * data;
  draft->Put("batch.global",
             global.value_or(static_cast<std::int64_t>(std::min<sim::Wide>(product, INT64_MAX))),
             s->Place(global ? "train_batch_size" : "train_micro_batch_size_per_gpu"));
  draft->Put("batch.micro", each, s->Place(micro_key));
  // Without a micro-batch, the batch of a rank is one.
  if (steps || !micro) {
    draft->Put("batch.accumulation", steps.value_or(1),
               s->Place(global ? "train_batch_size" : "gradient_accumulation_steps"));
  }
}

void ReadFormats(Settings* s, Draft* draft) {
  const bool bf16 = s->Flag("bf16.enabled") || s->Flag("bfloat16.enabled"), fp16 = s->Flag("fp16.enabled");
  if (bf16 && fp16) s->Error("fp16.enabled", "with " + s->Place("bf16.enabled") + "; one is wanted");
  const std::string format = bf16 ? "BF16" : fp16 ? "FP16" : "FP32";
  draft->Put("training.format", format, s->Place(fp16 ? "fp16.enabled" : "bf16.enabled"));
  // Source: runtime/engine.py, communication_data_type: that of the weights unless given.
  const auto type = s->OneOf("communication_data_type", {"fp32", "bf16", "bfp16", "fp16"});
  const std::string gradient = !type ? format : *type == "fp32" ? "FP32" : *type == "fp16" ? "FP16" : "BF16";
  draft->Put("training.gradient_type", gradient, s->Place("communication_data_type"));
}

// Gradients go down beside the backward, weights come up beside the update.
// Source: DeepSpeed 0.15, runtime/zero/offload_config.py; ratio is ZeRO-Offload++'s part.
void ReadOffload(Settings* s, Draft* draft) {
  const auto on_host = [&](const char* key) {
    const std::string device = s->Text(key).value_or("none");
    if (device != "none" && device != "cpu") {
      s->Error(key, '"' + device + "\": offload to drives is not simulated; \"cpu\" or \"none\"");
    }
    return device == "cpu";
  };
  const char* optimizer = "zero_optimization.offload_optimizer.device";
  const char* parameters = "zero_optimization.offload_param.device";
  const char* ratio = "zero_optimization.offload_optimizer.ratio";
  if (on_host(optimizer)) {
    const double part = s->Number(ratio).value_or(1.0);
    if (part > 0 && part <= 1) {
      draft->Put("training.offload.optimizer", s->has(ratio) ? *s->Text(ratio) : "1",
                 s->Place(s->has(ratio) ? ratio : optimizer));
    } else {
      s->Error(ratio, "is no part above 0 and up to 1");
    }
    draft->Put("training.offload.overlap", true, s->Place(optimizer));
  }
  if (on_host(parameters)) draft->Put("training.offload.parameters", true, s->Place(parameters));
}

void ReadZero(Settings* s, Draft* draft) {
  constexpr const char* kKinds[] = {"NONE", "ZERO_1", "ZERO_2", "ZERO_3"};
  const std::int64_t stage = s->Integer("zero_optimization.stage", 0, 3).value_or(0);
  const std::string from = s->Place("zero_optimization.stage");
  draft->Put("training.optimizer_sharding", kKinds[stage], from);
  const auto overlap = s->Boolean("zero_optimization.overlap_comm");
  draft->Put("training.overlap_gradient_reduce", overlap.value_or(stage == 3),
             s->Place("zero_optimization.overlap_comm"));
  if (stage == 1 || stage == 2) draft->Put("training.overlap_parameter_gather", false, from);
  const auto bucket = s->Integer("zero_optimization.reduce_bucket_size", 1, 1'000'000'000'000);
  if (stage < 3 && stage > 0) {
    const bool wide = std::any_of(
        draft->entries().begin(), draft->entries().end(),
        [](const Draft::Entry& e) { return e.path == "training.gradient_type" && e.value == "FP32"; });
    const std::int64_t bytes = bucket.value_or(500'000'000) * (wide ? 4 : 2);
    const std::string rest = std::to_string(bytes % 1'000'000 + 1'000'000).substr(1);
    draft->Put("training.bucket_mb", std::to_string(bytes / 1'000'000) + '.' + rest,
               s->Place("zero_optimization.reduce_bucket_size"));
  }
  if (stage == 3) {
    // Source: runtime/zero/partitioned_param_coordinator.py: modules are released right after their forward.
    draft->Put("training.sharding.reshard_last_unit", true, from);
    const auto ahead = s->Integer("zero_optimization.stage3_prefetch_bucket_size", 0, 1'000'000'000'000);
    if (ahead == 0)
      draft->Put("training.sharding.prefetch", std::int64_t{0},
                 s->Place("zero_optimization.stage3_prefetch_bucket_size"));
    const std::int64_t shard = s->Integer("zero_optimization.mics_shard_size", -1, kMostDevices).value_or(-1);
    if (shard > 0)
      draft->Put("training.sharding.ranks", shard, s->Place("zero_optimization.mics_shard_size"));
  }
  const double clip = s->Number("gradient_clipping").value_or(0);
  // ZeRO's optimizers take the norm in any case; source: runtime/zero/stage_1_and_2.py, step.
  draft->Put("training.gradient_norm", clip > 0 || stage > 0, s->Place("gradient_clipping"));
}

}  // namespace

std::optional<ImportedJob> ImportDeepSpeed(const ImportRequest& request, proto::Diagnostics* diagnostics) {
  const auto tree = ParseJson(request.file, request.text, diagnostics);
  if (!tree) return std::nullopt;
  std::vector<Setting> all = WithoutAuto(Flatten(request.file, *tree));
  ApplyGiven(request.given, "", &all);
  Settings settings(request.file, "", std::move(all), false, diagnostics);
  Settings* s = &settings;
  Draft draft;
  PutRequest(request, "DeepSpeed", &draft, diagnostics);
  PutDevices(request, std::nullopt, "", &draft, diagnostics);
  PutModel(request, &draft, diagnostics);
  const std::int64_t tensor = s->Integer("tensor_parallel.autotp_size", 0, 4096).value_or(1);
  const std::int64_t context = s->Integer("sequence_parallel_size", 1, 4096).value_or(1);
  draft.Put("layout.tensor", std::max<std::int64_t>(1, tensor), s->Place("tensor_parallel.autotp_size"));
  draft.Put("layout.context", context, s->Place("sequence_parallel_size"));
  // Source: DeepSpeed, runtime/sequence_parallel: Ulysses, the only kind there is.
  if (context > 1) draft.Put("layout.context_kind", "ULYSSES", s->Place("sequence_parallel_size"));
  draft.Put("layout.sequence", false);
  for (const char* path : {"layout.pipeline", "layout.virtual", "layout.expert", "layout.expert_tensor"}) {
    draft.Put(path, std::int64_t{1});
  }
  const std::int64_t data = request.devices.value_or(1) / std::max<std::int64_t>(1, tensor) / context;
  ReadLength(request, s, &draft);
  ReadBatch(std::max<std::int64_t>(1, data), s, &draft);
  ReadFormats(s, &draft);
  ReadOffload(s, &draft);
  ReadZero(s, &draft);
  if (s->OneOf("optimizer.type", {"Adam", "AdamW", "FusedAdam"}) || !s->has("optimizer.type")) {
    draft.Put("training.optimizer", "ADAM", s->Place("optimizer.type"));
  }
  draft.Put("training.attention", UsualAttention(request, draft, false));
  auto not_mapped = s->NotMapped(kRules, request.keep_unknown);
  return FinishDraft(request, "DeepSpeed", draft, std::move(not_mapped), diagnostics);
}

}  // namespace scenarios
