#include "scenarios/expert_exchange.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/expert_visits.h"

namespace scenarios {
namespace {

using hardware::CollectiveTiming;
using Kernels = hardware::Exchange::Kernels;

double Number(std::int64_t n) { return static_cast<double>(n); }
double Number(sim::Bytes bytes) { return static_cast<double>(bytes.count()); }
sim::Bytes Whole(double bytes) { return sim::Bytes(std::llround(bytes)); }

// Bytes over NVLink as DeepEP counts them, those to a rank itself among them, and those that leave the node.
struct Counted {
  double inside = 0, between = 0;
};

Counted CountedOf(const sim::CollectiveRequest& request, ExchangeGroup group) {
  const double ranks = Number(group.ranks), nodes = Number(group.nodes), size = Number(request.size);
  if (request.kind == sim::CollectiveKind::kAllToAll) return {size / nodes, size * (1 - 1 / nodes)};
  const double inside = Number(request.inside), between = size - inside;
  // Without another rank in the node, what comes to it stays where it is.
  if (group.ranks == group.nodes) return {between * nodes / std::max(nodes - 1, 1.0), between};
  return {inside * ranks / (ranks - nodes), between};
}

// The rate at which `bytes` take so long; zero = no limit.
sim::ByteRate RateFor(double bytes, double seconds) {
  if (bytes <= 0 || seconds <= 0) return {};
  return sim::ByteRate::MilliBytesPerSecond(
      static_cast<std::int64_t>(std::clamp(bytes / seconds * 1e3, 1.0, 9e18)));
}

}  // namespace

double RowBytes(const ExpertExchange& exchange) {
  constexpr std::int64_t kScaledChannels = 128, kScaleBytes = 4, kHeader = 16;
  if (exchange.combine) return 2 * Number(exchange.hidden);
  const std::int64_t scales = (exchange.hidden + kScaledChannels - 1) / kScaledChannels * kScaleBytes;
  const std::int64_t header = exchange.kernels == Kernels::kLowLatency ? kHeader : 0;
  return Number((exchange.fp8 ? exchange.hidden + scales : 2 * exchange.hidden) + header);
}

ExchangeVolume VolumeOf(const ExpertExchange& exchange, ExchangeGroup group) {
  const double ranks = Number(group.ranks), nodes = Number(group.nodes);
  const double tokens = Number(exchange.tokens);
  ExchangeVolume volume{.row = RowBytes(exchange)};
  const std::int64_t limit =
      exchange.node_limit > 0 ? std::min(exchange.node_limit, group.nodes) : group.nodes;
  volume.nodes = models::VisitedByBest(exchange.experts, exchange.per_token, group.nodes, group.nodes, limit);
  if (exchange.kernels == Kernels::kLowLatency) {
    volume.ranks = Number(exchange.per_token);
    volume.to_nodes = volume.to_ranks = tokens * volume.ranks * volume.row;
    volume.out_of_node = volume.to_ranks * (1 - 1 / nodes);
    volume.request = {.kind = sim::CollectiveKind::kAllToAll, .size = Whole(volume.to_ranks)};
    return volume;
  }
  volume.ranks = models::VisitedByBest(exchange.experts, exchange.per_token, group.ranks, group.nodes, limit);
  volume.to_nodes = tokens * volume.nodes * volume.row;
  volume.to_ranks = tokens * volume.ranks * volume.row;
  volume.out_of_node = volume.to_nodes * (1 - 1 / nodes);
  // One of a node's ranks has the token already: the sender's own, or that of its rail.
  const sim::Bytes inside = Whole(volume.to_ranks * (1 - nodes / ranks));
  volume.request = {.kind = sim::CollectiveKind::kAllToAllByNode,
                    .size = Whole(volume.out_of_node) + inside,
                    .inside = inside};
  return volume;
}

CollectiveTiming ExchangeTiming(const hardware::Exchange& figures, const sim::NodeShape& node,
                                std::int64_t sms, const sim::CollectiveRequest& request,
                                ExchangeGroup group) {
  const Counted counted = CountedOf(request, group);
  CollectiveTiming timing;
  timing.algorithm = sim::Algorithm::kPointToPoint;
  const sim::Duration way = 4 * node.pcie_latency + 2 * node.nic_latency;  // routes add it again
  timing.base = group.nodes == 1 ? figures.base : std::max(figures.base_multi_node - way, sim::Duration());
  const double started = std::min(1.0, counted.inside / Number(figures.ramp_bytes));
  timing.base += sim::Duration::Picoseconds(std::llround(Number(figures.ramp.ps()) * started));
  double rate = figures.inside.bytes_per_second();
  if (figures.of_sm > sim::ByteRate()) rate = std::min(rate, Number(sms) * figures.of_sm.bytes_per_second());
  const double inside = counted.inside / rate;
  if (request.kind == sim::CollectiveKind::kAllToAllByNode) {
    timing.limit_by_node_inside = RateFor(Number(request.inside), inside);
    timing.limit_by_node_between = figures.between;
    return timing;
  }
  const double slower = std::max(inside, counted.between / figures.between.bytes_per_second());
  const double sent = Number(request.size) * (1 - 1 / Number(group.ranks));
  timing.limit_inside = timing.limit_two_nodes = timing.limit_more_nodes = RateFor(sent, slower);
  return timing;
}

std::optional<ExchangeGroup> ExchangeGroupOf(const topologies::Fabric& fabric,
                                             std::span<const std::uint32_t> devices) {
  std::map<std::uint32_t, std::int64_t> members;
  for (const std::uint32_t device : devices) ++members[fabric.domain[device]];
  for (const auto& [domain, count] : members) {
    if (count != members.begin()->second) return std::nullopt;
  }
  return ExchangeGroup{static_cast<std::int64_t>(devices.size()),
                       static_cast<std::int64_t>(std::max<std::size_t>(1, members.size()))};
}

namespace {

CollectiveTiming TimingOf(const topologies::Fabric& fabric, const hardware::Device& device,
                          const ExpertExchange& exchange, std::span<const std::uint32_t> devices,
                          sim::CollectiveRequest* request) {
  const hardware::Exchange* figures = hardware::FindExchange(device, exchange.kernels, exchange.combine);
  const auto group = ExchangeGroupOf(fabric, devices);
  CHECK(figures != nullptr && group.has_value());
  *request = VolumeOf(exchange, *group).request;
  return ExchangeTiming(*figures, device.node, exchange.sms, *request, *group);
}

}  // namespace

sim::TrafficDescription LowerExchange(const topologies::Fabric& fabric, const hardware::Device& device,
                                      const ExpertExchange& exchange,
                                      std::span<const std::uint32_t> devices) {
  sim::CollectiveRequest request;
  const CollectiveTiming timing = TimingOf(fabric, device, exchange, devices, &request);
  return LowerCollective(fabric, std::span(&timing, 1), request, devices);
}

const char* ToText(Kernels kernels) {
  switch (kernels) {
    case Kernels::kNormal:
      return "normal";
    case Kernels::kLowLatency:
      return "low_latency";
    case Kernels::kV2:
      return "v2";
  }
  return "?";
}

}  // namespace scenarios
