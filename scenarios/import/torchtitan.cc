// torchtitan's job configuration, as TOML or as JSON of the same names.
//
// Source of keys and defaults: torchtitan 0.1, torchtitan/config/job_config.py; what
// follows from them: torchtitan/distributed/parallel_dims.py and pipeline.py.

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/import/importers.h"
#include "scenarios/import/trees.h"
#include "sim/base/units.h"

namespace scenarios {
namespace {

using enum Treatment;

constexpr KeyRule kRules[] = {
    {"model.name", kMapped},
    {"model.flavor", kMapped},
    {"model.converters", kMapped},
    {"model.*", kHarmless},
    {"training.local_batch_size", kMapped},
    {"training.batch_size", kMapped},
    {"training.global_batch_size", kMapped},
    {"training.seq_len", kMapped},
    {"training.max_norm", kMapped},
    {"training.mixed_precision_param", kMapped},
    {"training.mixed_precision_reduce", kMapped},
    {"training.enable_cpu_offload", kMapped},
    {"training.compile", kLeftOut, "kernels that the compiler fuses"},
    {"training.dtype", kHarmless},
    {"training.steps", kHarmless},
    {"training.dataset*", kHarmless},
    {"training.gc_*", kHarmless},
    {"training.seed", kHarmless},
    {"training.deterministic", kLeftOut, "slower kernels that are deterministic"},
    {"parallelism.data_parallel_replicate_degree", kMapped},
    {"parallelism.data_parallel_shard_degree", kMapped},
    {"parallelism.fsdp_reshard_after_forward", kMapped},
    {"parallelism.tensor_parallel_degree", kMapped},
    {"parallelism.enable_sequence_parallel", kMapped},
    {"parallelism.pipeline_parallel_degree", kMapped},
    {"parallelism.pipeline_parallel_schedule", kMapped},
    {"parallelism.pipeline_parallel_layers_per_stage", kMapped},
    {"parallelism.pipeline_parallel_microbatch_size", kMapped},
    {"parallelism.num_pp_microbatches", kMapped},
    {"parallelism.context_parallel_degree", kMapped},
    {"parallelism.expert_parallel_degree", kMapped},
    {"parallelism.expert_tensor_parallel_degree", kMapped},
    {"parallelism.pipeline_parallel_split_points", kRefused, "stages by names of modules"},
    {"parallelism.module_fqns_per_model_part", kRefused, "stages by names of modules"},
    {"parallelism.pipeline_parallel_schedule_csv", kRefused, "an order from a file"},
    {"parallelism.pipeline_parallel_first_stage_less_layers", kHarmless},
    {"parallelism.pipeline_parallel_last_stage_less_layers", kHarmless},
    {"parallelism.context_parallel_rotate_method", kMapped},
    {"parallelism.enable_async_tensor_parallel", kLeftOut,
     "tensor-parallel communication beside its product"},
    {"parallelism.disable_loss_parallel", kLeftOut, "logits of the whole vocabulary on every rank"},
    {"parallelism.enable_compiled_autograd", kHarmless},
    {"activation_checkpoint.mode", kMapped},
    {"activation_checkpoint.selective_ac_option", kMapped},
    {"activation_checkpoint.*", kHarmless},
    {"optimizer.name", kMapped},
    {"optimizer.early_step_in_backward", kRefused, "the optimizer inside the backward"},
    {"optimizer.*", kHarmless},
    {"lr_scheduler.*", kHarmless},
    {"job.*", kHarmless},
    {"profiling.*", kHarmless},
    {"metrics.*", kHarmless},
    {"checkpoint.*", kHarmless},
    {"comm.*", kHarmless},
    {"memory_estimation.*", kHarmless},
    {"fault_tolerance.*", kHarmless},
    {"experimental.*", kHarmless},
    {"validation.*", kHarmless},
    {"compile.*", kLeftOut, "kernels that the compiler fuses"},
    {"float8.recipe_name", kMapped},
    {"float8.enable_fsdp_float8_all_gather", kMapped},
    {"float8.*", kHarmless},
    {"mx.*", kHarmless},
    {"quantize.linear.float8.recipe_name", kMapped},
    {"quantize.linear.float8.enable_fsdp_float8_all_gather", kMapped},
    {"quantize.*", kHarmless},
};

// Model and flavour, as torchtitan calls them, and ours of the same shapes.
constexpr struct {
  const char *name, *flavor, *model;
} kModels[] = {{"llama3", "8B", "llama3_8b"},
               {"llama3", "70B", "llama3_70b"},
               {"llama3", "405B", "llama3_1_405b"},
               {"deepseek_v3", "671B", "deepseek_v3"},
               {"qwen3", "4B", "qwen3_4b"},
               {"qwen3", "30B-A3B", "qwen3_30b_a3b"},
               {"qwen3", "235B-A22B", "qwen3_235b_a22b"},
               {"gpt_oss", "20b", "gpt_oss_20b"},
               {"gpt_oss", "120b", "gpt_oss_120b"}};

constexpr std::int64_t kMostRanks = 1'048'576, kMost = 1'000'000;

void ReadModel(const ImportRequest& request, Settings* s, Draft* draft) {
  if (!request.model.empty()) {
    PutModel(request, draft, s->diagnostics());
    s->has("model.name");
    s->has("model.flavor");
    return;
  }
  const std::string name = s->Text("model.name").value_or("llama3");
  const std::string flavor = s->Text("model.flavor").value_or("debugmodel");
  for (const auto& row : kModels) {
    if (name == row.name && flavor == row.flavor)
      return draft->Put("model", row.model, s->Place("model.flavor"));
  }
  s->Error("model.flavor",
           "\"" + flavor + "\" of \"" + name + "\" has no model of the catalogue; give one with --model");
}

std::int64_t DegreeOf(Settings* s, const std::string& name) {
  return s->Integer("parallelism." + name, 1, kMostRanks).value_or(1);
}

// Who holds what: FSDP over the shard degree, copies over the replicate degree. Returns the data ranks.
std::int64_t ReadDataParallel(std::int64_t devices, std::int64_t others, Settings* s, Draft* draft) {
  const std::int64_t copies = DegreeOf(s, "data_parallel_replicate_degree");
  const char* key = "parallelism.data_parallel_shard_degree";
  const std::int64_t given = s->Integer(key, -1, kMostRanks).value_or(-1);
  if (given == 0) s->Error(key, "0; a degree, or -1 for the rest, is wanted");
  const std::int64_t rest = std::max<std::int64_t>(1, devices / others / copies);
  const std::int64_t shard = given > 0 ? given : rest;
  if (given > 0) draft->Put("layout.data", shard * copies, s->Place(key));
  if (given <= 0 && copies > 1) {
    draft->Put("layout.data", shard * copies, s->Place("parallelism.data_parallel_replicate_degree"));
  }
  draft->Put("training.optimizer_sharding", shard > 1 ? "ZERO_3" : "NONE", s->Place(key));
  // Ranks of one sequence share too. Source: parallel_dims.py, dp_shard_cp.
  const std::int64_t context = DegreeOf(s, "context_parallel_degree");
  if (shard > 1 && copies > 1) draft->Put("training.sharding.ranks", shard * context, s->Place(key));
  const std::string policy =
      s->OneOf("parallelism.fsdp_reshard_after_forward", {"default", "always", "never"}).value_or("default");
  const bool pipelined = DegreeOf(s, "pipeline_parallel_degree") > 1;
  if (shard > 1 && (policy == "never" || (policy == "default" && pipelined))) {
    draft->Put("training.sharding.reshard_after_forward", false,
               s->Place("parallelism.fsdp_reshard_after_forward"));
  }
  return shard * copies;
}

void ReadPipeline(std::int64_t stages, Settings* s, Draft* draft) {
  const char* key = "parallelism.pipeline_parallel_schedule";
  struct Name {
    const char *theirs, *ours;
    std::int64_t chunks;
  };
  constexpr Name kNames[] = {{"1F1B", "ONE_F_ONE_B", 1},
                             {"GPipe", "GPIPE", 1},
                             {"Interleaved1F1B", "INTERLEAVED", 2},
                             {"ZBVZeroBubble", "ZBV", 2},
                             {"DualPipeV", "DUALPIPEV", 2}};
  std::vector<std::string> known;
  for (const Name& name : kNames) known.emplace_back(name.theirs);
  const std::string schedule = s->OneOf(key, known).value_or("1F1B");
  const Name& name = *std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const Name& n) { return schedule == n.theirs; });
  if (s->has("parallelism.pipeline_parallel_layers_per_stage")) {
    s->Error("parallelism.pipeline_parallel_layers_per_stage",
             "stages by a number of layers are not simulated; leave it out");
  }
  // Source: pipeline.py: two stages a rank for looped schedules unless layers are given.
  draft->Put("layout.virtual", stages > 1 ? name.chunks : std::int64_t{1}, s->Place(key));
  if (stages == 1) return;
  draft->Put("pipeline.schedule", name.ours, s->Place(key));
  draft->Put("pipeline.embedding_counts_as_layer", true);
  draft->Put("pipeline.loss_counts_as_layer", true);
}

