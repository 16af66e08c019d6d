#include "scenarios/lowering.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace scenarios {
namespace {

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
  sim::Duration latency_inside, latency_between;  // longest routes inside a domain and between two
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
    sim::Duration& latency =
        fabric.domain[from] == fabric.domain[to] ? loads.latency_inside : loads.latency_between;
    latency = std::max(latency, routes.back().latency);
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
                            const hardware::CollectiveTiming& protocol, sim::ByteRate limit) {
  const auto up = static_cast<std::uint64_t>(protocol.wire_numerator);
  std::uint64_t denominator =
      loads.denominator * static_cast<std::uint64_t>(protocol.wire_denominator) * flow.weight_denominator;
  std::uint64_t common = denominator;
  for (const WeightedLink& use : loads.uses) common = std::gcd(common, use.weight * up);
  const sim::Volume volume = sim::Volume::OfFraction(flow.size, flow.numerator, flow.denominator);
  sim::FlowDescription description{.volume = volume, .share = flow.share, .limit = limit};
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

// `rate` in 10^-3 B/s; rounded up. At most a quarter of the clock's range, so
// that sums hold; what takes that long cannot be simulated anyway.
sim::Duration TimeAt(sim::Volume volume, sim::Wide rate) {
  const sim::Wide ps = std::min<sim::Wide>((volume.femto_bytes() + rate - 1) / rate, INT64_MAX / 4);
  return sim::Duration::Picoseconds(static_cast<std::int64_t>(ps));
}

// How long a flow needs when it has its links for itself.
sim::Duration IdleTimeOfFlow(const topologies::Fabric& fabric, const sim::FlowDescription& flow) {
  sim::Wide slowest = flow.limit.milli() > 0 ? flow.limit.milli() : INT64_MAX;
  for (const sim::Use& use : flow.uses) {
    slowest = std::min(slowest, sim::Wide{fabric.links[use.link.pos()].capacity.milli()} *
                                    flow.weight_denominator / use.weight);
  }
  return TimeAt(flow.volume, slowest);
}

// A flow's part of the protocol's own fastest rate inside one node; zero = no
// limit. That rate is a member's, all its connections together.
sim::ByteRate LimitOf(const sim::CollectivePlan& plan, const sim::CoupledFlow& flow,
                      const hardware::CollectiveTiming& protocol) {
  if (plan.steps_between > 0 || protocol.limit_inside == sim::ByteRate()) return {};
  std::map<std::uint32_t, std::int64_t> leaving;  // by member
  std::int64_t most = 1;
  for (const sim::EdgeLoad& edge : flow.edges) most = std::max(most, leaving[edge.from] += edge.weight);
  const sim::Wide rate = sim::Wide{protocol.limit_inside.milli()} * flow.weight_denominator / most;
  return sim::ByteRate::MilliBytesPerSecond(std::max<std::int64_t>(static_cast<std::int64_t>(rate), 1));
}

// One collective, and what does not depend on the protocol.
struct Plan {
  sim::CollectivePlan collective;
  std::vector<LinkLoads> loads;               // by flow
  std::vector<std::vector<LinkLoads>> edges;  // by flow: each edge by itself, of a chain; else empty
};

// The fastest that the edges of chains can be, each, while all of them are busy
// at once: every link shared out evenly. By flow and edge; empty where the
// plan has no chain. A channel is one thread block and gets no faster where
// other channels have yet to start: so the fill has a closed form.
using EdgeRates = std::vector<std::vector<sim::ByteRate>>;

EdgeRates RatesOfChains(const topologies::Fabric& fabric, const Plan& plan,
                        const hardware::CollectiveTiming& protocol, sim::ByteRate limit) {
  std::uint64_t denominator = 1;
  for (const LinkLoads& flow : plan.loads) denominator = std::lcm(denominator, flow.denominator);
  std::map<sim::LinkId, std::uint64_t> load;  // of all flows, in units of 1 / denominator
  for (const LinkLoads& flow : plan.loads) {
    for (const WeightedLink& use : flow.uses) load[use.link] += use.weight * (denominator / flow.denominator);
  }
  EdgeRates rates(plan.edges.size());
  for (std::size_t i = 0; i < plan.edges.size(); ++i) {
    for (const LinkLoads& edge : plan.edges[i]) {
      sim::Wide rate = limit.milli() > 0 ? limit.milli() : INT64_MAX;
      for (const WeightedLink& use : edge.uses) {
        const sim::Wide wire =
            sim::Wide{fabric.links[use.link.pos()].capacity.milli()} * protocol.wire_denominator;
        const sim::Wide shared = static_cast<sim::Wide>(load[use.link]) * protocol.wire_numerator;
        rate = std::min(rate, wire * static_cast<sim::Wide>(denominator) / shared);
      }
      rates[i].push_back(
          sim::ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(std::max<sim::Wide>(rate, 1))));
    }
  }
  return rates;
}

