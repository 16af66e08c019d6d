// Tori, meshes and dragonflies against the shortest path, symmetry and counts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/fabric_testing.h"
#include "topologies/shortest_path_router.h"

namespace topologies {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TopologySpec Torus(const std::vector<std::int64_t>& size, bool wrap = true) {
  TopologySpec topology;
  topology.name = "torus";
  topology.family = TorusSpec{size, wrap, 50_GB_per_s, 200_ns};
  return topology;
}

// Two leafs and two spines a group, so that four nodes are a group.
TopologySpec Dragonfly() {
  DragonflyPlusSpec spec;
  spec.nodes_per_leaf = spec.leafs_per_group = spec.spines_per_group = 2;
  spec.uplinks_per_leaf = 4;
  spec.global_links = 2;
  spec.uplink = spec.global_link = 50_GB_per_s;
  spec.switch_latency = 200_ns;
  spec.global_latency = 1_us;
  return {"dragonfly", "", "", spec};
}

std::int64_t Product(const std::vector<std::int64_t>& size) {
  std::int64_t product = 1;
  for (const std::int64_t n : size) product *= n;
  return product;
}

TEST(Torus, HasACableToTheNextRouterInEveryDimension) {
  // n routers in a ring have n cables, two have one, and a line of n has n - 1.
  EXPECT_EQ(CountOf(MustBuild(Torus({4, 3}), TestNode(1, 1), 12), Tier::kTorus), 2u * (12 + 12));
  EXPECT_EQ(CountOf(MustBuild(Torus({4, 2}), TestNode(1, 1), 8), Tier::kTorus), 2u * (8 + 4));
  EXPECT_EQ(CountOf(MustBuild(Torus({4, 3, 2}), TestNode(1, 1), 24), Tier::kTorus), 2u * (24 + 24 + 12));
  EXPECT_EQ(CountOf(MustBuild(Torus({4, 3}, false), TestNode(1, 1), 12), Tier::kTorus), 2u * (9 + 8));
  EXPECT_EQ(CountOf(MustBuild(Torus({4, 3}), TestNode(2, 2), 4), VertexKind::kSwitch), 12u);  // two nodes
}

TEST(Torus, RoutesAreAsLongAsTheShortest) {
  for (const auto& [size, wrap] :
       {std::pair(std::vector<std::int64_t>{5}, true), std::pair(std::vector<std::int64_t>{4, 3}, true),
        std::pair(std::vector<std::int64_t>{4, 2, 3}, true),
        std::pair(std::vector<std::int64_t>{3, 4}, false)}) {
    const Fabric fabric = MustBuild(Torus(size, wrap), TestNode(1, 1), Product(size));
    const ShortestPathRouter search(fabric);
    ExpectAllPairsConnect(fabric);
    const auto devices = static_cast<std::uint32_t>(fabric.devices.size());
    for (std::uint32_t from = 0; from < devices; ++from) {
      for (std::uint32_t to = 0; to < devices; ++to) {
        if (from == to) continue;
        EXPECT_EQ(fabric.router->Between(from, to).latency, search.Between(from, to).latency);
      }
    }
  }
}

TEST(Torus, ARingIsTheShortestPathOrBoth) {
  for (const std::int64_t n : {5, 6}) {  // of 6, opposite ones are three apart both ways
    const Fabric fabric = MustBuild(Torus({n}), TestNode(1, 1), n);
    const ShortestPathRouter search(fabric);
    for (std::uint32_t to = 1; to < n; ++to) {
      const Route got = fabric.router->Between(0, to), want = search.Between(0, to);
      EXPECT_EQ(got.denominator, want.denominator);
      std::map<sim::LinkId, std::uint32_t> got_parts, want_parts;
      for (const RouteUse& use : got.uses) got_parts[use.link] = use.parts;
      for (const RouteUse& use : want.uses) want_parts[use.link] = use.parts;
      EXPECT_EQ(got_parts, want_parts);
    }
  }
}

TEST(Torus, SpellsOutTheWayDimensionByDimension) {
  const Fabric fabric = MustBuild(Torus({4, 4}), TestNode(1, 1), 16);
  EXPECT_EQ(PathText(fabric, fabric.router->Between(0, 7)),  // (0, 0) to (3, 1): one down, one up
            "node0/gpu0 -> node0/pcie0 -> node0/nic0 -> x0y0 -> x3y0 -> x3y1 -> node7/nic0 -> node7/pcie0 -> "
            "node7/gpu0");
}

TEST(Torus, AllToAllLoadsItsLinksEqually) {
  // By symmetry. In a dimension of k, offsets 1 ... go up where that is shorter: 1 + 2/2 hops of
  // k = 4, 1 of k = 3, and N/k pairs have each. The unit is half of a message.
  const Fabric fabric = MustBuild(Torus({4, 4, 3}), TestNode(1, 1), 48);
  std::vector<std::uint64_t> load(fabric.links.size());
  for (std::uint32_t from = 0; from < 48; ++from) {
    for (std::uint32_t to = 0; to < 48; ++to) {
      if (from == to) continue;
      const Route route = fabric.router->Between(from, to);
      for (const RouteUse& use : route.uses) load[use.link.pos()] += use.parts * 2 / route.denominator;
    }
  }
  for (std::size_t l = 0; l < load.size(); ++l) {
    if (fabric.links[l].tier != Tier::kTorus) continue;
    const std::string name = fabric.LinkName(sim::LinkId(l));  // "x0y0z0 -> x0y0z1"
    const bool of_three = name.substr(0, 4) == name.substr(10, 4);
    EXPECT_EQ(load[l], of_three ? 2u * 48 / 3 * 1 : 2u * 48 / 4 * 2) << name;
  }
}

TEST(Torus, MoreNodesThanRoutersAreRefused) {
  EXPECT_THAT(ErrorOf(Torus({4, 3}), TestNode(2, 2), 26),
              HasSubstr("13 nodes are more than the 4 x 3 = 12 routers of the torus"));
  EXPECT_THAT(ErrorOf(Torus({4, 3}), TestNode(2, 0), 4), HasSubstr("no NIC"));
  EXPECT_EQ(ErrorOf(Torus({4, 3}), TestNode(2, 0), 2), "");
}

TEST(Torus, AFailedLinkIsGoneRound) {
  TopologySpec broken = Torus({4, 4});
  broken.faults = {LinkFault{.from = "x0y0", .to = "x1y0"}};
  broken.faults[0].failed = true;
  const Fabric fabric = MustBuild(broken, TestNode(1, 1), 16);
  ExpectAllPairsConnect(fabric);
  for (std::uint32_t from = 0; from < 16; ++from) {
    for (std::uint32_t to = 0; to < 16; ++to) {
      if (from == to) continue;
      for (const RouteUse& use : fabric.router->Between(from, to).uses) {
        EXPECT_FALSE(fabric.links[use.link.pos()].failed);
      }
    }
  }
}

TEST(DragonflyPlus, HasTheSwitchesAndCablesOfItsClosedForm) {
  // 10 nodes: 5 leafs in 3 groups, each with spines; a bundle a leaf and one between any two groups.
  const Fabric fabric = MustBuild(Dragonfly(), TestNode(4, 4), 40);
  EXPECT_EQ(CountOf(fabric, VertexKind::kLeaf), 5u);
  EXPECT_EQ(CountOf(fabric, VertexKind::kSpine), 3u);
  EXPECT_EQ(CountOf(fabric, Tier::kLeafSpine), 2u * 5);
  EXPECT_EQ(CountOf(fabric, Tier::kGlobal), 2u * 3);
  for (const Link& link : fabric.links) {
    if (link.tier == Tier::kLeafSpine) {
      EXPECT_EQ(link.capacity, 200_GB_per_s);
    }
    if (link.tier == Tier::kGlobal) {
      EXPECT_EQ(link.capacity, 100_GB_per_s);
    }
  }
}

TEST(DragonflyPlus, RoutesAreTheShortestPaths) {
  const Fabric fabric = MustBuild(Dragonfly(), TestNode(1, 1), 12);
  const ShortestPathRouter search(fabric);
  ExpectAllPairsConnect(fabric);
  for (std::uint32_t from = 0; from < 12; ++from) {
    for (std::uint32_t to = 0; to < 12; ++to) {
      if (from == to) continue;
      const Route got = fabric.router->Between(from, to), want = search.Between(from, to);
      EXPECT_EQ(PathText(fabric, got), PathText(fabric, want));
      EXPECT_EQ(got.latency, want.latency);
    }
  }
}

TEST(DragonflyPlus, WhatDoesNotFitIsRefused) {
  TopologySpec spec = Dragonfly();
  std::get<DragonflyPlusSpec>(spec.family).global_links = 3;
  EXPECT_THAT(ErrorOf(spec, TestNode(4, 4), 16),
              HasSubstr("2 spines do not divide 3 cables between two groups"));
  spec = Dragonfly();
  std::get<DragonflyPlusSpec>(spec.family).switch_ports = 12;  // 8 NICs and 4 up; 4 down and 8 other groups
  EXPECT_EQ(ErrorOf(spec, TestNode(4, 4), 9 * 16), "");
  EXPECT_THAT(
      ErrorOf(spec, TestNode(4, 4), 10 * 16),
      AllOf(HasSubstr("a spine has 12 ports"), HasSubstr("4 cables to leafs and 9 to 9 other groups")));
  std::get<DragonflyPlusSpec>(spec.family).switch_ports = 11;
  EXPECT_THAT(ErrorOf(spec, TestNode(4, 4), 16), HasSubstr("too few for 8 NICs and 4 cables"));
  EXPECT_THAT(ErrorOf(Dragonfly(), TestNode(1, 1), 4 * 1024 + 1), HasSubstr("1025 groups; at most 1024"));
}

}  // namespace
}  // namespace topologies