void ReadBatch(std::int64_t data, std::int64_t stages, Settings* s, Draft* draft) {
  const char* local_key =
      s->has("training.local_batch_size") ? "training.local_batch_size" : "training.batch_size";
  const std::int64_t local = s->Integer(local_key, 1, kMost).value_or(8);
  const std::int64_t global = s->Integer("training.global_batch_size", -1, 1'000'000'000).value_or(-1);
  std::int64_t micro = local;
  if (stages > 1) {
    micro = s->Integer("parallelism.pipeline_parallel_microbatch_size", 1, kMost).value_or(1);
    if (local % micro != 0) {
      s->Error(local_key, std::to_string(local) + " is not a multiple of the " + std::to_string(micro) +
                              " of " + s->Place("parallelism.pipeline_parallel_microbatch_size"));
    }
    if (global > local * data) {
      s->Error("training.global_batch_size", "accumulation over several pipelines is not simulated; " +
                                                 std::to_string(local * data) + " is wanted");
    }
  }
  draft->Put("batch.global", global > 0 ? global : local * data,
             s->Place(global > 0 ? "training.global_batch_size" : local_key));
  draft->Put("batch.micro", micro, s->Place(local_key));
  draft->Put("batch.sequence_length", s->Integer("training.seq_len", 1, 16'777'216).value_or(2048),
             s->Place("training.seq_len"));
}

// Of one rank nothing is gathered, and the switch does nothing.
// Source: torchtitan 0.1, components/quantization/float8.py.
void ReadEightBitGather(bool cut, Settings* s, Draft* draft) {
  for (const char* key :
       {"float8.enable_fsdp_float8_all_gather", "quantize.linear.float8.enable_fsdp_float8_all_gather"}) {
    if (!s->Boolean(key).value_or(false) || !cut) continue;
    draft->Put("training.matmul.fp8_param_gather", true, s->Place(key));
    draft->Put("training.matmul.cast_each_gather", true, s->Place(key));
  }
}

// Source: job_config.py: selective and "2" unless given; "op", or the n of every n-th layer.
void ReadRecompute(Settings* s, Draft* draft) {
  const char *mode_key = "activation_checkpoint.mode", *key = "activation_checkpoint.selective_ac_option";
  const std::string mode = s->OneOf(mode_key, {"none", "full", "selective"}).value_or("selective");
  const std::string option = s->Text(key).value_or("2");
  if (mode != "selective") {
    return draft->Put("training.recompute", mode == "full" ? "FULL" : "NONE", s->Place(mode_key));
  }
  if (option == "op") return draft->Put("training.recompute", "OPERATIONS", s->Place(key));
  const bool number = !option.empty() && option.size() <= 4 &&
                      std::all_of(option.begin(), option.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number) return s->Error(key, '"' + option + "\"; op, or a number of layers, is wanted");
  draft->Put("training.recompute", "FULL", s->Place(key));
  if (std::stoll(option) < 2) return;
  draft->Put("training.recompute_method", "EVERY", s->Place(key));
  draft->Put("training.recompute_layers", static_cast<std::int64_t>(std::stoll(option)), s->Place(key));
}

void ReadTraining(const ImportRequest& request, bool cut, Settings* s, Draft* draft) {
  const std::string type =
      s->OneOf("training.mixed_precision_param", {"bfloat16", "float32"}).value_or("bfloat16");
  draft->Put("training.format", type == "bfloat16" ? "BF16" : "FP32",
             s->Place("training.mixed_precision_param"));
  const std::string reduced =
      s->OneOf("training.mixed_precision_reduce", {"float32", "bfloat16"}).value_or("float32");
  draft->Put("training.gradient_type", reduced == "float32" ? "FP32" : "BF16",
             s->Place("training.mixed_precision_reduce"));
  for (const std::string& converter : s->Texts("model.converters")) {
    const bool block = converter.find("mx") != std::string::npos;
    if (!block && converter.find("float8") == std::string::npos) continue;
    for (const char* key : {"float8.recipe_name", "quantize.linear.float8.recipe_name"}) {
      s->OneOf(key, {"tensorwise"});
    }
    draft->Put("training.matmul.recipe", block ? "MXFP8" : "FP8_TENSOR_CURRENT",
               s->Place("model.converters"));
    if (!block) ReadEightBitGather(cut, s, draft);
  }
  if (s->Boolean("training.enable_cpu_offload").value_or(false) && cut) {
    // Source: PyTorch 2.6, CPUOffloadPolicy: shares, their gradients and the optimizer are on the host.
    draft->Put("training.offload.optimizer", std::int64_t{1}, s->Place("training.enable_cpu_offload"));
    draft->Put("training.offload.parameters", true, s->Place("training.enable_cpu_offload"));
  }
  ReadRecompute(s, draft);
  s->OneOf("optimizer.name", {"Adam", "AdamW"});
  draft->Put("training.optimizer", "ADAM", s->Place("optimizer.name"));
  draft->Put("training.gradient_norm", s->Number("training.max_norm").value_or(1.0) > 0,
             s->Place("training.max_norm"));
  draft->Put("training.vocabulary_divisor", std::int64_t{1});
  draft->Put("training.attention", UsualAttention(request, *draft, false));
}

}  // namespace

