// nanotron's config.yaml.
//
// Source of keys and defaults: nanotron 0.5, src/nanotron/config/*.py.

#include <algorithm>
#include <string>
#include <utility>

#include "models/hf_config.h"
#include "models/hf_families.h"
#include "scenarios/import/importers.h"
#include "scenarios/import/trees.h"

namespace scenarios {
namespace {

using enum Treatment;

constexpr KeyRule kRules[] = {
    {"model.dtype", kMapped},
    {"model.ddp_bucket_cap_mb", kMapped},
    {"model.make_vocab_size_divisible_by", kMapped},
    {"model.init_method*", kHarmless},
    {"optimizer.accumulate_grad_in_fp32", kMapped},
    {"optimizer.zero_stage", kMapped},
    {"optimizer.clip_grad", kMapped},
    {"optimizer.optimizer_factory.name", kMapped},
    {"optimizer.*", kHarmless},
    {"parallelism.dp", kMapped},
    {"parallelism.tp", kMapped},
    {"parallelism.pp", kMapped},
    {"parallelism.context_parallel_size", kMapped},
    {"parallelism.expert_parallel_size", kMapped},
    {"parallelism.expert_tensor_parallel_size", kMapped},
    {"parallelism.pp_engine", kMapped},
    {"parallelism.tp_mode", kMapped},
    {"parallelism.recompute_layer", kMapped},
    {"parallelism.tp_linear_async_communication", kLeftOut,
     "tensor-parallel communication beside its product"},
    {"parallelism.tp_recompute_allgather", kLeftOut, "gathered inputs kept, or gathered again"},
    {"parallelism.moe_layer_recompute", kRefused, "experts are not recomputed alone"},
    {"tokens.micro_batch_size", kMapped},
    {"tokens.batch_accumulation_per_replica", kMapped},
    {"tokens.sequence_length", kMapped},
    {"tokens.train_steps", kHarmless},
    {"tokens.val_check_interval", kHarmless},
    {"tokens.limit_test_batches", kHarmless},
    {"tokens.limit_val_batches", kHarmless},
    {"checkpoints.*", kHarmless},
    {"data_stages*", kHarmless},
    {"general.*", kHarmless},
    {"lighteval*", kHarmless},
    {"logging.*", kHarmless},
    {"profiler*", kHarmless},
    {"tokenizer.*", kHarmless},
    {"s3_upload*", kHarmless},
    {"metrics_logging*", kHarmless},
};

constexpr std::int64_t kMostRanks = 4096, kMost = 1'000'000'000;
constexpr std::string_view kModel = "model.model_config.";

// model_config as the object that it was, without the words that only nanotron knows.
proto::Node ModelConfig(const std::vector<Setting>& all) {
  constexpr const char* kOwn[] = {"is_llama_config",          "is_qwen2_config",
                                  "rope_interleaved",         "rope_seq_len_interpolation_factor",
                                  "_attn_implementation",     "_fused_rotary_emb",
                                  "_fused_rms_norm",          "_use_qkv_packed",
                                  "_use_doc_masking",         "log_attn_probs",
                                  "ring_attn_heads_k_stride", "z_loss_coefficient",
                                  "z_loss_enabled",           "flex_attention_mask"};
  proto::Node object;
  for (const Setting& setting : all) {
    if (!setting.key.starts_with(kModel)) continue;
    const std::string name = setting.key.substr(kModel.size());
    const bool own =
        std::any_of(std::begin(kOwn), std::end(kOwn), [&](const char* word) { return name == word; });
    if (own || name.find('.') != std::string::npos) continue;
    object.children.push_back(setting.value);
    object.children.back().name = name;
  }
  return object;
}

// Returns keys of the model that say nothing here.
std::vector<std::string> ReadModel(const ImportRequest& request, Settings* s, Draft* draft) {
  std::vector<std::string> unknown;
  const proto::Node object = ModelConfig(s->all());
  if (!request.model.empty()) {
    PutModel(request, draft, s->diagnostics());
    return unknown;
  }
  const bool qwen = s->Flag("model.model_config.is_qwen2_config");
  if (!qwen && !s->Flag("model.model_config.is_llama_config")) {
    s->Error("model.model_config",
             "neither is_llama_config nor is_qwen2_config is true; --model names another");
    return unknown;
  }
  models::HfConfig config(object, request.file, std::string(kModel), s->diagnostics());
  (qwen ? models::ReadHfQwen2 : models::ReadHfLlama)(&config, &draft->model);
  draft->has_model = true;
  return config.Unknown();
}

void ReadLayout(const ImportRequest& request, Settings* s, Draft* draft) {
  const std::pair<const char*, const char*> degrees[] = {
      {"parallelism.tp", "layout.tensor"},
      {"parallelism.pp", "layout.pipeline"},
      {"parallelism.context_parallel_size", "layout.context"},
      {"parallelism.dp", "layout.data"}};
  std::int64_t ranks = 1, tensor = 1;
  for (const auto& [key, path] : degrees) {
    const std::int64_t degree = s->Integer(key, 1, kMostRanks).value_or(1);
    draft->Put(path, degree, s->Place(key));
    ranks *= degree;
    if (path == std::string("layout.tensor")) tensor = degree;
  }
  PutDevices(request, ranks <= 1'048'576 ? std::optional(ranks) : std::nullopt, s->Place("parallelism.dp"),
             draft, s->diagnostics());
  draft->Put("layout.virtual", std::int64_t{1});
  const std::string mode =
      s->OneOf("parallelism.tp_mode", {"REDUCE_SCATTER", "ALL_REDUCE"}).value_or("ALL_REDUCE");
  draft->Put("layout.sequence", mode == "REDUCE_SCATTER" && tensor > 1, s->Place("parallelism.tp_mode"));
  draft->Put("layout.expert", s->Integer("parallelism.expert_parallel_size", 1, kMostRanks).value_or(1),
             s->Place("parallelism.expert_parallel_size"));
  draft->Put("layout.expert_tensor",
             s->Integer("parallelism.expert_tensor_parallel_size", 1, kMostRanks).value_or(1),
             s->Place("parallelism.expert_tensor_parallel_size"));
  const std::string engine = s->OneOf("parallelism.pp_engine", {"1f1b", "afab"}).value_or("1f1b");
  draft->Put("pipeline.schedule", engine == "afab" ? "GPIPE" : "ONE_F_ONE_B",
             s->Place("parallelism.pp_engine"));

  const std::int64_t micro = s->Required("tokens.micro_batch_size", 1, 1'000'000, "sequences are wanted");
  const std::int64_t rounds = s->Integer("tokens.batch_accumulation_per_replica", 1, 1'000'000).value_or(1);
  const std::int64_t data = s->Integer("parallelism.dp", 1, kMostRanks).value_or(1);
  const std::string from = s->Place("tokens.batch_accumulation_per_replica");
  draft->Put("batch.micro", micro, s->Place("tokens.micro_batch_size"));
  draft->Put("batch.accumulation", rounds, from);
  draft->Put("batch.global", micro * rounds * data, from);
  draft->Put("batch.sequence_length", s->Required("tokens.sequence_length", 1, kMost, "tokens are wanted"),
             s->Place("tokens.sequence_length"));
}

void ReadTraining(const ImportRequest& request, Settings* s, Draft* draft) {
  const std::string dtype = s->OneOf("model.dtype", {"bfloat16", "float16", "float32"}).value_or("bfloat16");
  const std::string format = dtype == "bfloat16" ? "BF16" : dtype == "float16" ? "FP16" : "FP32";
  draft->Put("training.format", format, s->Place("model.dtype"));
  draft->Put("training.gradient_type", s->Flag("optimizer.accumulate_grad_in_fp32") ? "FP32" : format,
             s->Place("optimizer.accumulate_grad_in_fp32"));
  const std::int64_t stage = s->Integer("optimizer.zero_stage", 0, 1).value_or(0);
  draft->Put("training.optimizer_sharding", stage == 1 ? "ZERO_1" : "NONE", s->Place("optimizer.zero_stage"));
  // Source: optim/zero.py gathers weights behind the step, with nothing beside.
  if (stage == 1) draft->Put("training.overlap_parameter_gather", false, s->Place("optimizer.zero_stage"));
  // PyTorch's buckets are in 2^20 bytes, ours in 10^6.
  const std::int64_t bucket = s->Integer("model.ddp_bucket_cap_mb", 1, 100'000).value_or(25) * 1'048'576;
  const std::string rest = std::to_string(bucket % 1'000'000 + 1'000'000).substr(1);
  draft->Put("training.bucket_mb", std::to_string(bucket / 1'000'000) + '.' + rest,
             s->Place("model.ddp_bucket_cap_mb"));
  draft->Put("training.gradient_norm", s->Number("optimizer.clip_grad").value_or(0) > 0,
             s->Place("optimizer.clip_grad"));
  draft->Put("training.recompute", s->Flag("parallelism.recompute_layer") ? "FULL" : "NONE",
             s->Place("parallelism.recompute_layer"));
  draft->Put("training.vocabulary_divisor",
             s->Integer("model.make_vocab_size_divisible_by", 1, 65'536).value_or(1),
             s->Place("model.make_vocab_size_divisible_by"));
  s->OneOf("optimizer.optimizer_factory.name", {"adamW", "adam"});
  draft->Put("training.optimizer", "ADAM", s->Place("optimizer.optimizer_factory.name"));
  draft->Put("training.attention", UsualAttention(request, *draft, false));
}

}  // namespace

std::optional<ImportedJob> ImportNanotron(const ImportRequest& request, proto::Diagnostics* diagnostics) {
  const auto tree = ParseYaml(request.file, request.text, diagnostics);
  if (!tree) return std::nullopt;
  std::vector<Setting> all = Flatten(request.file, *tree);
  ApplyGiven(request.given, "", &all);
  Settings settings(request.file, "", std::move(all), false, diagnostics);
  Draft draft;
  PutRequest(request, "nanotron", &draft, diagnostics);
  std::vector<std::string> not_mapped = ReadModel(request, &settings, &draft);
  ReadLayout(request, &settings, &draft);
  ReadTraining(request, &settings, &draft);
  std::vector<KeyRule> rules(std::begin(kRules), std::end(kRules));
  rules.push_back({"model.model_config.*", Treatment::kHarmless});  // judged by the reader of the model
  for (std::string& line : settings.NotMapped(rules, request.keep_unknown))
    not_mapped.push_back(std::move(line));
  return FinishDraft(request, "nanotron", draft, std::move(not_mapped), diagnostics);
}

}  // namespace scenarios
