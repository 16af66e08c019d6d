// 17.6: what moves, how long it takes, and the network that it needs. What of it a step waits for, only a
// simulation says: docs/who_exposes_what.md.

#include "models/flops.h"
#include "scenarios/budget/network_sizing.h"
#include "scenarios/budget/volumes.h"
#include "sim/schedule/bubble.h"
#include "tests/textbook/figures.h"

namespace textbook {
namespace {

using namespace scenarios;
using sim::CollectiveKind;

using sim::Number;

constexpr double kNvlink = 150e9, kNic = 50e9;  // of an H800, one way, as the chapter has them

double AllReduceMs(double bytes, std::int64_t n, double rate) {
  return VolumeOf(CollectiveKind::kAllReduce, bytes, n).sent / rate * 1e3;
}
// Forward and backward of so many sequences of 4,096 tokens of LLaMA-7B at 70 per cent of the peak.
double ComputeSeconds(std::int64_t sequences) {
  return 3 * Number(models::TwoPD(ModelOf("llama_7b"), sequences * 4096)) / (0.7 * kH800);
}

// Four ranks, 12 bytes each.
std::vector<Figure> Primitives() {
  const auto sent = [](CollectiveKind p) { return VolumeByRank(p, 12, 4).sent; };
  const auto total = [](CollectiveKind p) { return VolumeByRank(p, 12, 4).total; };
  return {
      {"T17-71", "all-reduce of 12 B over 4, a rank", "18", sent(CollectiveKind::kAllReduce)},
      {"T17-71", "all-reduce, all", "72", total(CollectiveKind::kAllReduce)},
      {"T17-71", "all-gather, a rank", "36", sent(CollectiveKind::kAllGather)},
      {"T17-71", "all-gather, all", "144", total(CollectiveKind::kAllGather)},
      {"T17-71", "reduce-scatter, a rank", "9", sent(CollectiveKind::kReduceScatter)},
      {"T17-71", "reduce-scatter, all", "36", total(CollectiveKind::kReduceScatter)},
      {"T17-71", "broadcast, the root", "36", sent(CollectiveKind::kBroadcast), "12",
       "B6: a chain's root sends once"},
      {"T17-71", "broadcast, all", "36", total(CollectiveKind::kBroadcast)},
      {"T17-71", "send and receive, all", "24", total(CollectiveKind::kSendRecv), "12",
       "sent and received are the same bytes"},
      {"T17-71", "all-to-all, a rank", "9", sent(CollectiveKind::kAllToAll)},
      {"T17-71", "all-to-all, all", "144", total(CollectiveKind::kAllToAll), "36", "B6: (n - 1) G"},
  };
}

std::vector<Figure> DataParallel() {
  const double ms8 = AllReduceMs(14e9, 8, kNvlink), ms64 = AllReduceMs(14e9, 64, kNic);
  const char* tokens = "E1: the computation is 40 times as long";
  return {
      {"17.6.2", "ms over 8, H800", "163", ms8},
      {"17.6.2", "ms over 8, H20", "82", AllReduceMs(14e9, 8, 300e9)},
      {"17.6.2", "ms over 64, NDR", "551", ms64},
      {"17.6.2", "bus over algorithm bandwidth, 8 ranks", "0.57",
       VolumeOf(CollectiveKind::kAllReduce, 1, 8).sent, "1.75",
       "E6: busbw tends to the link's rate, not half of it"},
      {"17.6.2 Ex1", "ms over 4, ring", "140", AllReduceMs(14e9, 4, kNvlink)},
      {"17.6.3", "ms of 14 GB at 200 GB/s, 64 ranks", "280", AllReduceMs(14e9, 64, 200e9), "137.8",
       "E7: 14 GB are 2P already"},
      {"17.6.3 Ex1", "R over 8", "0.15", ComputeOverCommunication(ComputeSeconds(4), 1, ms8 * 1e-3), "5.86",
       tokens},
      {"17.6.3 Ex2", "R over 64", "0.044", ComputeOverCommunication(ComputeSeconds(4), 1, ms64 * 1e-3),
       "1.74", tokens},
      {"17.6.3 Ex3", "R of 16 in 24 ms each", "11.2", ComputeOverCommunication(0.024, 16, ms64 * 1e-3),
       "0.70", "A8: accumulation counted twice"},
  };
}

std::vector<Figure> InsideALayer() {
  const double layer = TensorVolumeOfLayer(4096, 4096, 2, 4);
  const char* doubled = "A9: two bytes counted twice";
  const sim::PipelineShape deep{.stages = 4, .microbatches = 16};
  const auto percent = [](sim::BubbleShare b) { return 100 * Number(b.idle) / Number(b.whole); };
  return {
      {"17.6.4", "MB of a layer", "201.3", layer * 1e-6},
      {"17.6.4 Ex1", "GB of 32 layers", "6.44", 32 * layer * 1e-9},
      {"17.6.4 Ex1", "ms, H800", "42.9", 32 * layer / kNvlink * 1e3},
      {"17.6.4 Ex2", "ms, NDR", "129", 32 * layer / kNic * 1e3},
      {"17.6.5", "MB of a boundary, 7B", "134", PipelineVolumeOfBoundary(4096, 4096, 2) * 1e-6, "67",
       doubled},
      {"17.6.5 Ex1", "MB of a boundary, 70B", "537", PipelineVolumeOfBoundary(8192, 8192, 2) * 1e-6, "268",
       doubled},
      {"17.6.5 Ex1", "bubble of the ideal, per cent", "18.75", percent(sim::BubbleOfIdeal(deep))},
      {"17.6.5 Ex1", "bubble of the step, per cent", "18.75", percent(sim::BubbleOfTotal(deep)), "15.79",
       "E22: 3 of 16 is of the ideal time"},
  };
}

std::vector<Figure> ExpertsAndContext() {
  const char* copies = "E9: a token goes to every expert that it visits";
  const double one = ExpertVolumeOfLayer(32 * 4096, 4096, 2, CopiesSent(1, 8));
  const double two = ExpertVolumeOfLayer(32 * 4096, 4096, 2, CopiesSent(2, 8));
  const double ring = RingAttentionVolume(131072, 1024, 2, 8);
  return {
      {"17.6.6", "GB of 59 layers of DeepSeek-V2, expert 64", "3.18",
       59 * ExpertVolumeOfLayer(4096, 5120, 2, CopiesSent(6, 64)) * 1e-9, "58.5",
       "E9, E10: six experts a token, 59 layers of 5,120 channels"},
      {"17.6.6 Ex1", "GB of a dispatch, one expert a token", "0.94", one / 4 * 1e-9},
      {"17.6.6 Ex1", "GB of 32 layers", "120.3", 32 * two * 1e-9, "240.5", copies},
      {"17.6.6 Ex1", "the same, a device at most once", "120.3",
       32 * ExpertVolumeOfLayer(32 * 4096, 4096, 2, CopiesSent(ExpectedPlaces(8, 2, 8), 8)) * 1e-9, "240.5",
       "E9: two experts of eight are two devices"},
      {"17.6.7", "GB of a layer", "0.47", ring * 1e-9},
      {"17.6.7 Ex1", "GB of a layer", "0.94", ring * 1e-9, "0.47", "E24: sent once, not received as well"},
      {"17.6.7 Ex1", "MB of a step of the ring", "67.1", ring / 7 * 1e-6},
  };
}

std::vector<Figure> Hybrids() {
  const double tensor4 = TensorVolumeOfLayer(4096, 8192, 2, 4);
  const char* held = "E23: a rank reduces 1/16 of the gradients";
  return {
      {"17.6.8", "GB of 80 layers, tensor 4", "128", 80 * tensor4 * 1e-9, "32",
       "A7: 4 BSd numbers a layer, 0.403 GB"},
      {"17.6.8 Ex1", "GB of a layer, tensor 4", "1.61", tensor4 * 1e-9, "0.403", "A7"},
      {"17.6.8 Ex1", "GB of three boundaries, 8 micro-batches", "6.45",
       3 * 8 * PipelineVolumeOfBoundary(4096, 8192, 2) * 1e-9, "3.22", "A9: two bytes counted twice"},
      {"17.6.8 Ex1", "s of the reduction over 4", "4.2", AllReduceMs(140e9 / 16, 4, kNic) * 1e-3, "0.26",
       held},
      {"17.6.8 Ex2", "R of one micro-batch in 120 ms", "0.029",
       ComputeOverCommunication(0.12, 1, AllReduceMs(140e9 / 16, 4, kNic) * 1e-3), "0.457", held},
  };
}

std::vector<Figure> Scaling() {
  const double in_node = 14e9 * 2 / kNvlink;  // of very many ranks
  const auto fixed = [](double compute_ms, std::int64_t n) {
    const double ms = AllReduceMs(14e9, n, kNvlink);
    return 100 * CommunicationShare(compute_ms, ms);
  };
  return {
      {"17.6.9", "devices where communication takes half", "13", CriticalDevices(0.05, in_node), "0.268",
       "E7: 50 ms of one device are shorter than the reduction"},
      {"17.6.9 Ex1", "ms of a reduction, many ranks", "373", in_node * 1e3, "187",
       "E7: 14 GB are 2P already"},
      {"17.6.9 Ex2", "per cent of a step, 8", "87.2", fixed(24, 8)},
      {"17.6.9 Ex2", "per cent of a step, 64", "98.4", fixed(3, 64)},
      {"17.6.9 Ex2", "speed-up from 8 to 64", "0.125",
       (24 + AllReduceMs(14e9, 8, kNvlink)) / (3 + AllReduceMs(14e9, 64, kNvlink)), "1.00",
       "B8: that is the efficiency"},
  };
}

std::vector<Figure> Fabrics() {
  const auto rate = [](double bytes, std::int64_t n, double step) {
    return RateNeeded(VolumeOf(CollectiveKind::kAllReduce, bytes, n).sent, step);
  };
  return {
      {"17.6.10", "GB/s a device, 70B, 64 ranks", "276", rate(140e9, 64, 1) * 1e-9},
      {"17.6.10 Ex1", "GB/s a device, 7B", "27.8", rate(14e9, 128, 1) * 1e-9},
      {"17.6.10 Ex1", "GB/s a device, 70B", "278", rate(140e9, 128, 1) * 1e-9},
      {"17.6.10 Ex1", "rails", "6", Number(RailsNeeded(rate(140e9, 128, 1), 50e9))},
      {"17.6.10 Ex1", "rails at two steps a second", "12", Number(RailsNeeded(rate(140e9, 128, 0.5), 50e9))},
      {"17.6.10 Ex1", "GB/s with four micro-batches", "139", rate(140e9, 128, 2) * 1e-9},
      {"T17-73", "levels of switches, one node", "1", Number(SizeRails(1, 8, 64, 50e9).levels)},
      {"T17-73", "levels of switches, 8 nodes", "1", Number(SizeRails(8, 8, 64, 50e9).levels)},
      {"T17-73", "levels of switches, 4,096 nodes", "3", Number(SizeRails(4096, 8, 64, 50e9).levels)},
  };
}

}  // namespace

std::vector<Figure> CommunicationFigures() {
  std::vector<Figure> all;
  for (const auto& part :
       {Primitives(), DataParallel(), InsideALayer(), ExpertsAndContext(), Hybrids(), Scaling(), Fabrics()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace textbook