// A chain is filled when one chunk has passed all its edges but the slowest,
// which carries all the bytes. Of several chains the last one to end counts.
sim::Duration FillTime(const sim::CollectivePlan& plan, const EdgeRates& rates, sim::Bytes chunk) {
  sim::Duration chain, slowest_edge;
  for (std::size_t i = 0; i < plan.flows.size(); ++i) {
    const sim::Bytes size = plan.flows[i].size;
    const std::uint32_t chunks = sim::ChunksOfChain(size, chunk);
    const sim::Volume a_chunk = sim::Volume::OfFraction(size, 1, chunks);
    sim::Duration all_edges, slowest;
    for (const sim::ByteRate rate : rates[i]) {
      all_edges += TimeAt(a_chunk, rate.milli());
      slowest = std::max(slowest, TimeAt(sim::Volume::Of(size), rate.milli()));
    }
    const sim::Duration of_slowest_edge =
        TimeAt(a_chunk, std::min_element(rates[i].begin(), rates[i].end())->milli());
    chain = std::max(chain, all_edges - of_slowest_edge + slowest);
    slowest_edge = std::max(slowest_edge, slowest);
  }
  return chain - slowest_edge;
}

// One protocol's traffic, and the parts that the chunk expansion needs too.
struct Lowered {
  sim::TrafficDescription traffic;
  const hardware::CollectiveTiming* protocol = nullptr;  // null: nothing to send
  sim::ByteRate limit;                                   // of one connection; zero = none
  EdgeRates rates;
  sim::Duration fill;  // what of the latency is fill
};

Lowered WithProtocol(const topologies::Fabric& fabric, const Plan& planned,
                     const hardware::CollectiveTiming& protocol, sim::Bytes chunk) {
  const sim::CollectivePlan& plan = planned.collective;
  sim::Duration inside, between;
  for (const LinkLoads& load : planned.loads) {
    inside = std::max(inside, load.latency_inside);
    between = std::max(between, load.latency_between);
  }
  Lowered lowered{.traffic = {},
                  .protocol = &protocol,
                  .limit = LimitOf(plan, plan.flows.front(), protocol),
                  .rates = {},
                  .fill = {}};
  if (plan.flows.front().is_chain) {
    lowered.rates = RatesOfChains(fabric, planned, protocol, lowered.limit);
    lowered.fill = FillTime(plan, lowered.rates, chunk);
  }
  const sim::Duration step_inside =
      plan.steps_between == 0 ? protocol.step_inside : protocol.step_inside_multi_node;
  lowered.traffic.latency = protocol.base + std::int64_t{plan.steps_inside} * (step_inside + inside) +
                            std::int64_t{plan.steps_between} * (protocol.step_between + between) +
                            lowered.fill;
  for (std::size_t i = 0; i < plan.flows.size(); ++i) {
    const sim::ByteRate limit = lowered.rates.empty()
                                    ? LimitOf(plan, plan.flows[i], protocol)
                                    : *std::min_element(lowered.rates[i].begin(), lowered.rates[i].end());
    lowered.traffic.flows.push_back(FlowOf(plan.flows[i], planned.loads[i], protocol, limit));
  }
  return lowered;
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
  std::map<sim::LinkId, sim::Duration> busy;  // all flows together
  for (const sim::FlowDescription& flow : traffic.flows) {
    flows = std::max(flows, IdleTimeOfFlow(fabric, flow));
    if (traffic.flows.size() == 1) break;
    for (const sim::Use& use : flow.uses) {
      const sim::Wide rate =
          sim::Wide{fabric.links[use.link.pos()].capacity.milli()} * flow.weight_denominator / use.weight;
      // Two of the longest that TimeAt gives are still a Duration.
      busy[use.link] =
          std::min(busy[use.link] + TimeAt(flow.volume, rate), sim::Duration::Picoseconds(INT64_MAX / 4));
    }
  }
  for (const auto& [link, time] : busy) flows = std::max(flows, time);
  return traffic.latency + flows;
}

