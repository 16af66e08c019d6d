// Megatron-LM's arguments about precision, data parallelism, recomputation and kernels.

#include <algorithm>
#include <cctype>
#include <string>

#include "scenarios/import/megatron.h"

namespace scenarios {
namespace {

// Whether gradients are reduced in FP32.
bool GradientsInFp32(Settings* s) {
  const bool asked = s->Flag("accumulate-allreduce-grads-in-fp32");
  // Source: arguments.py: bf16 turns it on, unless the reduction is asked for in bf16.
  if (s->Flag("grad-reduce-in-bf16")) {
    if (asked) s->Error("grad-reduce-in-bf16", "with " + s->Place("accumulate-allreduce-grads-in-fp32"));
    return false;
  }
  return asked || !s->Flag("fp16");
}

// Products in eight bits, as Transformer Engine's recipes.
// Source: arguments.py: delayed scaling, and one layer at each end, unless told otherwise.
void ReadRecipe(Settings* s, Draft* draft) {
  if (!s->OneOf("fp8-format", {"e4m3", "hybrid"})) return;
  const std::string recipe =
      s->OneOf("fp8-recipe", {"tensorwise", "delayed", "blockwise", "mxfp8"}).value_or("delayed");
  draft->Put("training.matmul.recipe",
             recipe == "tensorwise"  ? "FP8_TENSOR_CURRENT"
             : recipe == "delayed"   ? "FP8_TENSOR_DELAYED"
             : recipe == "blockwise" ? "FP8_BLOCK"
                                     : "MXFP8",
             s->Place(s->has("fp8-recipe") ? "fp8-recipe" : "fp8-format"));
  if (s->Flag("fp8-param-gather")) {
    draft->Put("training.matmul.fp8_param_gather", true, s->Place("fp8-param-gather"));
  }
  if (!s->Flag("first-last-layers-bf16")) return;
  const auto at_end = [&](const char* field, const char* key) {
    draft->Put(field, s->Integer(key, 0, 1'000'000).value_or(1),
               s->Place(s->has(key) ? key : "first-last-layers-bf16"));
  };
  at_end("training.matmul.first_layers_bf16", "num-layers-at-start-in-bf16");
  at_end("training.matmul.last_layers_bf16", "num-layers-at-end-in-bf16");
}

std::int64_t ReadFormats(Settings* s, Draft* draft) {
  const bool bf16 = s->Flag("bf16"), fp16 = s->Flag("fp16");
  if (bf16 && fp16) s->Error("fp16", "with " + s->Place("bf16") + "; one is wanted");
  const std::string format = bf16 ? "BF16" : fp16 ? "FP16" : "FP32";
  const std::string from = s->Place(fp16 ? "fp16" : "bf16");
  draft->Put("training.format", format, from);
  ReadRecipe(s, draft);
  const bool wide = GradientsInFp32(s);
  s->OneOf("main-grads-dtype", {"fp32"});
  const char* key =
      s->has("grad-reduce-in-bf16") ? "grad-reduce-in-bf16" : "accumulate-allreduce-grads-in-fp32";
  draft->Put("training.gradient_type", wide ? "FP32" : format, s->Place(key));
  return wide || format == "FP32" ? 4 : 2;
}

void ReadDataParallel(Settings* s, std::int64_t gradient_bytes, Draft* draft) {
  const bool cut = s->Flag("use-distributed-optimizer");
  const char* fsdp = s->Flag("use-torch-fsdp2")     ? "use-torch-fsdp2"
                     : s->Flag("use-megatron-fsdp") ? "use-megatron-fsdp"
                                                    : "use-custom-fsdp";
  std::string sharding = cut ? "ZERO_1" : "NONE";
  std::string from = s->Place("use-distributed-optimizer");
  if (s->Flag(fsdp)) {
    const std::string strategy = s->OneOf("data-parallel-sharding-strategy",
                                          {"no_shard", "optim", "optim_grads", "optim_grads_params"})
                                     .value_or("optim_grads_params");
    from = s->Place(fsdp);
    sharding = strategy == "no_shard"      ? "NONE"
               : strategy == "optim"       ? "ZERO_1"
               : strategy == "optim_grads" ? "ZERO_2"
                                           : "ZERO_3";
  }
  draft->Put("training.optimizer_sharding", sharding, from);
  draft->Put("training.overlap_gradient_reduce", s->Flag("overlap-grad-reduce"),
             s->Place("overlap-grad-reduce"));
  const bool gathers = s->Flag("overlap-param-gather");
  if (sharding == "ZERO_1" || sharding == "ZERO_2") {
    draft->Put("training.overlap_parameter_gather", gathers, s->Place("overlap-param-gather"));
  } else if (gathers && sharding == "NONE") {
    s->Error("overlap-param-gather", "needs --use-distributed-optimizer; without it nothing is gathered");
  }
  if (const auto bucket = s->Integer("ddp-bucket-size", 1, 1'000'000'000'000);
      bucket && sharding != "ZERO_3") {
    // Numbers there, 10^6 bytes here. A product of whole numbers below 2^53 is exact.
    const std::int64_t bytes = *bucket * gradient_bytes;
    const std::string rest = std::to_string(bytes % 1'000'000 + 1'000'000).substr(1);
    draft->Put("training.bucket_mb", std::to_string(bytes / 1'000'000) + '.' + rest,
               s->Place("ddp-bucket-size"));
  }
}

// Distributed optimizer instances: so many copies, each over its share of the data ranks.
void ReadInstances(Settings* s, const ImportRequest& request, Draft* draft) {
  const std::int64_t copies = s->Integer("num-distributed-optimizer-instances", 1, 1'048'576).value_or(1);
  if (copies == 1) return;
  std::int64_t devices = request.devices.value_or(0), cut = 1;
  for (const Draft::Entry& entry : draft->entries()) {
    if (entry.path == "devices") devices = std::stoll(entry.value);
    for (const char* path : {"layout.tensor", "layout.pipeline", "layout.context"}) {
      if (entry.path == path) cut *= std::stoll(entry.value);
    }
  }
  const std::int64_t data = devices / cut;
  if (data == 0 || data % copies != 0) {
    return s->Error("num-distributed-optimizer-instances",
                    std::to_string(copies) + " does not divide the " + std::to_string(data) + " data ranks");
  }
  draft->Put("training.sharding.ranks", data / copies, s->Place("num-distributed-optimizer-instances"));
}

void ReadRecompute(Settings* s, Draft* draft) {
  const auto granularity = s->OneOf("recompute-granularity", {"full", "selective"});
  const bool old_flag = s->Flag("recompute-activations");
  const bool full = granularity == "full";
  const bool selective = granularity == "selective" || (!granularity && old_flag);
  const std::string from = s->Place(granularity ? "recompute-granularity" : "recompute-activations");
  draft->Put("training.recompute", full ? "FULL" : selective ? "SELECTIVE" : "NONE", from);
  if (selective) {
    int at = 0;
    for (std::string module : s->Texts("recompute-modules")) {
      const std::string place = s->Place("recompute-modules");
      const std::string path = "training.recompute_modules[" + std::to_string(at++) + ']';
      if (module == "core_attn") module = "core_attention";
      std::transform(module.begin(), module.end(), module.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      draft->Put(path, module, place);
    }
  }
  if (!full) return;
  // Source: arguments.py: full needs a method, and --recompute-num-layers is 1 unless given.
  const auto method = s->OneOf("recompute-method", {"uniform", "block"});
  if (!method) {
    if (!s->refused("recompute-method")) {
      s->Error("recompute-method", "missing; uniform or block is wanted with --recompute-granularity full");
    }
    return;
  }
  draft->Put("training.recompute_method", method == "block" ? "BLOCK" : "UNIFORM",
             s->Place("recompute-method"));
  const std::int64_t layers = s->Integer("recompute-num-layers", 1, 1000).value_or(1);
  draft->Put("training.recompute_layers", layers, s->Place("recompute-num-layers"));
}

// What is on the host: a part of the optimizer, and activations of layers.
// Source: core 0.12, arguments.py, --optimizer-offload-fraction: all unless given.
void ReadOffload(Settings* s, Draft* draft) {
  const char* fraction = "optimizer-offload-fraction";
  const std::string part = s->Text(fraction).value_or("1");
  const bool overlap = s->Flag("overlap-cpu-optimizer-d2h-h2d");
  if (s->Flag("optimizer-cpu-offload")) {
    draft->Put("training.offload.optimizer", part,
               s->Place(s->has(fraction) ? fraction : "optimizer-cpu-offload"));
    if (overlap && s->Number(fraction).value_or(1.0) > 0) {
      draft->Put("training.offload.overlap", true, s->Place("overlap-cpu-optimizer-d2h-h2d"));
    }
  }
  const char* key = "cpu-offloading-num-layers";
  const std::int64_t layers = s->Integer(key, 0, 1000).value_or(0);
  if (layers > 0) return draft->Put("training.offload.activation_layers", layers, s->Place(key));
  if (s->Flag("cpu-offloading"))
    s->Error("cpu-offloading", "of no layer; --" + std::string(key) + " is wanted");
}

// Source: core 0.14: --attention-backend for Transformer Engine; --use-flash-attn for its own layers.
void ReadAttention(const ImportRequest& request, Settings* s, Draft* draft) {
  const std::string impl =
      s->OneOf("transformer-impl", {"transformer_engine", "local"}).value_or("transformer_engine");
  const std::string backend =
      s->OneOf("attention-backend", {"auto", "flash", "fused", "unfused", "local"}).value_or("auto");
  const char* key = impl == "local" ? "transformer-impl" : "attention-backend";
  const bool flash = s->Flag("use-flash-attn");
  std::string attention = UsualAttention(request, *draft, true);
  if (backend == "unfused" || backend == "local") {
    attention = "UNFUSED";
  } else if (backend == "flash") {
    attention = "FLASH2";
  } else if (backend == "fused") {
    attention = "CUDNN";
  } else if (impl == "local") {
    attention = flash ? "FLASH2" : "UNFUSED";
  }
  draft->Put("training.attention", attention, s->Place(key));
}

}  // namespace

void ReadMegatronTraining(const ImportRequest& request, Settings* s, Draft* draft) {
  const std::int64_t gradient_bytes = ReadFormats(s, draft);
  if (s->OneOf("optimizer", {"adam"}) || !s->has("optimizer")) {
    draft->Put("training.optimizer", "ADAM", s->Place("optimizer"));
  }
  ReadDataParallel(s, gradient_bytes, draft);
  ReadInstances(s, request, draft);
  ReadRecompute(s, draft);
  ReadOffload(s, draft);
  ReadAttention(request, s, draft);
  // Source: arguments.py: both are 0.1 unless given.
  constexpr double kUsual = 0.1;
  const double attention = s->Number("attention-dropout").value_or(kUsual);
  const double hidden = s->Number("hidden-dropout").value_or(kUsual);
  draft->Put("training.dropout", attention > 0 || hidden > 0,
             s->Place(s->has("attention-dropout") ? "attention-dropout" : "hidden-dropout"));
  const double clip = s->Number("clip-grad").value_or(1.0);
  draft->Put("training.gradient_norm", clip > 0, s->Place("clip-grad"));
}

}  // namespace scenarios
