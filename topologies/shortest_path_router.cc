#include "topologies/shortest_path_router.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include "sim/base/check.h"

namespace topologies {
namespace {

constexpr std::int64_t kUnreached = std::numeric_limits<std::int64_t>::max();

// A vertex on the way, with what is known of the paths through it.
struct Stop {
  VertexId vertex;
  std::uint64_t paths_from_source = 0;
  std::uint64_t paths_to_destination = 0;
  sim::Duration latency;  // of the longest path to the destination
};
struct Step {
  std::uint32_t link, from, to;  // from and to are stops
};

// The parts of each link, in lowest terms.
Route RouteOf(const std::vector<Stop>& stops, const std::vector<Step>& steps) {
  Route route;
  std::uint64_t divisor = stops[0].paths_to_destination;
  for (const Step& step : steps) {
    const std::uint64_t parts = stops[step.from].paths_from_source * stops[step.to].paths_to_destination;
    route.uses.push_back({sim::LinkId(step.link), static_cast<std::uint32_t>(parts)});
    divisor = std::gcd(divisor, parts);
  }
  for (RouteUse& use : route.uses) use.parts = static_cast<std::uint32_t>(use.parts / divisor);
  route.denominator = static_cast<std::uint32_t>(stops[0].paths_to_destination / divisor);
  route.latency = stops[0].latency;
  return route;
}

}  // namespace

ShortestPathRouter::ShortestPathRouter(const Fabric& fabric)
    : links_(fabric.links), devices_(fabric.devices) {
  const std::size_t vertices = fabric.vertices.size();
  cost_of_leaving_.assign(vertices, 1);
  for (const VertexId device : devices_)
    cost_of_leaving_[device.pos()] += static_cast<std::int64_t>(vertices);

  const auto incidence = [&](VertexId Link::*end) {
    Incidence by_vertex{std::vector<std::uint32_t>(vertices + 1), {}};
    for (const Link& link : links_) by_vertex.first[(link.*end).pos() + 1] += link.failed ? 0 : 1;
    std::partial_sum(by_vertex.first.begin(), by_vertex.first.end(), by_vertex.first.begin());
    by_vertex.links.resize(by_vertex.first.back());
    std::vector<std::uint32_t> next = by_vertex.first;
    for (std::uint32_t l = 0; l < links_.size(); ++l) {
      if (!links_[l].failed) by_vertex.links[next[(links_[l].*end).pos()]++] = l;
    }
    return by_vertex;
  };
  out_ = incidence(&Link::from);
  in_ = incidence(&Link::to);

  if (devices_.size() * vertices > kTableEntries) return;
  for (const VertexId device : devices_) costs_.push_back(CostsTo(device));
}

// Dijkstra's algorithm, backwards from the destination.
std::vector<std::int64_t> ShortestPathRouter::CostsTo(VertexId to) const {
  using Entry = std::pair<std::int64_t, std::uint32_t>;  // cost, vertex
  std::vector<std::int64_t> cost(cost_of_leaving_.size(), kUnreached);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> nearest;
  cost[to.pos()] = 0;
  nearest.emplace(0, to.value());
  while (!nearest.empty()) {
    const auto [reached, vertex] = nearest.top();
    nearest.pop();
    if (reached > cost[vertex]) continue;
    for (std::uint32_t i = in_.first[vertex]; i < in_.first[vertex + 1]; ++i) {
      const VertexId before = links_[in_.links[i]].from;
      const std::int64_t longer = reached + CostOfLeaving(before);
      if (longer >= cost[before.pos()]) continue;
      cost[before.pos()] = longer;
      nearest.emplace(longer, before.value());
    }
  }
  return cost;
}

// Walks all cheapest paths at once, a hop at a time, then counts back from the
// destination how many go through each vertex.
Route ShortestPathRouter::Spread(VertexId from, VertexId to, const std::vector<std::int64_t>& cost) const {
  CHECK(cost[from.pos()] != kUnreached);
  std::vector<Stop> stops = {{from, 1, 0, {}}};
  std::vector<Step> steps;
  bool spreads = true;
  std::size_t level = 0;  // the first stop of the hop's start
  while (stops[level].vertex != to) {
    const std::size_t end = stops.size(), first_step = steps.size();
    // Every cheapest link out, or only the first one; and the number of paths that makes.
    const auto walk = [&](bool all) {
      std::map<std::uint32_t, std::uint32_t> stop_of_vertex;
      std::uint64_t paths = 0;
      for (std::size_t s = level; s < end; ++s) {
        const VertexId vertex = stops[s].vertex;
        for (std::uint32_t i = out_.first[vertex.pos()]; i < out_.first[vertex.pos() + 1]; ++i) {
          const VertexId next = links_[out_.links[i]].to;
          const std::int64_t rest = cost[vertex.pos()] - CostOfLeaving(vertex);
          if (cost[next.pos()] != rest) continue;  // not on a cheapest path
          const auto [entry, is_new] =
              stop_of_vertex.try_emplace(next.value(), static_cast<std::uint32_t>(stops.size()));
          if (is_new) stops.push_back({next, 0, 0, {}});
          stops[entry->second].paths_from_source += stops[s].paths_from_source;
          steps.push_back({out_.links[i], static_cast<std::uint32_t>(s), entry->second});
          paths += stops[s].paths_from_source;
          if (!all) break;
        }
      }
      return paths;
    };
    if (!spreads || walk(true) > kMostPaths) {
      spreads = false;
      stops.resize(end);
      steps.resize(first_step);
      walk(false);
    }
    level = end;
  }

  // All cheapest paths have the same number of hops, so the destination is last and alone.
  stops.back().paths_to_destination = 1;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const Step& step = steps[i];
    const Stop& next = stops[step.to];
    Stop& stop = stops[step.from];
    stop.paths_to_destination += next.paths_to_destination;
    stop.latency = std::max(stop.latency, links_[step.link].latency + next.latency);
  }
  return RouteOf(stops, steps);
}

Route ShortestPathRouter::Between(std::uint32_t from_device, std::uint32_t to_device) const {
  CHECK(from_device < devices_.size() && to_device < devices_.size() && from_device != to_device);
  const VertexId from = devices_[from_device], to = devices_[to_device];
  return Spread(from, to, costs_.empty() ? CostsTo(to) : costs_[to_device]);
}

}  // namespace topologies
