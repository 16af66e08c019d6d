#include "scenarios/lowering.h"

#include <algorithm>
#include <numeric>

namespace scenarios {
namespace {

// What one step of NCCL's Simple protocol moves on one edge at a time.
// Source: NCCL 2.30, src/include/device.h: 4 MiB buffer in 8 steps, 4 steps a chunk.
constexpr sim::Bytes kChunk{std::int64_t{2} << 20};

// Weights of one flow while they are summed: 64 bits, in units of 1 / denominator.
struct WeightedLink {
  sim::LinkId link;
  std::uint64_t weight = 0;
};

// Sums the weights of each link; the result is in order of links.
std::vector<WeightedLink> SumByLink(std::vector<WeightedLink> uses) {
  std::sort(uses.begin(), uses.end(),
            [](const WeightedLink& a, const WeightedLink& b) { return a.link < b.link; });
  std::vector<WeightedLink> sums;
  for (const WeightedLink& use : uses) {
    if (sums.empty() || sums.back().link != use.link) sums.push_back({use.link, 0});
    sums.back().weight += use.weight;
  }
  return sums;
}

struct LinkLoads {
  std::vector<WeightedLink> uses;
  std::uint64_t denominator = 1;
  sim::Duration latency_between;  // longest route between domains
};

LinkLoads LoadsOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices,
                  std::span<const sim::EdgeLoad> edges) {
  std::vector<topologies::Route> routes;
  routes.reserve(edges.size());
  LinkLoads loads;
  for (const sim::EdgeLoad& edge : edges) {
    const std::uint32_t from = devices[edge.from], to = devices[edge.to];
    routes.push_back(fabric.router->Between(from, to));
    loads.denominator = std::lcm(loads.denominator, std::uint64_t{routes.back().denominator});
    if (fabric.domain[from] != fabric.domain[to]) {
      loads.latency_between = std::max(loads.latency_between, routes.back().latency);
    }
  }
  std::vector<WeightedLink> uses;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const std::uint64_t scale = loads.denominator / routes[i].denominator * edges[i].weight;
    for (const topologies::RouteUse& use : routes[i].uses) uses.push_back({use.link, use.parts * scale});
  }
  loads.uses = SumByLink(std::move(uses));
  return loads;
}

// Applies a protocol's wire overhead and brings the weights to lowest terms.
sim::FlowDescription FlowOf(const sim::CoupledFlow& flow, const LinkLoads& loads,
                            const hardware::CollectiveTiming& protocol) {
  const auto up = static_cast<std::uint64_t>(protocol.wire_numerator);
  std::uint64_t denominator = loads.denominator * static_cast<std::uint64_t>(protocol.wire_denominator);
  std::uint64_t common = denominator;
  for (const WeightedLink& use : loads.uses) common = std::gcd(common, use.weight * up);
  const sim::Volume volume = sim::Volume::OfFraction(flow.size, flow.numerator, flow.denominator);
  sim::FlowDescription description{.volume = volume + sim::Volume::Of(sim::FillBytes(flow, kChunk)),
                                   .share = flow.share};
  denominator /= common;
  CHECK(denominator <= UINT32_MAX);
  description.weight_denominator = static_cast<std::uint32_t>(denominator);
  for (const WeightedLink& use : loads.uses) {
    const std::uint64_t weight = use.weight * up / common;
    CHECK(weight <= UINT32_MAX);
    description.uses.push_back({use.link, static_cast<std::uint32_t>(weight)});
  }
  return description;
}

// How long a flow needs when it has its links for itself.
sim::Duration IdleTimeOfFlow(const topologies::Fabric& fabric, const sim::FlowDescription& flow) {
  sim::Wide slowest = flow.limit.milli() > 0 ? flow.limit.milli() : INT64_MAX;
  for (const sim::Use& use : flow.uses) {
    slowest = std::min(slowest, sim::Wide{fabric.links[use.link.pos()].capacity.milli()} *
                                    flow.weight_denominator / use.weight);
  }
  const sim::Wide ps = (flow.volume.femto_bytes() + slowest - 1) / slowest;
  CHECK(ps <= INT64_MAX);
  return sim::Duration::Picoseconds(static_cast<std::int64_t>(ps));
}

