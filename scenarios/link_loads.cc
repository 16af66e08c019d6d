#include "scenarios/link_loads.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "topologies/load_sum.h"

namespace scenarios {
namespace {

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

bool TouchesNvSwitch(const sim::EdgeLoad& edge) {
  return edge.from == sim::kNvSwitch || edge.to == sim::kNvSwitch;
}

topologies::Route RouteOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices,
                          const sim::EdgeLoad& edge) {
  if (!TouchesNvSwitch(edge)) {
    return fabric.router->Between(devices[edge.from], devices[edge.to]);
  }
  auto route = edge.to == sim::kNvSwitch ? fabric.router->ToNvSwitch(devices[edge.from])
                                         : fabric.router->FromNvSwitch(devices[edge.to]);
  CHECK(route.has_value());
  return *std::move(route);
}

bool StaysInside(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices,
                 const sim::EdgeLoad& edge) {
  if (TouchesNvSwitch(edge)) return true;
  return fabric.domain[devices[edge.from]] == fabric.domain[devices[edge.to]];
}

// The same sums, without keeping the routes.
LinkLoads LoadsOfMany(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices,
                      std::span<const sim::EdgeLoad> edges) {
  topologies::LoadSum sum(fabric);
  LinkLoads loads;
  for (const sim::EdgeLoad& edge : edges) {
    const sim::Duration latency = TouchesNvSwitch(edge)
                                      ? sum.Add(RouteOf(fabric, devices, edge), edge.weight)
                                      : sum.Add(devices[edge.from], devices[edge.to], edge.weight);
    sim::Duration& longest =
        StaysInside(fabric, devices, edge) ? loads.latency_inside : loads.latency_between;
    longest = std::max(longest, latency);
  }
  loads.denominator = sum.denominator();
  for (const topologies::LoadSum::Load& load : sum.loads()) loads.uses.push_back({load.link, load.weight});
  return loads;
}

}  // namespace

LinkLoads LoadsOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices,
                  std::span<const sim::EdgeLoad> edges) {
  // Above so many edges their routes would be too many to keep.
  constexpr std::size_t kMostRoutesKept = 4096;
  if (edges.size() > kMostRoutesKept) return LoadsOfMany(fabric, devices, edges);
  std::vector<topologies::Route> routes;
  routes.reserve(edges.size());
  LinkLoads loads;
  for (const sim::EdgeLoad& edge : edges) {
    routes.push_back(RouteOf(fabric, devices, edge));
    loads.denominator = std::lcm(loads.denominator, std::uint64_t{routes.back().denominator});
    sim::Duration& latency =
        StaysInside(fabric, devices, edge) ? loads.latency_inside : loads.latency_between;
    latency = std::max(latency, routes.back().latency);
  }
  std::vector<WeightedLink> uses;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const std::uint64_t scale = loads.denominator / routes[i].denominator * edges[i].weight;
    if (scale == 0) continue;
    for (const topologies::RouteUse& use : routes[i].uses) uses.push_back({use.link, use.parts * scale});
  }
  loads.uses = SumByLink(std::move(uses));
  return loads;
}

// Applies a protocol's wire overhead and brings the weights to lowest terms.
sim::FlowDescription FlowOf(const sim::CoupledFlow& flow, const LinkLoads& loads,
                            const hardware::CollectiveTiming& timing, sim::ByteRate limit) {
  const auto up = static_cast<std::uint64_t>(timing.wire_numerator);
  std::uint64_t denominator =
      loads.denominator * static_cast<std::uint64_t>(timing.wire_denominator) * flow.weight_denominator;
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

sim::Duration TimeAt(sim::Volume volume, sim::Wide rate) {
  const sim::Wide ps = std::min<sim::Wide>((volume.femto_bytes() + rate - 1) / rate, INT64_MAX / 4);
  return sim::Duration::Picoseconds(static_cast<std::int64_t>(ps));
}

sim::Duration IdleTimeOfFlow(const topologies::Fabric& fabric, const sim::FlowDescription& flow) {
  sim::Wide slowest = flow.limit.milli() > 0 ? flow.limit.milli() : INT64_MAX;
  for (const sim::Use& use : flow.uses) {
    slowest = std::min(slowest, sim::Wide{fabric.links[use.link.pos()].capacity.milli()} *
                                    flow.weight_denominator / use.weight);
  }
  return TimeAt(flow.volume, slowest);
}

EdgeRates RatesOfEdges(const topologies::Fabric& fabric, std::span<const sim::CoupledFlow> flows,
                       std::span<const LinkLoads> loads, std::span<const std::vector<LinkLoads>> edges,
                       const hardware::CollectiveTiming& timing, std::span<const sim::ByteRate> limits) {
  // What a byte of progress of all flows puts on each link. All flows of a plan advance alike.
  std::uint64_t denominator = 1;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    denominator = std::lcm(denominator, loads[i].denominator * flows[i].weight_denominator);
  }
  const auto scaled = [&](std::size_t i, const LinkLoads& of, std::uint64_t weight) {
    return weight * (denominator / (of.denominator * flows[i].weight_denominator));
  };
  std::map<sim::LinkId, std::uint64_t> load;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    for (const WeightedLink& use : loads[i].uses) load[use.link] += scaled(i, loads[i], use.weight);
  }
  EdgeRates rates(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::size_t e = 0; e < edges[i].size(); ++e) {
      // Progress first, then what that is on this edge.
      sim::Wide progress = limits[i].milli() > 0 ? limits[i].milli() : INT64_MAX;
      for (const WeightedLink& use : edges[i][e].uses) {
        const sim::Wide wire =
            sim::Wide{fabric.links[use.link.pos()].capacity.milli()} * timing.wire_denominator;
        const sim::Wide shared = static_cast<sim::Wide>(load[use.link]) * timing.wire_numerator;
        progress = std::min(progress, wire * static_cast<sim::Wide>(denominator) / shared);
      }
      const sim::Wide rate = progress * flows[i].edges[e].weight / flows[i].weight_denominator;
      rates[i].push_back(sim::ByteRate::MilliBytesPerSecond(
          static_cast<std::int64_t>(std::min<sim::Wide>(std::max<sim::Wide>(rate, 1), INT64_MAX))));
    }
  }
  return rates;
}

}  // namespace scenarios
