// 17.4, 27.4 and 27.5: what training and serving hold.

#include <array>

#include "models/adapters.h"
#include "models/flops.h"
#include "models/kv_cache.h"
#include "models/kv_pool.h"
#include "models/memory.h"
#include "models/parameters.h"
#include "models/training_state.h"
#include "scenarios/budget/serving.h"
#include "scenarios/budget/volumes.h"
#include "tests/models/shapes.h"
#include "tests/textbook/figures.h"

namespace textbook {
namespace {

using models::AdamWStateOf;
using models::Model;
using models::OptimizerKind;
using models::ShareOf;
using models::TrainingState;

using sim::Number;
double Gb(sim::Bytes bytes) { return Number(bytes.count()) * 1e-9; }
double Gib(sim::Bytes bytes) { return Number(bytes.count()) / (1 << 30); }

constexpr std::int64_t k7b = 6'740'000'000, k70b = 70'000'000'000, k405b = 405'000'000'000;  // as printed

// The optimizer's numbers with the master copy.
double OptimizerGb(OptimizerKind kind) {
  const Model m = ModelOf("llama_7b");
  return Gb(models::OptimizerStateBytes(m, kind)) + 4e-9 * Number(models::ParametersOf(m).total());
}

std::vector<Figure> States() {
  const TrainingState s7 = AdamWStateOf(k7b), s70 = AdamWStateOf(k70b), s405 = AdamWStateOf(k405b);
  const auto weights = [](const char* name, double divisor) {
    return Number(models::ParametersOf(ModelOf(name)).total()) * divisor * 1e-9;
  };
  const char* no_master = "B11: with the master copy, as Adam has";
  return {
      {"T17-31", "GB of weights, 7B", "13.5", Gb(s7.weights)},
      {"T17-31", "GB of the optimizer", "80.9", Gb(s7.master + s7.optimizer)},
      {"T17-31", "GB of gradients", "13.5", Gb(s7.gradients)},
      {"17.4.1", "GB of all, 7B", "108", Gb(s7.total())},
      {"T17-33", "GB of weights and master, 7B", "40.44", Gb(s7.weights + s7.master)},
      {"T17-33", "GB of weights and master, 70B", "420.0", Gb(s70.weights + s70.master)},
      {"T17-33", "GB of weights and master, 405B", "2430.0", Gb(s405.weights + s405.master)},
      {"T17-34", "GB, INT4 without scales, 7B", "3.37", Gb(models::QuantisedBytes(k7b, {4, 128, 0}))},
      {"17.4.2 Ex1", "GB, INT4 without scales, 70B", "35", Gb(models::QuantisedBytes(k70b, {4, 128, 0}))},
      {"17.4.2 Ex2", "GB, BF16, 405B", "810", Gb(s405.weights)},
      {"T17-35", "GB of Adam, 7B", "80.88", Gb(s7.master + s7.optimizer)},
      {"T17-35", "GB of SGD with momentum", "26.96", OptimizerGb(OptimizerKind::kSgdMomentum), "53.91",
       no_master},
      {"T17-35", "GB of Adam in 8 bits", "40.44", OptimizerGb(OptimizerKind::kAdamW8bit), "40.46",
       "a scale of each block of 2,048"},
      {"T17-35", "GB of Adam-mini", "26.96", OptimizerGb(OptimizerKind::kAdamMini), "53.92", no_master},
      {"T17-36", "GB of Adam, 70B", "840.0", Gb(s70.master + s70.optimizer)},
      {"17.4.3 Ex1", "TB of Adam, 405B", "4.860", Gb(s405.master + s405.optimizer) * 1e-3},
      {"17.4.3 Ex3", "GB that 8 bits spare", "40.44",
       OptimizerGb(OptimizerKind::kAdamW) - OptimizerGb(OptimizerKind::kAdamW8bit), "40.40",
       "6 bytes of 6.738e9, less the scales"},
      {"17.4.3 Ex3", "GB of both moments", "40.44",
       Gb(models::OptimizerStateBytes(ModelOf("llama_7b"), OptimizerKind::kAdamW)), "53.91",
       "B11: 8 bytes a parameter, of which 8 bits spare 6"},
      {"T17-37", "GB of FP32 gradients, 7B", "26.96", Gb(AdamWStateOf(k7b, {2, 4, 4}).gradients)},
      {"T17-38", "GB of gradients, 7B", "13.48", Gb(s7.gradients)},
      {"17.4.4 Ex1", "GB of gradients, 70B", "140.0", Gb(s70.gradients)},
      {"17.4.4 Ex2", "GB of gradients, whatever the accumulation", "13.48", weights("llama_7b", 2)},
  };
}

std::vector<Figure> Activations() {
  models::Execution flash;
  flash.sequence_length = 4096;
  flash.micro_batch = 1;
  models::Execution unfused = flash;
  unfused.attention = sim::AttentionKind::kUnfused;
  const Model m = ModelOf("llama_7b");
  const auto layer = [&](const models::Execution& e, models::Recompute recompute) {
    return Gb(models::LayerActivationBytes(m, e, 0, recompute));
  };
  // A score in BF16 of each head and pair of tokens.
  const auto scores = [](std::int64_t heads, std::int64_t tokens) {
    return 2e-9 * Number(heads * tokens * tokens);
  };
  const double input = Gb(models::LayerInput(m, flash));
  const double core = Number(models::SelectiveRecomputeFlops(m, 1, 4096));
  return {
      {"T17-39", "MB of a layer's input", "33.6", input * 1e3},
      {"T17-40", "GB of a layer, unfused", "2.52", layer(unfused, models::Recompute::kNone), "1.613",
       "E21: 2 x 65,792 bytes a token and the softmax once, no scores"},
      {"17.4.5", "GB of scores a layer at 16,384", "17.2", scores(32, 16384)},
      {"17.4.5 Ex1", "GB of 32 layers", "46.4", 32 * layer(unfused, models::Recompute::kNone), "51.6",
       "B12: counted per tensor"},
      {"17.4.5 Ex2", "GB of scores a layer at 32,768", "68.7", scores(32, 32768)},
      {"17.4.5 Ex3", "GB of scores a layer, 70B", "2.15", scores(64, 4096)},
      {"T17-42", "GB, nothing recomputed", "43.5", 32 * layer(unfused, models::Recompute::kNone), "51.6",
       "B12: three figures for one case"},
      {"T17-42", "GB, nothing recomputed, fused attention", "43.5",
       32 * layer(flash, models::Recompute::kNone), "17.3", "B12: flash attention keeps no scores"},
      {"17.4.6 Ex1", "GB, all recomputed", "1.05", 32 * layer(flash, models::Recompute::kFull), "1.07",
       "GB and GiB"},
      {"T17-41", "per cent more work, all recomputed", "33",
       100 * Number(models::FullRecomputeFlops(m, 1, 4096)) / Number(models::ModelFlops(m, 1, 4096))},
      {"T17-41", "per cent more work, the attention core", "20",
       100 * core / Number(models::ModelFlops(m, 1, 4096)), "4.7",
       "B12: of all work the core is 14 per cent"},
  };
}

std::vector<Figure> Totals() {
  const TrainingState s7 = AdamWStateOf(k7b), s70 = AdamWStateOf(k70b), s405 = AdamWStateOf(k405b);
  const auto per_gpu = [](const TrainingState& s, int stage, std::int64_t ranks) {
    return Gb(ShareOf(s, stage, ranks).total());
  };
  const char* only_cut = "E3: what is not cut is held too";
  const double sent = scenarios::DataVolumeOf({.zero_stage = 3, .ranks = 8, .parameters = 6.74e9}).total();
  return {
      {"T17-43", "GB, 7B", "107.8", Gb(s7.total())},
      {"T17-43", "GB, 13B", "208.0", Gb(AdamWStateOf(13'000'000'000).total())},
      {"T17-43", "GB, 405B", "6480", Gb(s405.total())},
      {"T17-44", "GB, 7B with activations and 2 GB", "110.89", Gb(s7.total()) + 1.05 + 2},
      {"17.4.7 Ex1", "GB a device of two", "53.92", per_gpu(s7, 3, 2)},
      {"T17-45", "GB, 70B", "1120", Gb(s70.total())},
      {"17.4.7 Ex2", "GB a device of 32", "35", per_gpu(s70, 3, 32)},
      {"T17-46", "GB a device, ZeRO-1", "10.1", per_gpu(s7, 1, 8), "37.1", only_cut},
      {"T17-46", "GB a device, ZeRO-2", "11.8", per_gpu(s7, 2, 8), "25.3", only_cut},
      {"T17-46", "GB a device, ZeRO-3", "13.5", per_gpu(s7, 3, 8)},
      {"T17-47", "GB a device of 32, 7B", "3.4", per_gpu(s7, 3, 32)},
      {"T17-47", "GB a device of 64, 70B", "17.5", per_gpu(s70, 3, 64)},
      {"17.4.8", "GB sent a step by ZeRO-3", "53.9", sent * 1e-9, "35.4",
       "E2: three passes over 2 P, of which 7/8 leave"},
      {"27 Eq12", "GB, 7e9", "112", Gb(AdamWStateOf(7'000'000'000).total())},
      {"27 Eq15", "GB a device of 8", "14", per_gpu(AdamWStateOf(7'000'000'000), 3, 8)},
      {"27 Ex15.2", "GiB of state", "2.5043", Gib(AdamWStateOf(168'059'904).total())},
      {"27 Ex15.2", "MiB of weights", "320.55", Gib(AdamWStateOf(168'059'904).weights) * 1024},
      {"27 Ex15.3", "GiB of state", "104.31", Gib(AdamWStateOf(7'000'000'000).total())},
      {"27 Ex15.3", "GiB a device of 8", "13.04", Gib(ShareOf(AdamWStateOf(7'000'000'000), 3, 8).total())},
      {"27 exercise 6", "bytes a parameter, FP32 gradients", "18",
       Gb(AdamWStateOf(1'000'000'000, {2, 4, 4}).total())},
      {"27 exercise 6", "the same, ZeRO-1 of 12", "7",
       Gb(ShareOf(AdamWStateOf(1'200'000'000, {2, 4, 4}), 1, 12).total()) / 1.2},
  };
}

std::vector<Figure> Caches() {
  const Model m8 = ModelOf("llama3_8b"), m70 = ModelOf("llama3_70b"), m7 = ModelOf("llama2_7b");
  const auto gb = [](const Model& m, std::int64_t tokens, std::int64_t width = 2) {
    return Gb(models::KvCacheBytes(m, tokens, width));
  };
  Model many = m70;
  many.kv_heads = 64;
  const Model seed = ModelOf("seed27_example");
  const std::array<std::int64_t, 3> lengths = {1000, 2000, 3000};
  const char* heads = "E13: it has 8 key heads";
  // 80 layers of DeepSeek-V2's narrow vector.
  Model narrow = ModelOf("deepseek_v2");
  narrow.layers = 80;
  return {
      {"T17-49", "GB, LLaMA-3-8B, 8,192", "4.3", gb(m8, 8192), "1.1", heads},
      {"T17-49", "GB, LLaMA-3-70B, 32,768", "10.8", gb(m70, 32768)},
      {"T17-49", "GB, LLaMA-2-7B, 131,072", "68.7", gb(m7, 131072)},
      {"17.4.9 Ex1", "GB, LLaMA-3-8B, 8,192", "4.29", gb(m8, 8192), "1.07", heads},
      {"17.4.9 Ex2", "GB, LLaMA-3-70B, 131,072", "42.9", gb(m70, 131072)},
      {"17.4.9 Ex2", "GB with 64 key heads", "343.3", gb(many, 131072), "343.6", "8 times 42.95"},
      {"17.4.9 Ex3", "GB of 64 requests", "171.8", 64 * gb(m70, 8192)},
      {"17.4.9", "GB of 64 requests of 32,768", "687.2", 64 * gb(m70, 32768)},
      {"17.4.10 Ex1", "GB in INT8", "21.45", gb(m70, 131072, 1), "21.47", "half of a rounded figure"},
      {"17.4.10 Ex1", "TB of 64 requests", "2.7485", 64 * gb(m70, 131072) * 1e-3, "2.7488", "as above"},
      {"T17-51", "GB, 8 key heads in INT8", "2.7", gb(m70, 131072, 1), "21.5",
       "E13: 42.9 has 8 key heads already"},
      {"T17-51", "GB, latent attention", "5.4", gb(narrow, 131072), "12.1",
       "B13: it keeps 576 numbers a token and layer"},
      {"27.4", "bytes a position", "12,288", Number(models::KvCacheBytes(seed, 1, 2).count())},
      {"27 Eq10", "MiB of 8,192 positions", "96", Gib(models::KvCacheBytes(seed, 8192, 2)) * 1024},
      {"27 Eq10", "GiB of 32 requests", "3", 32 * Gib(models::KvCacheBytes(seed, 8192, 2))},
      {"27 Ex15.2", "MiB of four requests of 2,048", "96",
       4 * Gib(models::KvCacheBytes(seed, 2048, 2)) * 1024},
      {"27 exercise 4", "places in pages of 256", "6,144", Number(models::PagedTokens(lengths, 256))},
      {"27 Eq9", "bytes a weight, 4 bits, FP32 of 128", "0.53125",
       Gb(models::QuantisedBytes(1'280'000'000, {4, 128, 32})) / 1.28},
      {"27 exercise 5", "times less than two bytes", "3.765",
       2 / (Gb(models::QuantisedBytes(1'280'000'000, {4, 128, 32})) / 1.28)},
  };
}

std::vector<Figure> Serving() {
  scenarios::Server s{.model = ModelOf("llama3_70b")};
  const double kv = 32 * scenarios::KvBytes(s, 4096) * 1e-9;
  const char* twice = "A12: 2 x 80 x 32 x 4,096 x 1,024 x 2 bytes are half of it";
  const Model m7 = ModelOf("llama2_7b");
  return {
      {"T17-55", "GB/s of PCIe, one way", "128", DeviceOf("h800_sxm").pcie.wire.bytes_per_second() * 1e-9,
       "63", "E8: both ways"},
      {"17.4.12", "s to copy 2P out while 2P come in", "0.21",
       Gb(AdamWStateOf(k7b).weights) / (DeviceOf("h800_sxm").pcie.wire.bytes_per_second() * 1e-9)},
      {"17.4.12", "s to read a request of 131,072 over PCIe", "10",
       scenarios::KvBytes(s, 131072) / DeviceOf("h800_sxm").pcie.wire.bytes_per_second(), "0.68",
       "B18: tens of seconds are printed"},
      {"T17-53", "GB, 7B, one request of 4,096", "2.1", Gb(models::KvCacheBytes(m7, 4096, 2))},
      {"T17-53", "GB, 7B, 64 requests", "134", 64 * Gb(models::KvCacheBytes(m7, 4096, 2)), "137",
       "64 times 2.147"},
      {"T17-53", "TB, 70B, 64 requests of 131,072", "2.75", 64 * scenarios::KvBytes(s, 131072) * 1e-12},
      {"T17-54", "GB of keys and values", "85.9", kv, "42.9", twice},
      {"17.4.11 Ex1", "GB in all", "229.9", 140 + kv + 4, "186.9", twice},
      {"17.4.11 Ex1", "GB a device of four", "60.5", (140 + kv) / 4 + 4, "49.7", twice},
      {"17.4.11 Ex2", "GB, INT4, a device of two", "66.3", (38.5 + kv) / 2 + 4, "44.7", twice},
  };
}

}  // namespace

std::vector<Figure> MemoryFigures() {
  std::vector<Figure> all;
  for (const auto& part : {States(), Activations(), Totals(), Caches(), Serving()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace textbook