sim::TrafficDescription WithProtocol(const sim::CollectivePlan& plan, std::span<const LinkLoads> loads,
                                     const hardware::CollectiveTiming& protocol) {
  sim::Duration between;
  for (const LinkLoads& load : loads) between = std::max(between, load.latency_between);
  sim::TrafficDescription traffic;
  const bool one_node = plan.steps_between == 0;
  traffic.latency =
      protocol.base +
      std::int64_t{plan.steps_inside} * (one_node ? protocol.step_inside : protocol.step_inside_multi_node) +
      std::int64_t{plan.steps_between} * (protocol.step_between + between);
  for (std::size_t i = 0; i < plan.flows.size(); ++i) {
    traffic.flows.push_back(FlowOf(plan.flows[i], loads[i], protocol));
    if (one_node) traffic.flows.back().limit = protocol.limit_inside;
  }
  return traffic;
}

}  // namespace

sim::Communicator CommunicatorOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices) {
  sim::Communicator group;
  for (const std::uint32_t device : devices) {
    CHECK(device < fabric.domain.size());
    group.domain.push_back(fabric.domain[device]);
    group.rail.push_back(fabric.rail[device]);
  }
  return group;
}

sim::Duration IdleTime(const topologies::Fabric& fabric, const sim::TrafficDescription& traffic) {
  sim::Duration flows;
  for (const sim::FlowDescription& flow : traffic.flows)
    flows = std::max(flows, IdleTimeOfFlow(fabric, flow));
  return traffic.latency + flows;
}

namespace {

// The traffic of the fastest protocol, and which one that is.
struct Lowered {
  sim::TrafficDescription traffic;
  const hardware::CollectiveTiming* protocol = nullptr;  // null: nothing to send
};

Lowered Lower(const topologies::Fabric& fabric, std::span<const hardware::CollectiveTiming> timing,
              const sim::CollectiveRequest& request, std::span<const std::uint32_t> devices) {
  const sim::CollectivePlan plan = sim::PlanCollective(request);
  Lowered best;
  std::vector<LinkLoads> loads;
  for (const sim::CoupledFlow& flow : plan.flows) loads.push_back(LoadsOf(fabric, devices, flow.edges));
  sim::Duration best_time = sim::Duration::Max();
  for (const hardware::CollectiveTiming& protocol : timing) {
    if (plan.flows.empty()) break;
    sim::TrafficDescription traffic = WithProtocol(plan, loads, protocol);
    const sim::Duration time = IdleTime(fabric, traffic);
    if (time >= best_time) continue;
    best_time = time;
    best = {std::move(traffic), &protocol};
  }
  best.traffic.name = sim::ToText(request.kind);
  best.traffic.size = request.size;
  return best;
}

}  // namespace

sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric,
                                        std::span<const hardware::CollectiveTiming> timing,
                                        sim::CollectiveKind kind, sim::Bytes size,
                                        std::span<const std::uint32_t> devices) {
  return Lower(fabric, timing, {kind, size, CommunicatorOf(fabric, devices)}, devices).traffic;
}

ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric,
                               std::span<const hardware::CollectiveTiming> timing, sim::CollectiveKind kind,
                               sim::Bytes size, std::span<const std::uint32_t> devices) {
  const sim::CollectiveRequest request{kind, size, CommunicatorOf(fabric, devices)};
  const Lowered whole = Lower(fabric, timing, request, devices);
  ChunkedTraffic chunked;
  chunked.rendezvous = whole.traffic;
  chunked.rendezvous.flows.clear();
  if (whole.protocol == nullptr) return chunked;
  for (sim::Transfer& transfer : sim::ExpandIntoChunks(request, kChunk)) {
    const sim::EdgeLoad edge{transfer.from, transfer.to, 1};
    const LinkLoads loads = LoadsOf(fabric, devices, std::span(&edge, 1));
    sim::TrafficDescription traffic{.name = "chunk", .size = transfer.size};
    traffic.flows.push_back(FlowOf({.size = transfer.size}, loads, *whole.protocol));
    chunked.transfers.push_back({std::move(traffic), transfer.from, transfer.to, std::move(transfer.after)});
  }
  return chunked;
}

}  // namespace scenarios