std::optional<ImportedJob> ImportTorchtitan(const ImportRequest& request, proto::Diagnostics* diagnostics) {
  const bool json = request.file.ends_with(".json");
  const auto tree = json ? ParseJson(request.file, request.text, diagnostics)
                         : ParseToml(request.file, request.text, diagnostics);
  if (!tree) return std::nullopt;
  std::vector<Setting> all = Flatten(request.file, *tree);
  ApplyGiven(request.given, "", &all);
  Settings settings(request.file, "", std::move(all), false, diagnostics);
  Settings* s = &settings;
  Draft draft;
  PutRequest(request, "torchtitan", &draft, diagnostics);
  PutDevices(request, std::nullopt, "", &draft, diagnostics);
  ReadModel(request, s, &draft);
  const std::int64_t tensor = DegreeOf(s, "tensor_parallel_degree"),
                     stages = DegreeOf(s, "pipeline_parallel_degree"),
                     context = DegreeOf(s, "context_parallel_degree");
  draft.Put("layout.tensor", tensor, s->Place("parallelism.tensor_parallel_degree"));
  draft.Put("layout.pipeline", stages, s->Place("parallelism.pipeline_parallel_degree"));
  draft.Put("layout.context", context, s->Place("parallelism.context_parallel_degree"));
  const char* rotate = "parallelism.context_parallel_rotate_method";
  const bool ring = s->OneOf(rotate, {"allgather", "alltoall"}) == "alltoall";
  if (context > 1) draft.Put("layout.context_kind", ring ? "RING" : "ALL_GATHER", s->Place(rotate));
  const bool sequence = s->Boolean("parallelism.enable_sequence_parallel").value_or(true);
  draft.Put("layout.sequence", sequence && tensor > 1, s->Place("parallelism.enable_sequence_parallel"));
  draft.Put("layout.expert", DegreeOf(s, "expert_parallel_degree"),
            s->Place("parallelism.expert_parallel_degree"));
  draft.Put("layout.expert_tensor", DegreeOf(s, "expert_tensor_parallel_degree"),
            s->Place("parallelism.expert_tensor_parallel_degree"));
  const sim::Wide others = static_cast<sim::Wide>(tensor) * stages * context;
  const std::int64_t devices = request.devices.value_or(1);
  const std::int64_t data = ReadDataParallel(
      devices, others > kMostRanks ? kMostRanks : static_cast<std::int64_t>(others), s, &draft);
  ReadPipeline(stages, s, &draft);
  ReadBatch(data, stages, s, &draft);
  const auto has = [&](const char* path, const char* value) {
    return std::any_of(draft.entries().begin(), draft.entries().end(),
                       [&](const Draft::Entry& e) { return e.path == path && e.value == value; });
  };
  const bool cut = has("training.optimizer_sharding", "ZERO_3");
  // Where it is not simulated it stays among what is left out.
  const bool halves = has("pipeline.schedule", "ZBV") || has("pipeline.schedule", "DUALPIPEV");
  const char* async = "parallelism.enable_async_tensor_parallel";
  if (tensor > 1 && sequence && !halves && s->Flag(async)) {
    draft.Put("training.tensor_overlap", "PIPELINED", s->Place(async));
  }
  ReadTraining(request, cut, s, &draft);
  auto not_mapped = s->NotMapped(kRules, request.keep_unknown);
  return FinishDraft(request, "torchtitan", draft, std::move(not_mapped), diagnostics);
}

}  // namespace scenarios
