#include "scenarios/link_loads.h"

#include <algorithm>
#include <bit>
#include <iterator>
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

// The links of several lists, each once and in order, and where in that order a link is. Lists that are in
// order themselves, as those of flows are, cost a merge.
class LinkTable {
 public:
  template <class Uses>
  void Add(const Uses& uses) {
    std::vector<sim::LinkId> more, all;
    more.reserve(uses.size());
    for (const auto& use : uses) more.push_back(use.link);
    if (!std::is_sorted(more.begin(), more.end())) std::sort(more.begin(), more.end());
    more.erase(std::unique(more.begin(), more.end()), more.end());
    all.reserve(links_.size() + more.size());
    std::set_union(links_.begin(), links_.end(), more.begin(), more.end(), std::back_inserter(all));
    links_ = std::move(all);
  }
  std::size_t size() const { return links_.size(); }
  // REQUIRES: it is in one of the lists
  std::size_t PositionOf(sim::LinkId link) {
    if (next_ >= links_.size() || links_[next_] != link) {
      next_ = static_cast<std::size_t>(std::lower_bound(links_.begin(), links_.end(), link) - links_.begin());
    }
    return next_++;
  }

 private:
  std::vector<sim::LinkId> links_;
  std::size_t next_ = 0;  // behind the last one that was asked for
};

// How long a flow keeps its links busy, asked link by link. Neighbours are mostly alike, and a
// division of 128 bits costs more than all else here.
class BusyTime {
 public:
  BusyTime(const topologies::Fabric& fabric, const sim::FlowDescription& flow)
      : fabric_(fabric), flow_(flow) {}
  sim::Duration Of(const sim::Use& use) {
    const sim::ByteRate capacity = fabric_.links[use.link.pos()].capacity;
    if (capacity != capacity_ || use.weight != weight_) {
      capacity_ = capacity;
      weight_ = use.weight;
      time_ = TimeAt(flow_.volume, sim::Wide{capacity.milli()} * flow_.weight_denominator / use.weight);
    }
    return time_;
  }

 private:
  const topologies::Fabric& fabric_;
  const sim::FlowDescription& flow_;
  sim::ByteRate capacity_;
  std::uint32_t weight_ = 0;
  sim::Duration time_;
};

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
  // Above so many edges their routes would be too many to keep; and some edges that cross a good
  // part of all links are summed sooner than sorted.
  constexpr std::size_t kMostRoutesKept = 4096, kSome = 64, kLinksAnEdge = 16;
  const bool dense = edges.size() >= kSome && edges.size() * kLinksAnEdge >= fabric.links.size();
  if (dense || edges.size() > kMostRoutesKept) return LoadsOfMany(fabric, devices, edges);
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

LinkLoads LoadsOfAllPairs(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices) {
  topologies::LoadSum sum(fabric);
  LinkLoads loads;
  for (const std::uint32_t from : devices) {
    for (const std::uint32_t to : devices) {
      if (from == to) continue;
      const sim::Duration latency = sum.Add(from, to);
      sim::Duration& longest =
          fabric.domain[from] == fabric.domain[to] ? loads.latency_inside : loads.latency_between;
      longest = std::max(longest, latency);
    }
  }
  loads.denominator = sum.denominator();
  for (const topologies::LoadSum::Load& load : sum.loads()) loads.uses.push_back({load.link, load.weight});
  return loads;
}

// Applies a protocol's wire overhead and brings the weights to lowest terms.
sim::FlowDescription FlowOf(const sim::CoupledFlow& flow, const LinkLoads& loads,
                            const hardware::CollectiveTiming& timing, sim::ByteRate limit) {
  const auto up = static_cast<std::uint64_t>(timing.wire_numerator);
  std::uint64_t denominator =
      loads.denominator * static_cast<std::uint64_t>(timing.wire_denominator) * flow.weight_denominator;
  std::uint64_t common = denominator;
  for (const WeightedLink& use : loads.uses) {
    if (common == 1) break;
    common = std::gcd(common, use.weight * up);
  }
  const sim::Volume volume = sim::Volume::OfFraction(flow.size, flow.numerator, flow.denominator);
  sim::FlowDescription description{.volume = volume, .share = flow.share, .limit = limit};
  denominator /= common;
  CHECK(denominator <= UINT32_MAX);
  description.weight_denominator = static_cast<std::uint32_t>(denominator);
  description.uses.reserve(loads.uses.size());
  for (const WeightedLink& use : loads.uses) {
    const std::uint64_t weight = use.weight * up / common;
    CHECK(weight <= UINT32_MAX);
    description.uses.push_back({use.link, static_cast<std::uint32_t>(weight)});
  }
  return description;
}

