#include "scenarios/budget/volumes.h"

#include "sim/base/check.h"

namespace scenarios {
namespace {

// (n-1)/n: what a ring sends of a tensor of which each rank keeps, or brings, one part.
double Others(std::int64_t n) { return static_cast<double>(n - 1) / static_cast<double>(n); }

}  // namespace

Volume VolumeOf(sim::CollectiveKind kind, double bytes, std::int64_t n) {
  CHECK(n > 0);
  if (n == 1) return {};
  const sim::Fraction factor = sim::BusBandwidthFactor(kind, static_cast<std::uint32_t>(n));
  const double sent = bytes * static_cast<double>(factor.numerator) / static_cast<double>(factor.denominator);
  // A chain passes a broadcast on n-1 times; of a pair one sends.
  if (kind == sim::CollectiveKind::kBroadcast) return {sent, static_cast<double>(n - 1) * bytes};
  if (kind == sim::CollectiveKind::kSendRecv) return {sent, sent};
  return {sent, static_cast<double>(n) * sent};
}

Volume VolumeByRank(sim::CollectiveKind kind, double bytes, std::int64_t n) {
  // What a rank brings to an all-gather is one part of n; to all others a whole.
  const bool part = kind == sim::CollectiveKind::kAllGather;
  return VolumeOf(kind, part ? bytes * static_cast<double>(n) : bytes, n);
}

DataVolume DataVolumeOf(const DataParallelism& d) {
  CHECK(d.zero_stage >= 0 && d.zero_stage <= 3 && d.ranks > 0 && d.micro_batches > 0);
  const double weights = Others(d.ranks) * d.parameters * d.weight_width;
  const double gradients = Others(d.ranks) * d.parameters * d.gradient_width;
  const auto each = static_cast<double>(d.micro_batches);
  if (d.zero_stage == 0) return {0, 2 * gradients};
  if (d.zero_stage == 1) return {weights, gradients};
  const double reductions = d.scatters_each && !d.pipeline ? each * gradients : gradients;
  if (d.zero_stage == 2) return {weights, reductions};
  const double pipelined = d.gathers_again ? each + 1 : 1;
  return {(d.pipeline ? pipelined : (d.gathers_again ? 2 : 1) * each) * weights, reductions};
}

double TensorVolumeOfLayer(double tokens, double hidden, double width, std::int64_t ranks) {
  constexpr double kReductions = 4;
  return kReductions * 2 * Others(ranks) * tokens * hidden * width;
}

double PipelineVolumeOfBoundary(double tokens, double hidden, double width) {
  return 2 * tokens * hidden * width;
}

double ExpertVolumeOfLayer(double tokens, double hidden, double width, double copies_sent) {
  constexpr double kMoves = 4;  // dispatch and combine, forward and backward
  return kMoves * tokens * hidden * width * copies_sent;
}

double ExpectedPlaces(std::int64_t experts, std::int64_t per_token, std::int64_t groups) {
  CHECK(groups > 0 && experts % groups == 0 && per_token > 0 && per_token <= experts);
  const std::int64_t elsewhere = experts - experts / groups;
  double none = 1;  // of the choices falls into one group
  for (std::int64_t i = 0; i < per_token; ++i) {
    none *= static_cast<double>(elsewhere > i ? elsewhere - i : 0) / static_cast<double>(experts - i);
  }
  return static_cast<double>(groups) * (1 - none);
}

double RingAttentionVolume(double tokens, double kv_channels, double width, std::int64_t ranks) {
  return 2 * Others(ranks) * tokens * kv_channels * width;
}

double UlyssesVolume(double tokens, double query_channels, double kv_channels, double width,
                     std::int64_t ranks) {
  const double of_rank = tokens / static_cast<double>(ranks);
  return Others(ranks) * of_rank * (2 * query_channels + 2 * kv_channels) * width;
}

}  // namespace scenarios