namespace {

// With the protocol that is fastest on the idle fabric.
Lowered Lower(const topologies::Fabric& fabric, std::span<const hardware::CollectiveTiming> timing,
              const sim::CollectiveRequest& request, std::span<const std::uint32_t> devices,
              sim::Bytes chunk) {
  Plan plan{sim::PlanCollective(request), {}, {}};
  for (const sim::CoupledFlow& flow : plan.collective.flows) {
    plan.loads.push_back(LoadsOf(fabric, devices, flow.edges));
    std::vector<LinkLoads>& edges = plan.edges.emplace_back();
    if (!flow.is_chain) continue;
    for (const sim::EdgeLoad& edge : flow.edges) {
      edges.push_back(LoadsOf(fabric, devices, std::span(&edge, 1)));
    }
  }
  Lowered best;
  sim::Duration best_time = sim::Duration::Max();
  for (const hardware::CollectiveTiming& protocol : timing) {
    if (plan.collective.flows.empty()) break;
    Lowered lowered = WithProtocol(fabric, plan, protocol, chunk);
    const sim::Duration time = IdleTime(fabric, lowered.traffic);
    if (time >= best_time) continue;
    best_time = time;
    best = std::move(lowered);
  }
  best.traffic.name = sim::ToText(request.kind);
  best.traffic.size = request.size;
  return best;
}

}  // namespace

sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric,
                                        std::span<const hardware::CollectiveTiming> timing,
                                        sim::CollectiveKind kind, sim::Bytes size,
                                        std::span<const std::uint32_t> devices, sim::Bytes chunk) {
  return LowerCollective(fabric, timing, {.kind = kind, .size = size}, devices, chunk);
}

sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric,
                                        std::span<const hardware::CollectiveTiming> timing,
                                        sim::CollectiveRequest request,
                                        std::span<const std::uint32_t> devices, sim::Bytes chunk) {
  request.group = CommunicatorOf(fabric, devices);
  return Lower(fabric, timing, request, devices, chunk).traffic;
}

ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric,
                               std::span<const hardware::CollectiveTiming> timing, sim::CollectiveKind kind,
                               sim::Bytes size, std::span<const std::uint32_t> devices, sim::Bytes chunk) {
  return LowerIntoChunks(fabric, timing, {.kind = kind, .size = size}, devices, chunk);
}

ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric,
                               std::span<const hardware::CollectiveTiming> timing,
                               sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                               sim::Bytes chunk) {
  request.group = CommunicatorOf(fabric, devices);
  const Lowered whole = Lower(fabric, timing, request, devices, chunk);
  ChunkedTraffic chunked;
  chunked.rendezvous = whole.traffic;
  chunked.rendezvous.flows.clear();
  if (whole.protocol == nullptr) return chunked;
  chunked.rendezvous.latency = whole.traffic.latency - whole.fill;        // the transfers fill by themselves
  std::map<std::pair<std::uint32_t, std::uint32_t>, LinkLoads> loads_of;  // by edge
  std::vector<std::map<std::uint32_t, std::size_t>> edge_of;              // by channel and sender
  for (const sim::CoupledFlow& flow : sim::PlanCollective(request).flows) {
    std::map<std::uint32_t, std::size_t>& edges = edge_of.emplace_back();
    for (std::size_t i = 0; i < flow.edges.size(); ++i) edges.emplace(flow.edges[i].from, i);
  }
  for (sim::Transfer& transfer : sim::ExpandIntoChunks(request, chunk)) {
    const auto [loads, is_new] = loads_of.try_emplace({transfer.from, transfer.to});
    const sim::EdgeLoad edge{transfer.from, transfer.to, 1};
    if (is_new) loads->second = LoadsOf(fabric, devices, std::span(&edge, 1));
    sim::TrafficDescription traffic{.name = "chunk", .size = transfer.size};
    const sim::ByteRate limit =
        whole.rates.empty() ? whole.limit
                            : whole.rates[transfer.channel][edge_of[transfer.channel].at(transfer.from)];
    traffic.flows.push_back(FlowOf({.size = transfer.size}, loads->second, *whole.protocol, limit));
    chunked.transfers.push_back(
        {std::move(traffic), transfer.from, transfer.to, transfer.channel, std::move(transfer.after)});
  }
  return chunked;
}

}  // namespace scenarios
