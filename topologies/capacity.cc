#include "topologies/capacity.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace topologies {
namespace {

// Maximum flow in whole 10^-3 B/s. Dinic, "Algorithm for solution of a problem of maximum flow in networks
// with power estimation", Soviet Math. Doklady 11 (1970).
class MaximumFlow {
 public:
  explicit MaximumFlow(std::size_t vertices) : arcs_of_(vertices), level_(vertices), next_(vertices) {}

  void Add(std::size_t from, std::size_t to, sim::Wide capacity) {
    arcs_of_[from].push_back(arcs_.size());
    arcs_.push_back({to, capacity});
    arcs_of_[to].push_back(arcs_.size());
    arcs_.push_back({from, 0});
  }

  sim::Wide Between(std::size_t source, std::size_t sink) {
    sim::Wide flow = 0;
    while (SetLevels(source, sink)) {
      std::fill(next_.begin(), next_.end(), 0);
      while (const sim::Wide pushed = Push(source, sink)) flow += pushed;
    }
    return flow;
  }

 private:
  struct Arc {
    std::size_t to;
    sim::Wide left;  // capacity; the arc after an even one is its way back
  };

  bool SetLevels(std::size_t source, std::size_t sink) {
    std::fill(level_.begin(), level_.end(), -1);
    std::vector<std::size_t> queue = {source};
    level_[source] = 0;
    for (std::size_t i = 0; i < queue.size() && level_[sink] < 0; ++i) {
      for (const std::size_t a : arcs_of_[queue[i]]) {
        if (arcs_[a].left == 0 || level_[arcs_[a].to] >= 0) continue;
        level_[arcs_[a].to] = level_[queue[i]] + 1;
        queue.push_back(arcs_[a].to);
      }
    }
    return level_[sink] >= 0;
  }

  // One path down the levels, and how much went along it; 0 when there is none.
  sim::Wide Push(std::size_t source, std::size_t sink) {
    std::vector<std::size_t> path;
    std::size_t at = source;
    while (at != sink) {
      std::size_t& next = next_[at];
      const auto usable = [&](std::size_t a) {
        return arcs_[a].left > 0 && level_[arcs_[a].to] == level_[at] + 1;
      };
      while (next < arcs_of_[at].size() && !usable(arcs_of_[at][next])) ++next;
      if (next < arcs_of_[at].size()) {
        path.push_back(arcs_of_[at][next]);
        at = arcs_[path.back()].to;
        continue;
      }
      if (path.empty()) return 0;
      at = arcs_[path.back() ^ 1].to;
      path.pop_back();
      ++next_[at];
    }
    sim::Wide most = arcs_[path.front()].left;
    for (const std::size_t a : path) most = std::min(most, arcs_[a].left);
    for (const std::size_t a : path) {
      arcs_[a].left -= most;
      arcs_[a ^ 1].left += most;
    }
    return most;
  }

  std::vector<Arc> arcs_;
  std::vector<std::vector<std::size_t>> arcs_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

sim::Wide Cut(const Fabric& fabric, bool forward) {
  const std::size_t source = fabric.vertices.size(), sink = source + 1;
  const sim::Wide unlimited = sim::Wide{INT64_MAX} * INT64_MAX;
  bool switched = true;
  for (std::uint32_t d = 0; d < fabric.devices.size() && switched; ++d) {
    switched = fabric.router->ToNvSwitch(d).has_value() && fabric.router->FromNvSwitch(d).has_value();
  }
  MaximumFlow flow(fabric.vertices.size() + 2);
  for (const Link& link : fabric.links) {
    if (switched && link.tier == Tier::kHost) continue;
    if (!link.failed && fabric.IsThere(link)) flow.Add(link.from.pos(), link.to.pos(), link.capacity.milli());
  }
  const std::size_t half = fabric.devices.size() / 2;
  for (std::size_t d = 0; d < fabric.devices.size(); ++d) {
    const std::size_t device = fabric.devices[d].pos();
    const bool sends = (d < half) == forward;
    sends ? flow.Add(source, device, unlimited) : flow.Add(device, sink, unlimited);
  }
  return flow.Between(source, sink);
}

}  // namespace

std::vector<TierCapacity> TiersOf(const Fabric& fabric) {
  std::map<std::tuple<Tier, VertexKind, VertexKind>, TierCapacity> tiers;
  for (const Link& link : fabric.links) {
    if (!fabric.IsThere(link)) continue;
    const VertexKind from = fabric.vertices[link.from.pos()].kind, to = fabric.vertices[link.to.pos()].kind;
    TierCapacity& tier = tiers[{link.tier, std::min(from, to), std::max(from, to)}];
    tier.failed += link.failed ? 1 : 0;
    if (link.failed) continue;
    tier.slowest = tier.links == 0 ? link.capacity : std::min(tier.slowest, link.capacity);
    tier.fastest = std::max(tier.fastest, link.capacity);
    tier.total += link.capacity.bytes_per_second();
    tier.cables += link.cables;
    ++tier.links;
  }
  std::vector<TierCapacity> found;
  for (auto& [key, tier] : tiers) {
    std::tie(tier.tier, tier.a, tier.b) = key;
    found.push_back(tier);
  }
  return found;
}

double BisectionOf(const Fabric& fabric) {
  if (fabric.devices.size() < 2) return 0;
  return static_cast<double>(std::min(Cut(fabric, true), Cut(fabric, false))) * 1e-3;
}

double RateOfHalves(const Fabric& fabric) {
  const auto half = static_cast<std::uint32_t>(fabric.devices.size() / 2);
  std::vector<double> load(fabric.links.size());
  for (std::uint32_t i = 0; i < half; ++i) {
    for (const auto& [from, to] : {std::pair(i, i + half), std::pair(i + half, i)}) {
      const Route route = fabric.router->Between(from, to);
      for (const RouteUse& use : route.uses)
        load[use.link.pos()] += double{1} * use.parts / route.denominator;
    }
  }
  double rate = 0;
  for (std::size_t l = 0; l < load.size(); ++l) {
    if (load[l] == 0) continue;
    const double one = fabric.links[l].capacity.bytes_per_second() / load[l];
    rate = rate == 0 ? one : std::min(rate, one);
  }
  return rate;
}

}  // namespace topologies
