// What communication moves, by hand: bytes that one rank sends, and what all send together.
//
// Two conventions are in use for the size of a collective, and they differ by a factor n:
//
//   of a rank   G is what each rank brings in (textbook, table 17-71)
//   whole       G is the whole tensor: what an all-gather ends with, what a reduce-scatter
//               starts from (nccl-tests, and everywhere else in this program)
//
// For all-reduce, broadcast and point to point they are the same. Functions below take whole
// tensors in bytes; VolumeByRank() takes the other convention. busbw over algbw is
// sim::BusBandwidthFactor.
//
// Sources: NVIDIA nccl-tests, doc/PERFORMANCE.md; Patarasuk and Yuan, JPDC 69(2), 2009;
// Rajbhandari et al., SC 2020, section 7; Korthikanti et al. 2022, section 4.2.2.

#ifndef SCENARIOS_BUDGET_VOLUMES_H_
#define SCENARIOS_BUDGET_VOLUMES_H_

#include <cstdint>

#include "sim/collective/collective.h"

namespace scenarios {

struct Volume {
  double sent = 0;   // by the rank that sends most, bytes
  double total = 0;  // by all ranks together
};

// Of a tensor of `bytes` over n ranks by the algorithm that sends least: rings, a chain for the
// broadcast. Of an all-to-all `bytes` is what one rank has for all of them, itself included.
Volume VolumeOf(sim::CollectiveKind kind, double bytes, std::int64_t n);

// The same where `bytes` is what each rank brings in.
Volume VolumeByRank(sim::CollectiveKind kind, double bytes, std::int64_t n);

// Data parallelism of one step: what a rank sends. `parameters` are those that it holds before
// ZeRO cuts them, so 1/(tensor x pipeline) of the model (erratum E23).
struct DataParallelism {
  int zero_stage = 0;
  std::int64_t ranks = 1;
  double parameters = 0;
  double weight_width = 2, gradient_width = 2;  // bytes
  std::int64_t micro_batches = 1;
  // Whether gradients are scattered in every micro-batch, as ZeRO-2 and 3 do; else they wait
  // unreduced for the last one (no_sync).
  bool scatters_each = true;
  bool gathers_again = true;  // ZeRO-3: weights are dropped after the forward
  // Of 1F1B: gradients wait for the last micro-batch, and weights stay whole from a backward to the next
  // forward, so that of m micro-batches m + 1 passes gather.
  // Source: PyTorch 2.6, distributed/pipelining/stage.py, backward_maybe_with_nosync.
  bool pipeline = false;
};
struct DataVolume {
  double gathers = 0;     // of weights
  double reductions = 0;  // of gradients
  double total() const { return gathers + reductions; }
};
DataVolume DataVolumeOf(const DataParallelism& data);

// Tensor parallelism: two reductions of a layer's B S d numbers forward and two backward, as
// all-reduces, or with sequence parallelism as a gather and a scatter of half the volume each.
// Bytes that one rank sends for one layer and micro-batch. `width` bytes a number.
double TensorVolumeOfLayer(double tokens, double hidden, double width, std::int64_t ranks);

// Pipeline: one boundary, forward and backward, one micro-batch; both directions together.
double PipelineVolumeOfBoundary(double tokens, double hidden, double width);

// Expert parallelism: a dispatch and a combine of one layer each way, one micro-batch.
// A token goes to `copies` other places: per_token with none shared, or the expected number
// of distinct devices or nodes (ExpectedPlaces) when duplicates travel once.
double ExpertVolumeOfLayer(double tokens, double hidden, double width, double copies_sent);

// Distinct groups of `groups` that the choice of per_token among `experts` visits, when each
// group has as many experts and every choice is as likely: groups (1 - C(E - E/g, k) / C(E, k)).
double ExpectedPlaces(std::int64_t experts, std::int64_t per_token, std::int64_t groups);

// Copies of a token that leave its own place: all choices fall elsewhere with (n-1)/n, and of
// ExpectedPlaces one in n is here.
constexpr double CopiesSent(double places, std::int64_t n) {
  return places * static_cast<double>(n - 1) / static_cast<double>(n);
}

// Context parallelism of one layer's forward, one sequence: what one rank sends. The ring passes
// keys and values n-1 times; the exchange of heads (Ulysses) moves queries, keys, values and output.
double RingAttentionVolume(double tokens, double kv_channels, double width, std::int64_t ranks);
double UlyssesVolume(double tokens, double query_channels, double kv_channels, double width,
                     std::int64_t ranks);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_VOLUMES_H_