sim::FlowDescription WithFill(const sim::CoupledFlow& flow, sim::FlowDescription description,
                              sim::Duration idle, sim::Duration fill) {
  // So many parts of the time are left to send in, rounded up: what is rounded away is in the limit.
  constexpr std::uint64_t kParts = 1024, kMostNumerator = 1u << 24;  // of a volume
  std::uint64_t most = description.weight_denominator;
  for (const sim::Use& use : description.uses) most = std::max<std::uint64_t>(most, use.weight);
  const std::uint64_t fitting =
      std::min(UINT32_MAX / most, (kMostNumerator - 1) / static_cast<std::uint64_t>(flow.numerator));
  const std::uint64_t parts = std::bit_floor(std::min(kParts, fitting));
  const sim::Wide whole = sim::Wide{idle.ps()} + fill.ps();
  const auto sends = static_cast<std::uint64_t>((sim::Wide{idle.ps()} * parts + whole - 1) / whole);

  std::uint64_t common = description.weight_denominator * parts;
  for (const sim::Use& use : description.uses) common = std::gcd(common, use.weight * sends);
  for (sim::Use& use : description.uses) use.weight = static_cast<std::uint32_t>(use.weight * sends / common);
  description.weight_denominator =
      static_cast<std::uint32_t>(description.weight_denominator * parts / common);
  description.volume = sim::Volume::OfFraction(flow.size, flow.numerator * static_cast<std::int64_t>(parts),
                                               flow.denominator * static_cast<std::int64_t>(sends));
  const sim::Wide rate = (description.volume.femto_bytes() + whole - 1) / whole;
  description.limit = sim::ByteRate::MilliBytesPerSecond(
      static_cast<std::int64_t>(std::clamp<sim::Wide>(rate, 1, INT64_MAX)));
  return description;
}

sim::Duration TimeAt(sim::Volume volume, sim::Wide rate) {
  const sim::Wide ps = std::min<sim::Wide>((volume.femto_bytes() + rate - 1) / rate, INT64_MAX / 4);
  return sim::Duration::Picoseconds(static_cast<std::int64_t>(ps));
}

sim::Duration IdleTimeOfFlow(const topologies::Fabric& fabric, const sim::FlowDescription& flow) {
  BusyTime busy(fabric, flow);
  sim::Duration longest = TimeAt(flow.volume, flow.limit.milli() > 0 ? flow.limit.milli() : INT64_MAX);
  for (const sim::Use& use : flow.uses) longest = std::max(longest, busy.Of(use));
  return longest;
}

sim::Duration BusiestLink(const topologies::Fabric& fabric, std::span<const sim::FlowDescription> flows) {
  constexpr auto kMost = sim::Duration::Picoseconds(INT64_MAX / 4);  // two such are still a Duration
  LinkTable links;
  for (const sim::FlowDescription& flow : flows) links.Add(flow.uses);
  std::vector<sim::Duration> busy(links.size());
  sim::Duration busiest;
  for (const sim::FlowDescription& flow : flows) {
    BusyTime time(fabric, flow);
    for (const sim::Use& use : flow.uses) {
      sim::Duration& sum = busy[links.PositionOf(use.link)];
      sum = std::min(sum + time.Of(use), kMost);
      busiest = std::max(busiest, sum);
    }
  }
  return busiest;
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
  LinkTable links;
  for (const LinkLoads& of : loads) links.Add(of.uses);
  std::vector<std::uint64_t> load(links.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    for (const WeightedLink& use : loads[i].uses) {
      load[links.PositionOf(use.link)] += scaled(i, loads[i], use.weight);
    }
  }
  EdgeRates rates(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::size_t e = 0; e < edges[i].size(); ++e) {
      // Progress first, then what that is on this edge.
      sim::Wide progress = limits[i].milli() > 0 ? limits[i].milli() : INT64_MAX;
      for (const WeightedLink& use : edges[i][e].uses) {
        const sim::Wide wire =
            sim::Wide{fabric.links[use.link.pos()].capacity.milli()} * timing.wire_denominator;
        const sim::Wide shared =
            static_cast<sim::Wide>(load[links.PositionOf(use.link)]) * timing.wire_numerator;
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
