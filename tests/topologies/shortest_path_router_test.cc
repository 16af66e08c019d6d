#include "topologies/shortest_path_router.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/base/random.h"
#include "tests/topologies/fabric_testing.h"

namespace topologies {
namespace {

std::string Numbered(std::string name, std::size_t number) { return name.append(std::to_string(number)); }

constexpr int kFar = std::numeric_limits<int>::max();

struct ListedGraph {
  ExplicitSpec spec;

  void Node(const std::string& name, VertexKind kind) { spec.nodes.push_back({name, kind}); }
  void Cable(const std::string& a, const std::string& b, sim::ByteRate rate = 50_GB_per_s,
             sim::Duration latency = 100_ns) {
    spec.links.push_back({a, b, rate, latency, true});
  }
  Fabric Build() const {
    TopologySpec topology{"listed", "", "", spec};
    return MustBuild(topology, sim::NodeShape(), 1);
  }
};

// Hops from `from` to every vertex by breadth-first search that never passes
// through a device. The oracle of the router's lengths.
std::vector<int> HopsFrom(const Fabric& fabric, VertexId from) {
  std::vector<int> hops(fabric.vertices.size(), kFar);
  std::vector<VertexId> queue = {from};
  hops[from.pos()] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const VertexId vertex = queue[i];
    if (vertex != from && fabric.vertices[vertex.pos()].kind == VertexKind::kDevice) continue;
    for (const Link& link : fabric.links) {
      if (link.from != vertex || hops[link.to.pos()] != kFar) continue;
      hops[link.to.pos()] = hops[vertex.pos()] + 1;
      queue.push_back(link.to);
    }
  }
  return hops;
}

// How many paths of `hops` links there are, and how many cross each link: by
// walking every one of them.
std::vector<std::uint64_t> PathsThrough(const Fabric& fabric, VertexId from, VertexId to, int hops,
                                        std::uint64_t* all) {
  std::vector<std::uint64_t> through(fabric.links.size());
  std::vector<std::size_t> path;
  *all = 0;
  const std::function<void(VertexId)> walk = [&](VertexId at) {
    if (static_cast<int>(path.size()) == hops) {
      if (at != to) return;
      ++*all;
      for (const std::size_t l : path) ++through[l];
      return;
    }
    for (std::size_t l = 0; l < fabric.links.size(); ++l) {
      const Link& link = fabric.links[l];
      if (link.from != at) continue;
      if (link.to != to && fabric.vertices[link.to.pos()].kind == VertexKind::kDevice) continue;
      path.push_back(l);
      walk(link.to);
      path.pop_back();
    }
  };
  walk(from);
  return through;
}

ListedGraph RandomGraph(std::uint64_t seed) {
  sim::Random random(seed, "graph");
  ListedGraph graph;
  const std::uint32_t switches = 2 + random.Below(6), devices = 2 + random.Below(5);
  for (std::uint32_t i = 0; i < switches; ++i) graph.Node(Numbered("s", i), VertexKind::kSwitch);
  for (std::uint32_t i = 0; i < devices; ++i) graph.Node(Numbered("d", i), VertexKind::kDevice);
  for (std::uint32_t i = 1; i < switches; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) {
      if (j == i - 1 || random.Below(3) == 0) graph.Cable(Numbered("s", i), Numbered("s", j));
    }
  }
  for (std::uint32_t i = 0; i < devices; ++i) {
    const std::uint32_t home = random.Below(switches);
    for (std::uint32_t j = 0; j < switches; ++j) {
      if (j == home || random.Below(4) == 0) graph.Cable(Numbered("d", i), Numbered("s", j));
    }
  }
  return graph;
}

TEST(ShortestPathRouter, RoutesAreAsShortAsBreadthFirstSearchSays) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Fabric fabric = RandomGraph(seed).Build();
    const auto devices = static_cast<std::uint32_t>(fabric.devices.size());
    for (std::uint32_t from = 0; from < devices; ++from) {
      const std::vector<int> hops = HopsFrom(fabric, fabric.devices[from]);
      for (std::uint32_t to = 0; to < devices; ++to) {
        if (from == to) continue;
        // Each part crosses as many links as the path is long.
        const Route route = fabric.router->Between(from, to);
        std::uint64_t parts = 0;
        for (const RouteUse& use : route.uses) parts += use.parts;
        EXPECT_EQ(parts, static_cast<std::uint64_t>(hops[fabric.devices[to].pos()]) * route.denominator);
      }
    }
    ExpectAllPairsConnect(fabric);
  }
}

