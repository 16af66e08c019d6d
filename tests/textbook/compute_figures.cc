// 17.3 and 27.3: FLOPs.

#include "models/elementwise.h"
#include "models/flops.h"
#include "models/parameters.h"
#include "scenarios/budget/training_time.h"
#include "tests/models/shapes.h"
#include "tests/textbook/figures.h"

namespace textbook {
namespace {

using models::ForwardFlops;
using models::Model;

using sim::Number;

// One layer of LLaMA-7B or 70B without ends, so that its FLOPs are a layer's.
Model Layer7b() { return models::Llama(1, 4096, 11008, 32, 32, 1); }
Model Layer70b() { return models::Llama(1, 8192, 28672, 64, 8, 1); }

std::vector<Figure> Layers() {
  using models::ProductFlops;
  const double qkv = Number(ProductFlops(4096, 12288, 4096)), up = Number(ProductFlops(4096, 11008, 4096));
  const double out = Number(ProductFlops(4096, 4096, 4096));
  const double linear = Number(ForwardFlops(Layer7b(), 1, 4096).linear);
  const double attention = Number(ForwardFlops(Layer7b(), 1, 4096).attention);
  const double long_attention = Number(ForwardFlops(Layer7b(), 1, 32768).attention);
  const double attention70 = Number(ForwardFlops(Layer70b(), 1, 4096).attention);
  const models::ElementwiseFlops small = ElementwiseFlopsOf(ModelOf("llama_7b"), 1, 4096);
  Model one_norm_pair = Layer7b();
  one_norm_pair.final_norm = false;
  return {
      {"17.3.1 Ex", "GFLOP of 1,024 x 4,096 x 2,048", "17.18", Number(ProductFlops(1024, 2048, 4096)) * 1e-9},
      {"17.3.1 Ex", "us at the peak", "17.4", Number(ProductFlops(1024, 2048, 4096)) / kH800 * 1e6},
      {"17.3.1 Ex1", "FLOPs of QKV", "412,316,860,416", qkv},
      {"17.3.1 Ex2", "FLOPs of up", "369,367,187,456", up},
      {"T17-23", "GFLOP of QKV", "412", qkv * 1e-9},
      {"T17-23", "GFLOP of O", "137", out * 1e-9},
      {"T17-23", "GFLOP of the feed-forward", "1,108", 3 * up * 1e-9},
      {"T17-24", "GFLOP of a layer", "1,657.9", linear * 1e-9},
      {"17.3.2 Ex1", "TFLOP of 32 layers", "53", 32 * linear * 1e-12},
      {"17.3.2 Ex2", "GFLOP a token and layer", "0.405", linear / 4096 * 1e-9},
      {"17.3.2", "backward over forward", "2",
       Number(models::BackwardFlops(4096, 4096, 4096, true, true)) / out},
      {"17.3.3 Ex1", "FLOPs of attention, 4,096", "274,877,906,944", attention},
      {"17.3.3 Ex1", "TFLOP of 32 layers", "8.8", 32 * attention * 1e-12},
      {"17.3.3 Ex1", "per cent of the linear layers", "17", 100 * attention / linear},
      {"17.3.3 Ex2", "FLOPs of attention, 32,768", "17,592,186,044,416", long_attention},
      {"17.3.3 Ex2", "times the linear layers", "10",
       long_attention / Number(ForwardFlops(Layer7b(), 1, 32768).linear), "1.33",
       "A22: the linear layers have 8 times the tokens too"},
      {"17.3.3 Ex3", "FLOPs of attention of 70B", "549,755,813,888", attention70},
      {"17.3.3 Ex3", "TFLOP of 80 layers", "44", 80 * attention70 * 1e-12},
      {"T17-25", "GFLOP of two norms", "0.08",
       Number(ElementwiseFlopsOf(one_norm_pair, 1, 4096).norms) * 1e-9, "0.168", "B15: of one norm"},
      {"17.3.4 Ex", "FLOPs of all norms", "5,368,709,120", Number(small.norms), "5,452,595,200",
       "the last norm is the 65th"},
      {"17.3.5 Ex", "FLOPs of SiLU", "7,211,089,920", Number(small.nonlinearity), "7,214,202,880",
       "miscalculated: 32 x 5 x 4,096 x 11,008"},
      {"17.3.5", "MFLOP of a layer's SiLU", "225", Number(small.nonlinearity) / 32 * 1e-6},
  };
}

std::vector<Figure> Tokens() {
  const Model m7 = ModelOf("llama_7b");
  const models::FlopsOf forward = ForwardFlops(m7, 1, 4096);
  const double logits = Number(forward.logits), token = Number(forward.total()) / 4096;
  const double six7 = Number(models::SixPD(m7, 1));
  const char* whole = "A2: 2P counts the table's look-up as a product; the matrices have 6.607e9";
  return {
      {"17.3.6 Ex", "FLOPs of the logits", "1,073,741,824,000", logits},
      {"17.3.6 Ex", "MFLOP a token", "262", logits / 4096 * 1e-6},
      {"17.3.6 Ex", "per cent of the forward", "1.7", 100 * logits / Number(forward.total())},
      {"T17-26", "GFLOP a token, linear", "13.48", Number(forward.linear + forward.logits) / 4096 * 1e-9,
       "13.21", whole},
      {"T17-26", "GFLOP a token, attention", "2.15", Number(forward.attention) / 4096 * 1e-9},
      {"T17-26", "GFLOP a token", "15.63", token * 1e-9, "15.36", whole},
      {"17.3.7 Ex1", "GFLOP a token, 6P", "40.44", six7 * 1e-9},
      {"17.3.7 Ex1", "us at the peak", "40.8", six7 / kH800 * 1e6},
      {"17.3.7 Ex2", "GFLOP a token, 6P of 70e9", "420", 6 * 70.0},
      {"17.3.7 Ex3", "TFLOP a token, 405B", "2.43",
       Number(models::SixPD(ModelOf("llama3_1_405b"), 1)) * 1e-12},
      {"17.3.7", "GFLOP a token of attention at 128,000", "67.1",
       Number(ForwardFlops(m7, 1, 128000).attention) / 128000 * 1e-9},
  };
}

std::vector<Figure> Runs() {
  const auto device_days = [](double flops, double peak, double u) {
    return scenarios::TrainingSeconds(flops, 1, peak, u) / scenarios::kSecondsOfDay;
  };
  const double c7 = Number(models::SixPD(ModelOf("llama_7b"), 2'000'000'000'000));
  const double c405 = 6 * 405e9 * 15e12, c3 = 6 * 175e9 * 300e9;
  const auto six = [](double parameters) { return 6 * parameters * 1e-9; };
  const auto active = [](const char* name) { return Number(models::ParametersOf(ModelOf(name)).active()); };
  const auto total = [](const char* name) { return Number(models::ParametersOf(ModelOf(name)).total()); };
  return {
      {"T17-27", "1e22 FLOPs of LLaMA-7B, 2e12", "8.09", c7 * 1e-22},
      {"T17-27", "device-days of LLaMA-7B at the peak", "947", device_days(c7, kH800, 1), "945.8",
       "6.74e9 and 989 rounded before"},
      {"T17-27", "device-days of GPT-3", "3,690", device_days(c3, kH800, 1), "3,685", "rounded"},
      {"T17-27", "1e3 device-days of 405B", "426.6", device_days(c405, kH800, 1) * 1e-3, "426.4", "rounded"},
      {"T17-28", "device-days at 40 per cent", "2,368", device_days(c7, kH800, 0.4), "2,365",
       "6.74e9 and 989 rounded before"},
      {"17.3.8 Ex1", "device-days", "2,366", device_days(c7, kH800, 0.4), "2,365",
       "6.74e9 and 989 rounded before"},
      {"17.3.8 Ex2", "1e25 FLOPs", "3.645", c405 * 1e-25},
      {"17.3.8 Ex2", "1e6 device-days", "1.067", device_days(c405, kH800, 0.4) * 1e-6, "1.066",
       "989 for 989.5"},
      {"17.3.8 Ex3", "1e23 FLOPs", "3.15", c3 * 1e-23},
      {"17.3.8 Ex3", "1e5 V100-days at 22 per cent", "1.326", device_days(c3, 125e12, 0.22) * 1e-5},
      {"T17-29", "GFLOP a token of Mixtral 8x7B", "78", six(active("mixtral_8x7b"))},
      {"T17-29", "times fewer than dense", "3.6", total("mixtral_8x7b") / active("mixtral_8x7b")},
      {"17.3.9 Ex1", "GFLOP a token if dense", "282", six(total("mixtral_8x7b")), "280", "47 for 46.7"},
      {"17.3.9 Ex2", "GFLOP a token of DeepSeek-V3", "222", six(active("deepseek_v3")), "225.3",
       "37 for 37.55"},
      {"17.3.9 Ex2", "times fewer than dense", "18.1", total("deepseek_v3") / active("deepseek_v3"), "17.9",
       "as above"},
  };
}

std::vector<Figure> Chapter27() {
  const Model m = ModelOf("seed27_example");
  const models::FlopsOf f = ForwardFlops(m, 1, 2048);
  const double matrices = Number(f.linear + f.logits) / 2048 / 2;
  const double run = 3 * Number(f.total()) / 2048 * 1e9;
  return {
      {"27 Ex15.2", "weights in matrices", "168,034,304", matrices},
      {"27 Eq20", "1e18 FLOPs of 1e9 tokens", "1.310195712", run * 1e-18},
      {"27 Eq18", "s on one device at 0.3 of 2e13", "218,365.952",
       scenarios::TrainingSeconds(run, 1, 2e13, 0.3)},
      {"27 Eq7", "attention over linear layers of 12 d^2, T = 6 d", "1.000",
       Number(ForwardFlops(models::Llama(1, 1024, 2731, 16, 16, 1), 1, 6 * 1024).attention) /
           (2.0 * 6 * 1024 * 12 * 1024 * 1024)},
  };
}

}  // namespace

std::vector<Figure> ComputeFigures() {
  std::vector<Figure> all;
  for (const auto& part : {Layers(), Tokens(), Runs(), Chapter27()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace textbook
