// 17.1 (units, devices, formats), 17.2 and 27.2 (parameters).

#include "hardware/roofline.h"
#include "models/adapters.h"
#include "models/elementwise.h"
#include "models/kv_cache.h"
#include "models/parameters.h"
#include "models/training_state.h"
#include "scenarios/budget/volumes.h"
#include "tests/models/shapes.h"
#include "tests/textbook/figures.h"

namespace textbook {
namespace {

using models::AdamWStateOf;
using models::Model;
using models::ParametersOf;
using models::ParametersOfLayer;

using sim::Number;
double Total(const Model& m) { return Number(ParametersOf(m).total()); }

// Weights in so many bits, without scales.
double WeightGb(std::int64_t parameters, std::int64_t bits) {
  return Number(models::QuantisedBytes(parameters, {bits, 1, 0}).count()) * 1e-9;
}
double StateGb(std::int64_t parameters, const models::StateWidths& widths) {
  return Number(AdamWStateOf(parameters, widths).total().count()) * 1e-9;
}
// Bytes a second for each FLOP/s.
double BytesOverFlops(const char* name) {
  return 1 / hardware::RoofOf(DeviceOf(name), sim::NumberFormat::kBf16).ridge();
}

double KeyValueMatrices(std::int64_t hidden, std::int64_t heads, std::int64_t head_dim) {
  return 2.0 * Number(heads * head_dim * hidden);
}

Model Tied(Model m) {
  m.tied_embedding = true;
  return m;
}
Model Llama8bAsMha() { return Tied(models::Llama(32, 4096, 14336, 32, 32, 128256)); }
Model Llama8bTied() { return Tied(models::Llama(32, 4096, 14336, 32, 8, 128256)); }
// 40 layers of 5,120, feed-forward 20,480, 40 heads, vocabulary 50,000, tied.
Model Sketch() { return Tied(models::Llama(40, 5120, 20480, 40, 40, 50000)); }
Model SketchWithExperts() { return models::WithExperts(Sketch(), 8, 2, 20480); }

Model Exercise27(bool last_norm) {
  Model m = ModelOf("seed27_example");
  m.tied_embedding = false;
  m.norm = models::Norm::kLayer;
  m.final_norm = last_norm;
  return m;
}

// 17.1.2, 17.1.6: bytes over a rate.
constexpr double kGradients7b = 14e9;

std::vector<Figure> Units() {
  using scenarios::VolumeOf;
  using sim::CollectiveKind;
  const double product = Number(models::ProductFlops(4096, 4096, 4096));
  const double ffn = 3 * Number(models::ProductFlops(1, 28672, 8192));
  const hardware::Roof h800{kH800, kH800Memory};
  const double reduce8 = VolumeOf(CollectiveKind::kAllReduce, kGradients7b, 8).sent;
  const char* both_ways = "E8: 400 and 900 GB/s are both directions together";
  return {
      {"17.1.1", "FLOPs of 2 x 3 times 3 x 4", "48", Number(models::ProductFlops(2, 4, 3))},
      {"17.1.1 Ex1", "FLOPs of a projection", "137,438,953,472", product},
      {"17.1.1 Ex1", "GFLOP of four", "550", 4 * product * 1e-9},
      {"17.1.1 Ex2", "FLOPs of a token in a feed-forward", "1,409,286,144", ffn},
      {"17.1.1 Ex2", "TFLOP of 4,096 tokens", "5.8", 4096 * ffn * 1e-12},
      {"17.1.1 Ex2", "TFLOP of 80 layers", "464", 80 * 4096 * ffn * 1e-12, "462",
       "rounded before multiplied"},
      {"17.1.2 Ex1", "us to read 14 GB", "4,179", h800.time(0, 14e9) * 1e6},
      {"17.1.2 Ex2", "ms over an H800's NVLink", "35", kGradients7b / 200e9 * 1e3, "70", both_ways},
      {"17.1.2 Ex2", "ms over an H20's NVLink", "15.6", kGradients7b / 450e9 * 1e3, "31.1", both_ways},
      {"17.1.2 Ex2", "ms over one NDR port", "280", kGradients7b / 50e9 * 1e3},
      {"17.1.2 Ex3", "ms of an all-reduce on H800", "163", reduce8 / 150e9 * 1e3},
      {"17.1.2 Ex3", "ms of an all-reduce on H20", "82", reduce8 / 300e9 * 1e3},
      {"17.1.3", "FLOP/B where an H100 turns", "295", h800.ridge()},
      {"T17-2", "GB, FP32 and Adam, 7e9", "84", StateGb(7'000'000'000, {4, 4, 0}), "112", "B10: gradients"},
      {"T17-2", "GB, BF16 and Adam, 7e9", "70", StateGb(7'000'000'000, {}), "112", "B10: gradients, master"},
      {"T17-3", "GB in BF16", "14", WeightGb(7'000'000'000, 16)},
      {"T17-3", "GB in FP8", "7", WeightGb(7'000'000'000, 8)},
      {"T17-3", "GB in INT4", "3.5", WeightGb(7'000'000'000, 4)},
      {"T17-4", "GB, FP32 and Adam", "84", StateGb(7'000'000'000, {4, 4, 0}), "112", "B10: gradients"},
      {"T17-5", "GB, BF16 and master, 70e9", "420",
       Number(AdamWStateOf(70'000'000'000, {}).weights.count() +
              AdamWStateOf(70'000'000'000, {}).master.count()) *
           1e-9},
      {"T17-5", "GB in FP8", "70", WeightGb(70'000'000'000, 8)},
      {"17.1.4 Ex3", "GB, training in FP8", "770", StateGb(70'000'000'000, {1, 2, 4}), "1,050",
       "B10: master"},
      {"17.1.5", "1e-3 B/FLOP of H20", "27", BytesOverFlops("h20") * 1e3},
      {"17.1.5", "1e-3 B/FLOP of H800", "3.39", BytesOverFlops("h800_sxm") * 1e3},
      {"17.1.5", "1e-3 B/FLOP of RTX 4090", "12.2", BytesOverFlops("rtx4090") * 1e3, "6.1",
       "B19: half the peak of its matrix units"},
      {"17.1.5 Ex1", "GB a device of 8, 70e9", "140",
       Number(models::ShareOf(AdamWStateOf(70'000'000'000), 3, 8).total().count()) * 1e-9},
      {"T17-7", "GB, INT4, 70e9", "35", WeightGb(70'000'000'000, 4)},
      {"T17-7", "GB a device of two, BF16", "70", WeightGb(70'000'000'000, 16) / 2},
      {"17.1.6 Ex1", "TB/s across the middle of a node", "1.6", 4 * 200e9 * 1e-12, "0.8", both_ways},
      {"17.1.6 Ex2", "ms, a ring of 8 nodes, 140 GB", "613",
       VolumeOf(CollectiveKind::kAllReduce, 140e9, 8).sent / 400e9 * 1e3},
  };
}

std::vector<Figure> Dense() {
  const Model m7 = ModelOf("llama_7b"), m405 = ModelOf("llama3_1_405b");
  const models::LayerParameters layer = ParametersOfLayer(m7, 0);
  const models::LayerParameters layer405 = ParametersOfLayer(m405, 0);
  const models::ModelParameters p7 = ParametersOf(m7);
  return {
      {"T17-8", "attention of a layer", "67,108,864", Number(layer.attention)},
      {"T17-8", "feed-forward of a layer", "135,266,304", Number(layer.mlp)},
      {"T17-8", "norms of a layer", "8,192", Number(layer.norms)},
      {"T17-8", "32 layers", "6,476,267,520", Number(p7.layers.total())},
      {"T17-8", "table and head", "262,144,000", Number(p7.table + p7.output)},
      {"17.2.1 Ex1", "parameters of LLaMA-7B", "6,738,411,520", Total(m7), "6,738,415,616",
       "B14: the last norm, 4,096"},
      {"T17-9", "a layer as MHA", "243,277,824", Number(ParametersOfLayer(Llama8bAsMha(), 0).total())},
      {"T17-9", "table", "525,336,576", Number(ParametersOf(Llama8bAsMha()).table)},
      {"17.2.1 Ex2", "1e9 as MHA, tied", "8.31", Total(Llama8bAsMha()) * 1e-9},
      {"17.2.1 Ex2", "1e9 less with 8 key heads", "0.86",
       (Total(Llama8bAsMha()) - Total(Llama8bTied())) * 1e-9, "0.805", "B14: 1.5 d^2 a layer, not 1.6"},
      {"17.2.1 Ex2", "1e9, tied", "7.45", Total(Llama8bTied()) * 1e-9, "7.505", "B14: as above"},
      {"17.2.1 Ex2", "1e9 of LLaMA-3-8B", "8.0", Total(ModelOf("llama3_8b")) * 1e-9},
      {"17.2.1 Ex3", "1e6, attention of a layer", "570.4", Number(layer405.attention) * 1e-6},
      {"17.2.1 Ex3", "1e6, feed-forward of a layer", "2,617.2", Number(layer405.mlp) * 1e-6},
      {"17.2.1 Ex3", "1e9 of LLaMA-3.1-405B", "405.9", Total(m405) * 1e-9},
  };
}

std::vector<Figure> Experts() {
  const Model m7 = ModelOf("mixtral_8x7b"), m22 = ModelOf("mixtral_8x22b"), v2 = ModelOf("deepseek_v2");
  const auto active = [](const Model& m) { return Number(ParametersOf(m).active()); };
  const models::LayerParameters v2_layer = ParametersOfLayer(v2, 1);
  const char* all = "two tables; 8 key heads; the total of its shapes";
  const char* latent = "B14: latent attention, 149.2e6 a layer, and both tables";
  return {
      {"T17-10", "1e6 of experts a layer", "1,409", Number(ParametersOfLayer(m7, 0).experts) * 1e-6},
      {"T17-10", "1e6 of experts", "45,097", Number(ParametersOf(m7).layers.experts) * 1e-6},
      {"T17-10", "1e9 of Mixtral 8x7B", "47.5", Total(m7) * 1e-9, "46.7", all},
      {"T17-10", "1e9 active", "13.7", active(m7) * 1e-9, "12.9", all},
      {"17.2.2 Ex2", "one expert", "23,592,960", Number(v2_layer.experts / 160)},
      {"17.2.2 Ex2", "experts of a layer", "3,774,873,600", Number(v2_layer.experts)},
      {"17.2.2 Ex2", "1e6, attention of a layer", "104.9", Number(v2_layer.attention) * 1e-6, "149.2",
       latent},
      {"T17-11", "1e9 of DeepSeek-V2", "233", Total(v2) * 1e-9, "236", latent},
      {"T17-11", "1e9 active", "18.1", active(v2) * 1e-9, "21.4", latent},
      {"T17-11", "active, per cent", "7.8", 100 * active(v2) / Total(v2), "9.1", latent},
      {"17.2.2 Ex3", "one expert", "301,989,888", Number(ParametersOfLayer(m22, 0).experts / 8)},
      {"17.2.2 Ex3", "experts of a layer", "2,415,919,104", Number(ParametersOfLayer(m22, 0).experts)},
      {"T17-12", "1e9 of experts", "135.3", Number(ParametersOf(m22).layers.experts) * 1e-9},
      {"T17-12", "1e9 of Mixtral 8x22B", "144.0", Total(m22) * 1e-9, "140.6", all},
      {"T17-12", "1e9 active", "42.5", active(m22) * 1e-9, "39.2", all},
  };
}

std::vector<Figure> KeyHeads() {
  const auto cache = [](std::int64_t kv_heads) {
    return Number(models::KvCacheBytes(models::Llama(80, 8192, 28672, 64, kv_heads, 32000), 1, 2).count()) /
           (1 << 20);
  };
  const char* palm = "B14: PaLM-540B has 48 heads of 256, not 72";
  return {
      {"17.2.3 Ex1", "keys and values of a layer, 64 heads", "134,217,728", KeyValueMatrices(8192, 64, 128)},
      {"17.2.3 Ex1", "1e9 in 80 layers", "10.74", 80 * KeyValueMatrices(8192, 64, 128) * 1e-9},
      {"17.2.3 Ex1", "parameters of LLaMA-2-70B", "70e9", Total(ModelOf("llama2_70b")), "68,976,648,192",
       "E14: it has 8 key heads"},
      {"17.2.3 Ex2", "keys and values of a layer, 8 heads", "16,777,216", KeyValueMatrices(8192, 8, 128)},
      {"17.2.3 Ex2", "1e9 in 80 layers", "1.34", 80 * KeyValueMatrices(8192, 8, 128) * 1e-9},
      {"T17-15", "MiB a token, 64 heads", "2.5", cache(64)},
      {"T17-15", "MiB a token, 8 heads", "0.31", cache(8)},
      {"17.2.3 Ex3", "1e6 of a layer, one key head", "9.44", KeyValueMatrices(18432, 1, 256) * 1e-6},
      {"T17-16", "1e6 of a layer as MHA", "679.5", KeyValueMatrices(18432, 48, 256) * 1e-6, "453.0", palm},
      {"T17-14", "1e9 of keys and values, LLaMA-3-70B", "1.3", 80 * KeyValueMatrices(8192, 8, 128) * 1e-9},
  };
}

std::vector<Figure> Tables() {
  const auto share = [](const char* name) {
    const models::ModelParameters p = ParametersOf(ModelOf(name));
    return 100 * Number(p.table) / Number(p.total());
  };
  const char* xglm = "its table has 256,008 rows";
  return {
      {"T17-17", "per cent, GPT-2", "31.1", share("gpt2")},
      {"T17-17", "per cent, LLaMA-2-7B", "2.0", share("llama2_7b")},
      {"T17-17", "per cent, LLaMA-3-8B", "6.6", share("llama3_8b")},
      {"T17-17", "per cent, Qwen-2.5-7B", "7.2", share("qwen2_5_7b")},
      {"T17-17", "per cent, BLOOM-7B", "14.5", share("bloom_7b1")},
      {"T17-17", "per cent, XGLM-7.5B", "13.7", share("xglm_7_5b"), "14.0", xglm},
      {"17.2.4 Ex1", "table of LLaMA-3-8B", "525,336,576", Number(ParametersOf(ModelOf("llama3_8b")).table)},
      {"17.2.4 Ex1", "table of Qwen-2.5-7B", "544,997,376",
       Number(ParametersOf(ModelOf("qwen2_5_7b")).table)},
      {"T17-18", "per cent, 50,000 x 512 of 80e6", "32.0",
       Number(ParametersOf(models::Llama(1, 512, 512, 8, 8, 50000)).table) / 80e6 * 100},
      {"T17-20", "per cent, tied, 250,000 x 8,192 of 70e9", "2.9",
       Number(ParametersOf(models::Llama(1, 8192, 1, 64, 8, 250000)).table) / 70e9 * 100},
      {"T17-20", "per cent, untied", "5.9",
       2 * Number(ParametersOf(models::Llama(1, 8192, 1, 64, 8, 250000)).table) / 70e9 * 100},
  };
}

std::vector<Figure> LookUp() {
  const auto billions = [](const char* name) { return Total(ModelOf(name)) * 1e-9; };
  return {
      {"T17-21", "1e9 of LLaMA-3-8B", "8.0", billions("llama3_8b")},
      {"T17-21", "1e9 of LLaMA-3-70B", "70.6", billions("llama3_70b")},
      {"T17-21", "1e9 of LLaMA-3.1-405B", "405", billions("llama3_1_405b")},
      {"T17-21", "1e9 of Qwen-2.5-7B", "7.6", billions("qwen2_5_7b")},
      {"T17-21", "1e9 of Qwen-2.5-72B", "72.7", billions("qwen2_5_72b")},
      {"T17-21", "1e9 of DeepSeek-V2", "236", billions("deepseek_v2")},
      {"T17-21", "1e9 of DeepSeek-V3", "671", billions("deepseek_v3")},
      {"T17-21", "1e9 of Mixtral 8x7B", "46.7", billions("mixtral_8x7b")},
      {"T17-21", "1e9 of Mistral 7B", "7.2", billions("mistral_7b")},
      {"T17-21", "1e9 of Gemma-2-27B", "27.2", billions("gemma2_27b")},
      {"17.2.5 Ex1", "1e9 of Mistral 7B", "7.11", billions("mistral_7b"), "7.24", "its head is not tied"},
      {"T17-22", "1e9 of Qwen-2.5-7B", "7.69", billions("qwen2_5_7b"), "7.62",
       "E15: 4 key heads, biases, untied"},
      {"T17-22", "1e9 of LLaMA-3-8B, untied", "8.03", billions("llama3_8b")},
      {"17.2.5 Ex2", "1e9, dense", "17.0", Total(Sketch()) * 1e-9},
      {"17.2.5 Ex2", "1e9, 8 experts", "136", Total(SketchWithExperts()) * 1e-9, "105.1",
       "A4: only the feed-forward is there 8 times; 104.9 without the table"},
      {"17.2.5 Ex2", "1e9 active", "34", Number(ParametersOf(SketchWithExperts()).active()) * 1e-9, "29.6",
       "A4: as above; with its router"},
      {"27 Eq5", "attention of a layer", "2,621,440",
       Number(ParametersOfLayer(ModelOf("seed27_example"), 0).attention)},
      {"27 Eq6", "parameters", "168,059,904", Total(ModelOf("seed27_example"))},
      {"27 exercise 2", "layer norms, untied", "200,853,504", Total(Exercise27(true))},
      {"27.1", "GiB of 7e9 in two bytes", "13.04", WeightGb(7'000'000'000, 16) * 1e9 / (1 << 30)},
  };
}

}  // namespace

std::vector<Figure> ParameterFigures() {
  std::vector<Figure> all;
  for (const auto& part : {Units(), Dense(), Experts(), KeyHeads(), Tables(), LookUp()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace textbook