TEST(ShortestPathRouter, EveryShortestPathGetsTheSamePart) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Fabric fabric = RandomGraph(seed).Build();
    const int hops = HopsFrom(fabric, fabric.devices[0])[fabric.devices[1].pos()];
    std::uint64_t all = 0;
    const std::vector<std::uint64_t> through =
        PathsThrough(fabric, fabric.devices[0], fabric.devices[1], hops, &all);
    const Route route = fabric.router->Between(0, 1);
    std::vector<std::uint64_t> parts(fabric.links.size());
    for (const RouteUse& use : route.uses) parts[use.link.pos()] = use.parts;
    for (std::size_t l = 0; l < parts.size(); ++l) {
      EXPECT_EQ(parts[l] * all, through[l] * route.denominator) << fabric.LinkName(sim::LinkId(l));
    }
  }
}

TEST(ShortestPathRouter, SpraysEvenlyOverAllSpines) {
  ListedGraph graph;
  for (const char* name : {"gpu0", "gpu1"}) graph.Node(name, VertexKind::kDevice);
  for (const char* name : {"leaf0", "leaf1"}) graph.Node(name, VertexKind::kLeaf);
  graph.Cable("gpu0", "leaf0");
  graph.Cable("gpu1", "leaf1");
  for (const char* name : {"spine0", "spine1", "spine2", "spine3"}) {
    graph.Node(name, VertexKind::kSpine);
    graph.Cable("leaf0", name);
    graph.Cable(name, "leaf1", 50_GB_per_s, std::string(name) == "spine3" ? 900_ns : 100_ns);
  }
  const Fabric fabric = graph.Build();
  const Route route = fabric.router->Between(0, 1);
  EXPECT_EQ(route.denominator, 4u);
  std::uint32_t to_spines = 0;
  for (const sim::LinkId link : LinksIn(fabric, route, Tier::kLeafSpine)) {
    for (const RouteUse& use : route.uses) {
      if (use.link != link) continue;
      EXPECT_EQ(use.parts, 1u);
      to_spines +=
          fabric.vertices[fabric.links[link.pos()].to.pos()].kind == VertexKind::kSpine ? use.parts : 0;
    }
  }
  EXPECT_EQ(to_spines, route.denominator);
  EXPECT_EQ(route.latency, 1'200_ns);  // three links of 100 and the slow one
}

TEST(ShortestPathRouter, ADeviceForwardsOnlyWhereThereIsNoOtherWay) {
  // A ring of four devices: opposite ones have nobody else to ask, either side alike.
  ListedGraph ring;
  for (const char* name : {"a", "b", "c", "d"}) ring.Node(name, VertexKind::kDevice);
  for (const auto& [x, y] :
       {std::pair("a", "b"), std::pair("b", "c"), std::pair("c", "d"), std::pair("d", "a")}) {
    ring.Cable(x, y);
  }
  const Fabric bare = ring.Build();
  EXPECT_EQ(bare.router->Between(0, 2).denominator, 2u);
  ExpectAllPairsConnect(bare);
  // With a longer way around through switches they take that.
  for (const char* name : {"s0", "s1", "s2"}) ring.Node(name, VertexKind::kSwitch);
  ring.Cable("a", "s0");
  ring.Cable("s0", "s1");
  ring.Cable("s1", "s2");
  ring.Cable("s2", "c");
  const Fabric detour = ring.Build();
  EXPECT_EQ(PathText(detour, detour.router->Between(0, 2)), "a -> s0 -> s1 -> s2 -> c");
}

TEST(ShortestPathRouter, ThePathsOfADgx1WithoutARingAreSpelledOut) {
  // HB-109: GPUs 0, 1, 2, 3 and 7 of a DGX-1: NVLink of 25 GB/s between 0-1, 0-2,
  // 0-3, 1-2, 1-3, 2-3 and 3-7, PCIe of 10 GB/s between all. GPU 7 has one
  // NVLink, so every ring takes PCIe once: 2 * 4/5 * 1e9 B / 10 GB/s = 160 ms;
  // without it 2 * 3/4 * 1e9 B / 25 GB/s = 60 ms.
  ListedGraph graph;
  for (const char* name : {"0", "1", "2", "3", "7"}) graph.Node(name, VertexKind::kDevice);
  graph.Node("pcie", VertexKind::kPcieSwitch);
  for (const char* name : {"0", "1", "2", "3", "7"}) graph.Cable(name, "pcie", 10_GB_per_s);
  for (const char* ends : {"01", "02", "03", "12", "13", "23", "37"}) {
    graph.Cable(std::string(1, ends[0]), std::string(1, ends[1]), 25_GB_per_s);
  }
  const Fabric fabric = graph.Build();
  const auto best_ring = [&](std::uint32_t ranks) {
    std::vector<std::uint32_t> order(ranks);
    std::iota(order.begin(), order.end(), 0u);
    sim::ByteRate best;
    do {
      sim::ByteRate slowest = sim::ByteRate::MilliBytesPerSecond(INT64_MAX);
      for (std::uint32_t i = 0; i < ranks; ++i) {
        for (const RouteUse& use : fabric.router->Between(order[i], order[(i + 1) % ranks]).uses) {
          slowest = std::min(slowest, fabric.links[use.link.pos()].capacity);
        }
      }
      best = std::max(best, slowest);
    } while (std::next_permutation(order.begin() + 1, order.end()));
    return best;
  };
  EXPECT_EQ(sim::Bytes(1'600'000'000) / best_ring(5), 160_ms);
  EXPECT_EQ(sim::Bytes(1'500'000'000) / best_ring(4), 60_ms);
}

TEST(ShortestPathRouter, UsesAtMostTwoToTheSixteenPaths) {
  // Twenty diamonds in a row have 2^20 paths. The first sixteen are spread over,
  // the others taken on their lower-numbered side.
  ListedGraph graph;
  graph.Node("gpu0", VertexKind::kDevice);
  std::string last = "gpu0";
  for (std::size_t i = 0; i < 20; ++i) {
    for (const char* side : {"left", "right", "end"}) {
      graph.Node(Numbered(side, i),
                 i == 19 && std::string(side) == "end" ? VertexKind::kDevice : VertexKind::kSwitch);
    }
    for (const char* side : {"left", "right"}) graph.Cable(last, Numbered(side, i));
    for (const char* side : {"left", "right"}) graph.Cable(Numbered(side, i), Numbered("end", i));
    last = Numbered("end", i);
  }
  const Fabric fabric = graph.Build();
  ExpectAllPairsConnect(fabric);
  const Route route = fabric.router->Between(0, 1);
  EXPECT_EQ(route.denominator, 2u);  // in lowest terms
  EXPECT_EQ(route.uses.size(), 16u * 4 + 4 * 2);
  EXPECT_EQ(fabric.vertices[fabric.links[route.uses.back().link.pos()].from.pos()].name, "left19");
}

TEST(ShortestPathRouter, LargeFabricsAreSearchedWhenAsked) {
  // 3,000 devices times 3,001 elements are more than the table takes.
  ListedGraph graph;
  graph.Node("switch", VertexKind::kSwitch);
  for (std::size_t i = 0; i < 3000; ++i) {
    graph.Node(Numbered("gpu", i), VertexKind::kDevice);
    graph.Cable(Numbered("gpu", i), "switch");
  }
  const Fabric fabric = graph.Build();
  ASSERT_GT(fabric.devices.size() * fabric.vertices.size(), ShortestPathRouter::kTableEntries);
  for (const std::uint32_t to : {1u, 700u, 2999u}) {
    EXPECT_EQ(PathText(fabric, fabric.router->Between(0, to)), "gpu0 -> switch -> gpu" + std::to_string(to));
  }
}

TEST(ShortestPathRouter, TheSamePairGivesTheSameRoute) {
  const Fabric a = RandomGraph(7).Build(), b = RandomGraph(7).Build();
  const Route x = a.router->Between(0, 1), y = b.router->Between(0, 1);
  ASSERT_EQ(x.uses.size(), y.uses.size());
  for (std::size_t i = 0; i < x.uses.size(); ++i) EXPECT_EQ(x.uses[i].link, y.uses[i].link);
}

}  // namespace
}  // namespace topologies
