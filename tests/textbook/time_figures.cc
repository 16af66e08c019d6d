// 17.5, 27.6 and 27.7: utilisation, time, devices, cost, limits.

#include "hardware/roofline.h"
#include "models/flops.h"
#include "models/parameters.h"
#include "models/training_state.h"
#include "scenarios/budget/cost.h"
#include "scenarios/budget/limits.h"
#include "scenarios/budget/network_sizing.h"
#include "scenarios/budget/save_storage.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/budget/volumes.h"
#include "scenarios/checkpoint_forms.h"
#include "scenarios/scaling.h"
#include "sim/schedule/bubble.h"
#include "tests/textbook/figures.h"

namespace textbook {
namespace {

using namespace scenarios;
using sim::CollectiveKind;

using sim::Number;
double Days(double flops, double devices, double peak, double u) {
  return TrainingSeconds(flops, devices, peak, u) / kSecondsOfDay;
}
double Devices(double flops, double peak, double u, double days) {
  return Number(DevicesFor(flops, peak, u, days * kSecondsOfDay));
}
double Parameters(const char* name) { return Number(models::ParametersOf(ModelOf(name)).total()); }

constexpr double k7b2t = 6 * 6.74e9 * 2e12, k70b2t = 6 * 70e9 * 2e12;

std::vector<Figure> Utilisation() {
  const hardware::Roof h800{kH800, kH800Memory};
  const double six = 6 * 6.74e9;
  return {
      {"17.5.1 Ex1", "per cent of the peak", "70", 100 * UtilisationOf(692e12, 1, 1, kH800)},
      {"17.5.1 Ex2", "TFLOP/s of an H20 at 70 per cent", "103.6", 0.7 * kH20 * 1e-12},
      {"17.5.1 Ex3", "TFLOP/s at one FLOP a byte", "3.35e-3", h800.rate(1) * 1e-12, "3.35",
       "B1: a thousand times more"},
      {"17.5.1 Ex3", "per cent of the peak", "0.00034", 100 * h800.rate(1) / kH800, "0.339", "B1: as above"},
      {"17.5.2 Ex", "per cent", "20.4", 100 * UtilisationOfRate(40000, six, 8, kH800)},
      {"17.5.2 Ex1", "TFLOP/s a device", "202.2", 5000 * six * 1e-12},
      {"17.5.2 Ex3", "1e5 tokens/s", "2.71", TokensPerSecond(0.45, 6 * 70e9, 256, kH800) * 1e-5},
  };
}

std::vector<Figure> Times() {
  const double days21 = 21 * kSecondsOfDay;
  const char* less = "A5: the table has nearly twice as many";
  return {
      {"17.5.3 Ex1", "1e5 s", "8.40", TrainingSeconds(k7b2t, 256, kH800, 0.38) * 1e-5},
      {"17.5.3 Ex1", "days", "9.7", Days(k7b2t, 256, kH800, 0.38)},
      {"17.5.3 Ex1", "days at 45 per cent", "8.2", Days(k7b2t, 256, kH800, 0.45)},
      {"17.5.3 Ex2", "days", "37.9", Days(6 * 70e9 * 3e12, 1024, kH800, 0.38)},
      {"17.5.3 Ex3", "days", "62", Days(6 * 405e9 * 15e12, 16384, kH800, 0.42)},
      {"17.5.3", "days of LLaMA-65B at 55 per cent", "18", Days(6 * 65e9 * 1.4e12, 2048, 312e12, 0.55)},
      {"17.5.3", "utilisation that 21 days are, per cent", "55",
       100 * UtilisationOf(6 * 65e9 * 1.4e12, days21, 2048, 312e12), "47.1",
       "B2: assumed, where the days give it"},
      {"17.5.4 Ex", "devices", "863", Devices(k70b2t, kH800, 0.38, 30), "862", "A6: 861.9"},
      {"17.5.4 Ex", "devices at 45 per cent", "728", Devices(k70b2t, kH800, 0.45, 30)},
      {"17.5.4 Ex", "devices, H20 at 40 per cent", "5,490", Devices(k70b2t, kH20, 0.40, 30), "5,475",
       "rounded before multiplied; 5,474.1 up"},
      {"17.5.4 Ex1", "devices in groups of 32", "864",
       Number(WholeGroups(DevicesFor(k70b2t, kH800, 0.38, 30 * kSecondsOfDay), 32))},
      {"17.5.4 Ex2", "devices for 7 days", "3,560", Devices(k7b2t, kH800, 0.38, 7), "356", "A6: tenfold"},
      {"17.5.4 Ex2", "devices for 14 days", "1,780", Devices(k7b2t, kH800, 0.38, 14), "178", "A6: tenfold"},
      {"T17-58", "H800, 7B", "147", Devices(k7b2t, kH800, 0.38, 30), "83", less},
      {"T17-58", "H800, 13B", "274", Devices(6 * 13e9 * 2e12, kH800, 0.38, 30), "161", less},
      {"T17-58", "H20, 70B", "5,218", Devices(k70b2t, kH20, 0.40, 30), "5,475", "A5; 5,474.1 up"},
      {"T17-58", "H800, 405B", "23,480", Devices(6 * 405e9 * 15e12, kH800, 0.38, 30), "37,400",
       "A5: the table has too few; 37,399.3 up"},
      {"27 Eq21", "devices", "61", Number(DevicesFor(4.2e21, 2e14, 0.4, 864000))},
      {"27 exercise 7", "devices at 0.3", "82", Number(DevicesFor(4.2e21, 2e14, 0.3, 864000))},
      {"27 exercise 7", "devices in nodes of 8", "88",
       Number(WholeGroups(DevicesFor(4.2e21, 2e14, 0.3, 864000), 8))},
      {"27.8", "times as long at .3 as at .4", "1.33",
       TrainingSeconds(1, 1, 1, 0.3) / TrainingSeconds(1, 1, 1, 0.4)},
  };
}

std::vector<Figure> Steps() {
  const double forward = Number(models::TwoPD(ModelOf("llama_7b"), 4 * 4096));
  const char* tokens = "E1: 4 sequences are 16,384 tokens";
  const double in_node = VolumeOf(CollectiveKind::kAllReduce, 14e9, 8).sent / 150e9;
  const double compute = 3 * forward / (0.7 * kH800);
  const double across = VolumeOf(CollectiveKind::kAllReduce, 2 * 6.74e9, 32).sent;
  return {
      {"17.5.5", "TFLOP of a forward", "53.9e-3", forward * 1e-12, "220.8", tokens},
      {"17.5.5 Ex1", "ms of a forward at 70 per cent", "8", forward / (0.7 * kH800) * 1e3, "319", tokens},
      {"17.5.5 Ex1", "ms of an all-reduce", "163", in_node * 1e3},
      {"17.5.5 Ex1", "of a step communication, if nothing hides it", ".87",
       CommunicationShare(compute, in_node), ".146", tokens},
      {"17.5.5 Ex2", "GB sent over 32", "26.1", across * 1e-9},
      {"17.5.5 Ex2", "ms over NDR", "522", across / 50e9 * 1e3},
      {"17.5.6 Ex1", "communication of 16 micro-batches, per cent", "30",
       100 * CommunicationShare(16 * compute, in_node), "1.1", tokens},
      {"17.5.6 Ex2", "GB/s without accumulation", "2756",
       RateNeeded(VolumeOf(CollectiveKind::kAllReduce, 140e9, 64).sent, 0.1) * 1e-9},
      {"17.5.6 Ex2", "GB/s with 16", "172",
       RateNeeded(VolumeOf(CollectiveKind::kAllReduce, 140e9, 64).sent, 1.6) * 1e-9},
  };
}

std::vector<Figure> Limits() {
  const auto gb = [](const models::TrainingState& s) { return Number(s.total().count()) * 1e-9; };
  const models::TrainingState of8 = models::AdamWStateOf(70'000'000'000 / 8),
                              of32 = models::AdamWStateOf(70'000'000'000 / 32);
  const auto bubble = [](std::uint32_t stages, std::uint32_t micro_batches, bool of_total) {
    const sim::PipelineShape shape{.stages = stages, .microbatches = micro_batches};
    const sim::BubbleShare b = of_total ? sim::BubbleOfTotal(shape) : sim::BubbleOfIdeal(shape);
    return 100 * Number(b.idle) / Number(b.whole);
  };
  const double reduced = VolumeOf(CollectiveKind::kAllReduce, 140e9 / 16, 4).sent;
  const double reduced64 = VolumeOf(CollectiveKind::kAllReduce, 140e9 / 64, 8).sent;
  const char* part = "E23: a rank reduces what it holds";
  return {
      {"17.5.7", "sequences that fit", "32",
       Number(MostMicroBatch(sim::Bytes(80'000'000'000), sim::Bytes(13'500'000'000),
                             sim::Bytes(500'000LL * 4096), 1))},
      {"17.5.7", "least sequences of 4,096", "64", Number(LeastGlobalBatch(4096))},
      {"17.5.7 Ex1", "GB a device, tensor 8", "122.5",
       Number((of8.weights + of8.master + of8.optimizer).count()) * 1e-9},
      {"17.5.7 Ex1", "GB a device, ZeRO-1 of 4", "43.75", gb(models::ShareOf(of8, 1, 4)), "61.25",
       "A21: gradients"},
      {"17.5.7 Ex2", "GB a device, ZeRO-1 of 2", "21.875", gb(models::ShareOf(of32, 1, 2))},
      {"T17-64", "bubble of the ideal, 4 stages of 128, per cent", "2.3", bubble(4, 128, false)},
      {"17.5.8 Ex1", "bubble of the ideal, 8 stages of 128, per cent", "5.5", bubble(8, 128, false)},
      {"17.5.8 Ex1", "GB reduced, tensor 8, pipeline 2, data 4", "210", reduced * 1e-9, "13.1", part},
      {"17.5.8 Ex2", "GB reduced, tensor 8, pipeline 8, data 8", "245", reduced64 * 1e-9, "3.8", part},
  };
}

std::vector<Figure> Costs() {
  const Ownership h800{.price = 25000, .years = 3, .watts = 700, .usd_per_kwh = 0.1};
  const double owned = 256 * 10 * OwnedUsdPerDay(h800);
  return {
      {"17.5.9 Ex", "USD at 3 an hour", "184,320", CostUsd(DeviceHours(256, 240), 3)},
      {"17.5.9", "USD a day for power", "1.7", PowerUsdPerDay(h800)},
      {"17.5.9 Ex1", "USD rented", "122,880", CostUsd(DeviceHours(256, 240), 2)},
      {"17.5.9 Ex1", "USD for power", "4,301", 256 * 10 * PowerUsdPerDay(h800)},
      {"17.5.9 Ex1", "USD of depreciation", "58,447", 256 * 10 * DepreciationUsdPerDay(h800)},
      {"17.5.9 Ex1", "USD owned", "62,748", owned},
      {"17.5.9 Ex1", "per cent spared", "49", 100 * (1 - owned / 122880)},
      {"17.5.9 Ex2", "1e6 device-hours", "24.4", DeviceHours(16384, 62 * 24) * 1e-6},
      {"17.5.9 Ex2", "1e6 USD", "48.8", CostUsd(DeviceHours(16384, 62 * 24), 2) * 1e-6},
      {"17.5.9 Ex3", "fine-tunes for a training run", "213",
       TimesAffordable(122880, CostUsd(DeviceHours(4, 48), 2.5)), "256", "E20: one costs 480"},
      {"T17-66", "1e6 USD of 405B", "50.6", CostUsd(DeviceHours(16000, 66 * 24), 2) * 1e-6},
      {"17.5.10 Ex", "devices", "864",
       Number(WholeGroups(DevicesFor(k70b2t, kH800, 0.38, 30 * kSecondsOfDay), 32))},
      {"T17-68", "nodes", "27", Number(WholeGroups(864, 8) / 8), "108", "B4: of 8 devices"},
      {"17.5.10 Ex1", "devices", "647", Devices(6 * 70e9 * 3e12, kH800, 0.38, 60)},
      {"17.5.10 Ex1", "USD", "1,935,360", CostUsd(DeviceHours(672, 60 * 24), 2)},
      {"T17-70", "nodes", "21",
       Number(WholeGroups(DevicesFor(6 * 70e9 * 3e12, kH800, 0.38, 60 * kSecondsOfDay), 32) / 8), "84",
       "B4: of 8 devices"},
      {"17.5.10 Ex1", "GB of a layer's tensor group, tensor 8", "1.61",
       TensorVolumeOfLayer(4096, 8192, 2, 8) * 1e-9, "0.470", "A7"},
      {"27 exercise 8", "GB more behind every 20 minutes", "160",
       Number(BacklogPerInterval(sim::Bytes(400'000'000'000),
                                 {.interval = sim::Duration::Milliseconds(1'200'000),
                                  .copy = {},
                                  .write = sim::Duration::Milliseconds(2'000'000)})
                  .count()) *
           1e-9},
      {"27.7", "MB/s to write 400 GB in 20 minutes", "333.33", WriteRate(400e9, 1200) * 1e-6},
      {"17.5.9", "tokens of a 7B model, compute-optimal, 1e11", "1.4",
       kTokensPerParameter * Parameters("llama_7b") * 1e-11},
  };
}

}  // namespace

std::vector<Figure> TimeFigures() {
  std::vector<Figure> all;
  for (const auto& part : {Utilisation(), Times(), Steps(), Limits(), Costs()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace textbook
