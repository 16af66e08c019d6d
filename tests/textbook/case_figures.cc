// 17.9: the cases from one end to the other.

#include "models/flops.h"
#include "models/parameters.h"
#include "models/training_state.h"
#include "scenarios/budget/network_sizing.h"
#include "scenarios/budget/save_storage.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/budget/volumes.h"
#include "scenarios/scaling.h"
#include "tests/textbook/figures.h"

namespace textbook {
namespace {

using namespace scenarios;
using sim::CollectiveKind;

using sim::Number;
double Days(double flops, double devices, double u) {
  return TrainingSeconds(flops, devices, kH800, u) / kSecondsOfDay;
}
double Usd(double devices, double days, double price) {
  return CostUsd(DeviceHours(static_cast<std::int64_t>(devices), days * 24), price);
}

std::vector<Figure> Small() {
  const double c = Number(models::SixPD(ModelOf("llama_7b"), 2'000'000'000'000));
  const models::TrainingState state = models::AdamWStateOf(6'740'000'000);
  const double step = 3 * Number(models::TwoPD(ModelOf("llama_7b"), 4 * 4096)) / kH800;
  const DataParallelism zero3{.zero_stage = 3, .ranks = 256, .parameters = 6.74e9, .micro_batches = 16};
  DataParallelism no_sync = zero3;
  no_sync.scatters_each = false;
  return {
      {"17.9.1", "1e9 parameters of the layers", "6.48",
       Number(models::ParametersOf(ModelOf("llama_7b")).layers.total()) * 1e-9},
      {"17.9.1", "1e22 FLOPs", "8.09", c * 1e-22},
      {"17.9.1", "GB a device of 8", "13.48", Number(models::ShareOf(state, 3, 8).total().count()) * 1e-9},
      {"17.9.1", "GB a device, tensor 4", "26.96",
       Number(models::AdamWStateOf(6'740'000'000 / 4).total().count()) * 1e-9},
      {"17.9.1", "days on 8 at 45 per cent", "263", Days(c, 8, 0.45)},
      {"17.9.1", "days on 256 at 38 per cent", "9.7", Days(c, 256, 0.38)},
      {"17.9.1", "ms of a micro-batch at the peak", "0.16", step * 1e3, "670", "E1: 16,384 tokens, not 4"},
      {"17.9.1", "GB sent a step, 16 micro-batches", "26.1", DataVolumeOf(no_sync).total() * 1e-9, "443",
       "A14: weights are gathered in every micro-batch"},
      {"17.9.1", "the same, gradients scattered each time", "26.1", DataVolumeOf(zero3).total() * 1e-9, "645",
       "A14: as above"},
      {"T17-126", "GB of a save, 10 bytes a parameter", "67.4",
       Number(SaveBytes(state, {.master = false}).count()) * 1e-9},
      {"T17-126", "GB of a save", "67.4", Number(SaveBytes(state).count()) * 1e-9, "94.4",
       "E19: the master copy belongs to it"},
      {"T17-126", "1e3 USD", "123", Usd(256, 10, 2) * 1e-3},
  };
}

std::vector<Figure> Experts() {
  const double c = 6 * 21e9 * 8e12;
  const models::TrainingState s = models::AdamWStateOf(236'000'000'000);
  // Expert 8 leaves an eighth of everything on a device, and 64 share the optimizer.
  const double weights = Number(s.weights.count()) / 8e9, gradients = Number(s.gradients.count()) / 8e9;
  const double optimizer = Number((s.master + s.optimizer).count()) / 64e9;
  return {
      {"17.9.2", "TB of state", "3.78", Number(s.total().count()) * 1e-12},
      {"17.9.2", "GB a device of 64", "59", Number(models::ShareOf(s, 3, 64).total().count()) * 1e-9},
      {"17.9.2", "GB a device, expert 8 and ZeRO-1", "75", weights + gradients + optimizer, "162",
       "E11: weights and gradients are whole"},
      {"17.9.2", "GB a device, ZeRO-2", "50", weights + gradients / 8 + optimizer, "111", "E11: as above"},
      {"17.9.2", "GFLOP a token", "126", c / 8e12 * 1e-9},
      {"17.9.2", "days on 256", "132", Days(c, 256, 0.35)},
      {"17.9.2", "days on 1,024", "36", Days(c, 1024, 0.32)},
      {"17.9.2", "MB of a dispatch, one expert a token", "147",
       ExpertVolumeOfLayer(4 * 4096, 5120, 2, CopiesSent(1, 8)) / 4 * 1e-6},
      {"17.9.2", "GB a step of 24 layers", "6.7",
       24 * ExpertVolumeOfLayer(4 * 4096, 5120, 2, CopiesSent(6, 8)) * 1e-9, "84.6",
       "E9: six experts a token; the backward moves as much"},
      {"T17-127", "GFLOP a token of LLaMA-7B", "13.5", Number(models::SixPD(ModelOf("llama_7b"), 1)) * 1e-9,
       "40.4", "B16: 2P beside 6P"},
  };
}

std::vector<Figure> Large() {
  const double c = 6 * 2.2e11 * 1.5e13;
  const models::TrainingState of_rank = models::AdamWStateOf(3'500'000'000);
  const RailNetwork rails = SizeRails(2048, 8, 64, 50e9);
  const char* ports = "A19: 2,048 nodes are 2,048 ports on each rail";
  const char* doubled = "B16: two bytes a number";
  return {
      {"17.9.3", "TB of state", "28.8",
       Number(models::AdamWStateOf(1'800'000'000'000).total().count()) * 1e-12},
      {"T17-129", "GB a device", "56", Number(of_rank.total().count()) * 1e-9},
      {"T17-129", "GB of weights and master", "21",
       Number((of_rank.weights + of_rank.master).count()) * 1e-9},
      {"17.9.3", "MB of a layer's tensor group", "100", TensorVolumeOfLayer(4096, 16384, 2, 8) * 1e-6, "940",
       "B16: eight passes of 7/8"},
      {"17.9.3", "MB to the next stage", "67", PipelineVolumeOfBoundary(4096, 16384, 2) / 2 * 1e-6, "134",
       doubled},
      {"17.9.3", "MB of a dispatch, one expert a token", "117",
       ExpertVolumeOfLayer(4096, 16384, 2, CopiesSent(1, 8)) / 4 * 1e-6},
      {"17.9.3", "GB reduced over two", "3.5", DataVolumeOf({.ranks = 2, .parameters = 3.5e9}).total() * 1e-9,
       "7.0", doubled},
      {"17.9.3", "1e25 FLOPs", "1.98", c * 1e-25},
      {"17.9.3", "days on 1,024", "646", Days(c, 1024, 0.35)},
      {"T17-130", "days on 16,384", "43", Days(c, 16384, 0.32), "44.2", "B16"},
      {"T17-130", "1e6 USD", "34", Usd(16384, 43, 2) * 1e-6},
      {"F17-56", "TB/s of a rail", "12.8", rails.injected_bytes_per_s / 8 * 1e-12, "102.4", ports},
      {"T17-130", "TB/s between two halves", "102.4", rails.bisection_bytes_per_s * 1e-12, "410", ports},
      {"T17-130", "TB of a save, 10 bytes a parameter", "18",
       Number(SaveBytes(models::AdamWStateOf(1'800'000'000'000), {.master = false}).count()) * 1e-12},
      {"17.9.3", "1e6 USD of servers", "614", Usd(2048, 1.0 / 24, 300'000) * 1e-6},
      {"17.9.3", "1e6 USD of switches", "12.8", Number(rails.switches()) * 0.05, "38.4", "A19: 96 a rail"},
      {"17.9.3", "s to write it at 1 TB/s", "18", 18e12 / WriteRate(1e12, 1)},
  };
}

std::vector<Figure> FromNothing() {
  const double c = 6 * 70e9 * 3e12;
  const models::TrainingState s = models::AdamWStateOf(70'000'000'000);
  const double reduced = VolumeOf(CollectiveKind::kAllReduce, 2 * 70e9 / 16, 40).sent;
  return {
      {"17.9.4 Ex", "devices that hold the state, 75 GB each", "15",
       Number(DevicesFor(Number(s.total().count()), 75e9, 1, 1))},
      {"17.9.4 Ex", "devices for 60 days", "615", Number(DevicesFor(c, kH800, 0.4, 60 * kSecondsOfDay))},
      {"17.9.4 Ex", "GB a device, tensor 8, pipeline 2", "70",
       Number(models::AdamWStateOf(70'000'000'000 / 16).total().count()) * 1e-9},
      {"17.9.4 Ex", "GB reduced over 40", "6.8", reduced * 1e-9, "17.06", "E23: a rank holds 1/16"},
      {"17.9.4 Ex", "ms over NDR", "136", reduced / 50e9 * 1e3, "341", "E23: as above"},
      {"17.9.4 Ex", "GB of a save, 10 bytes a parameter", "700",
       Number(SaveBytes(s, {.master = false}).count()) * 1e-9},
      {"T17-132", "USD", "1,843,200", Usd(640, 60, 2)},
      {"T17-133", "days", "59.7", Days(c, 640, 0.4), "57.6", "6PD over its own denominator"},
      {"T17-133", "1e9 of LLaMA-7B by 12 L d^2 (1 + d_ff / 3 d)", "12.2",
       Number(models::ParametersOf(ModelOf("llama_7b")).total()) * 1e-9, "6.7",
       "A3: 4 L d^2 (1 + 3 d_ff / 4 d) with a gate"},
      {"rule 5", "bytes a parameter of Adam", "8", Number(models::AdamWStateOf(1).optimizer.count())},
      {"rule 7", "bytes a parameter of training", "16", Number(models::AdamWStateOf(1).total().count())},
      {"rule 8", "bytes a parameter of a save", "10", Number(SaveBytes(models::AdamWStateOf(1)).count()),
       "14", "E19: the master copy belongs to it"},
      {"T17-134", "GB/s of NVLink, one way", "400",
       DeviceOf("h800_sxm").nvlink.wire.bytes_per_second() * 1e-9, "200", "E8: both ways"},
      {"T17-134", "W of an H20", "500", DeviceOf("h20").tdp_watts, "400", "B19"},
  };
}

}  // namespace

std::vector<Figure> CaseFigures() {
  std::vector<Figure> all;
  for (const auto& part : {Small(), Experts(), Large(), FromNothing()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace textbook
