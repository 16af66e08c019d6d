// Where traffic goes in fabrics of equal nodes.

#include <gtest/gtest.h>

#include <utility>

#include "tests/topologies/fabric_testing.h"
#include "topologies/shortest_path_router.h"

namespace topologies {
namespace {

std::vector<Fabric> ManyFabrics() {
  std::vector<Fabric> fabrics;
  for (const auto& [devices_a_node, nics] :
       {std::pair(8, 8), std::pair(8, 4), std::pair(4, 8), std::pair(8, 3), std::pair(1, 1)}) {
    const sim::NodeShape node = TestNode(devices_a_node, nics);
    for (const std::int64_t nodes : {1, 2, 5}) {
      for (const sim::NodeShape& shape : {node, WithoutNvlink(node)}) {
        fabrics.push_back(MustBuild(SmallRails(), shape, nodes * devices_a_node));
        fabrics.push_back(MustBuild(OneSwitch(), shape, nodes * devices_a_node));
      }
    }
  }
  for (const sim::NodeShape& shape : {TestNode(8, 0), WithoutNvlink(TestNode(8, 0)), TestNode(1, 0)}) {
    fabrics.push_back(MustBuild(OneSwitch(50_GB_per_s), shape, 16));
    fabrics.push_back(MustBuild(OneNode(), shape, shape.devices));
  }
  return fabrics;
}

TEST(NodeRoute, ConnectsEveryPair) {
  for (const Fabric& fabric : ManyFabrics()) ExpectAllPairsConnect(fabric);
}

TEST(NodeRoute, SpellsOutTheWay) {
  const Fabric fabric = MustBuild(SmallRails(), TestNode(8, 8), 32);
  const auto path = [&](std::uint32_t from, std::uint32_t to) {
    return PathText(fabric, fabric.router->Between(from, to));
  };
  EXPECT_EQ(path(1, 5), "node0/gpu1 -> node0/nvswitch -> node0/gpu5");
  EXPECT_EQ(
      path(1, 9),
      "node0/gpu1 -> node0/pcie1 -> node0/nic1 -> rail1/leaf0 -> node1/nic1 -> node1/pcie1 -> node1/gpu1");
  EXPECT_EQ(path(1, 26),  // another rail and another leaf: first to the neighbour on the destination's rail
            "node0/gpu1 -> node0/nvswitch -> node0/gpu2 -> node0/pcie2 -> node0/nic2 -> rail2/leaf0 -> "
            "rail2/spine0 -> "
            "rail2/leaf1 -> node3/nic2 -> node3/pcie2 -> node3/gpu2");
}

TEST(NodeRoute, WithoutNvlinkGoesThroughTheHost) {
  const Fabric fabric = MustBuild(SmallRails(), WithoutNvlink(TestNode(4, 2)), 8);
  const auto path = [&](std::uint32_t from, std::uint32_t to) {
    return PathText(fabric, fabric.router->Between(from, to));
  };
  EXPECT_EQ(path(0, 1), "node0/gpu0 -> node0/pcie0 -> node0/gpu1");  // they share a NIC, so a PCIe switch
  EXPECT_EQ(path(0, 2), "node0/gpu0 -> node0/pcie0 -> node0/host -> node0/pcie1 -> node0/gpu2");
  EXPECT_EQ(path(0, 7),
            "node0/gpu0 -> node0/pcie0 -> node0/host -> node0/pcie1 -> node0/nic1 -> rail1/leaf0 -> "
            "node1/nic1 -> node1/pcie1 -> node1/gpu3");
}

TEST(NodeRoute, LatencyIsTheSumOverTheLinks) {
  const Fabric fabric = MustBuild(SmallRails(), TestNode(8, 8), 32);
  EXPECT_EQ(fabric.router->Between(0, 1).latency, 600_ns);  // two NVLink hops of 300
  // Four PCIe hops of 400, two NICs of 500, three switches of 200.
  EXPECT_EQ(fabric.router->Between(0, 24).latency, 3'200_ns);
  EXPECT_EQ(fabric.router->Between(0, 25).latency, 3'800_ns);
  EXPECT_EQ(fabric.router->Between(0, 8).latency, 2'800_ns);  // one switch
}

TEST(NodeRoute, TheSameRailNeedsNoNvlinkAndAnotherOneHopAtTheSource) {
  const Fabric fabric = MustBuild(SmallRails(), TestNode(8, 8), 64);
  for (std::uint32_t from = 0; from < 64; ++from) {
    for (std::uint32_t to = 0; to < 64; ++to) {
      if (fabric.domain[from] == fabric.domain[to]) continue;
      const Route route = fabric.router->Between(from, to);
      const std::vector<sim::LinkId> hops = LinksIn(fabric, route, Tier::kNvlink);
      if (fabric.rail[from] == fabric.rail[to]) {
        EXPECT_TRUE(hops.empty());
        continue;
      }
      ASSERT_EQ(hops.size(), 2u);
      EXPECT_EQ(fabric.links[hops[0].pos()].from, fabric.devices[from]);
      const std::uint32_t beside = fabric.domain[from] * 8 + fabric.rail[to];
      EXPECT_EQ(fabric.links[hops[1].pos()].to, fabric.devices[beside]);
    }
  }
}

TEST(NodeRoute, SpinesAreCrossedOnceAndOnlyBetweenLeafs) {
  const Fabric fabric = MustBuild(SmallRails(), TestNode(8, 8), 64);
  for (std::uint32_t from = 0; from < 64; ++from) {
    for (std::uint32_t to = 0; to < 64; ++to) {
      if (fabric.domain[from] == fabric.domain[to]) continue;
      const bool same_leaf = from / 16 == to / 16;  // two nodes a leaf
      const Route route = fabric.router->Between(from, to);
      EXPECT_EQ(LinksIn(fabric, route, Tier::kLeafSpine).size(), same_leaf ? 0u : 2u);
      EXPECT_LE(route.uses.size(), 12u);
      EXPECT_EQ(route.denominator, 1u);
    }
  }
}

TEST(NodeRoute, AllToAllLoadsEqualLinksEqually) {
  // By symmetry all links of a tier and direction carry the same, when every
  // device sends the same to every other one.
  for (const Fabric& fabric :
       {MustBuild(SmallRails(), TestNode(8, 8), 64), MustBuild(SmallRails(), TestNode(8, 4), 64),
        MustBuild(OneSwitch(), TestNode(8, 8), 40)}) {
    const auto devices = static_cast<std::uint32_t>(fabric.devices.size());
    std::vector<std::uint64_t> load(fabric.links.size());
    for (std::uint32_t from = 0; from < devices; ++from) {
      for (std::uint32_t to = 0; to < devices; ++to) {
        if (from == to) continue;
        for (const RouteUse& use : fabric.router->Between(from, to).uses) load[use.link.pos()] += use.parts;
      }
    }
    std::map<Tier, std::set<std::uint64_t>> seen;
    for (std::size_t l = 0; l < load.size(); ++l) {
      if (fabric.links[l].tier == Tier::kNic || fabric.links[l].tier == Tier::kLeafSpine ||
          fabric.links[l].tier == Tier::kNvlink) {
        seen[fabric.links[l].tier].insert(load[l]);
      }
    }
    for (const auto& [tier, loads] : seen) EXPECT_EQ(loads.size(), 1u) << ToText(tier);
    // A NIC carries what its devices send to all others outside their node.
    const std::uint64_t per_nic = devices / CountOf(fabric, VertexKind::kNic);
    EXPECT_EQ(*seen[Tier::kNic].begin(), per_nic * (devices - 8));
  }
}

TEST(NodeRoute, IsTheShortestPathWhereNoRailHasToBeChanged) {
  // Two nodes of one rail, or any two on one switch: the closed form against the search.
  for (const Fabric& fabric :
       {MustBuild(SmallRails(), TestNode(8, 8), 40), MustBuild(OneSwitch(), TestNode(8, 8), 24),
        MustBuild(OneSwitch(), WithoutNvlink(TestNode(8, 8)), 24),
        MustBuild(OneSwitch(50_GB_per_s), WithoutNvlink(TestNode(8, 0)), 24),
        MustBuild(OneNode(), WithoutNvlink(TestNode(8, 0)), 8)}) {
    const ShortestPathRouter search(fabric);
    const auto devices = static_cast<std::uint32_t>(fabric.devices.size());
    for (std::uint32_t from = 0; from < devices; ++from) {
      for (std::uint32_t to = 0; to < devices; ++to) {
        const bool rails = CountOf(fabric, VertexKind::kLeaf) > 0;
        if (from == to ||
            (rails && fabric.domain[from] != fabric.domain[to] && fabric.rail[from] != fabric.rail[to])) {
          continue;
        }
        const Route want = search.Between(from, to), got = fabric.router->Between(from, to);
        EXPECT_EQ(PathText(fabric, got), PathText(fabric, want));
        EXPECT_EQ(got.latency, want.latency);
      }
    }
  }
}

// The slowest link of a ring over the first `ranks` devices.
sim::ByteRate SlowestOfRing(const Fabric& fabric, std::uint32_t ranks) {
  sim::ByteRate slowest = sim::ByteRate::MilliBytesPerSecond(INT64_MAX);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (const RouteUse& use : fabric.router->Between(rank, (rank + 1) % ranks).uses) {
      slowest = std::min(slowest, fabric.links[use.link.pos()].capacity);
    }
  }
  return slowest;
}

TEST(NodeRoute, ARingInsideANodeIsPacedByNvlinkAndAcrossNodesByTheNic) {
  const Fabric fabric = MustBuild(SmallRails(), TestNode(8, 8), 24);
  // HB-108: ring all-reduce of 64 MiB takes 2 (n-1)/n S / slowest link: 261.0 us
  // over 8 ranks of one node, 2516.6 us over 16 with one ring.
  const auto ring_us = [&](std::uint32_t n) {
    return 2.0 * (n - 1) / n * 67'108'864 / SlowestOfRing(fabric, n).bytes_per_second() * 1e6;
  };
  EXPECT_NEAR(ring_us(8), 261.0, 0.1);
  EXPECT_NEAR(ring_us(16), 2516.6, 0.1);
  EXPECT_EQ(SlowestOfRing(fabric, 24), 50_GB_per_s);  // HB-120: 24 ranks over three nodes
}

TEST(NodeRoute, HalfOfTheDestinationsOfTwoNodesAreRemote) {
  // HB-111: 16 ranks on two nodes, uniform destinations, oneself among them: 8
  // of 16 are behind the NIC, so 43 GB/s of tokens are 21.5 GB/s on the wire.
  const Fabric fabric = MustBuild(SmallRails(), TestNode(8, 8), 16);
  std::map<sim::LinkId, int> messages;
  for (std::uint32_t from = 0; from < 16; ++from) {
    for (std::uint32_t to = 0; to < 16; ++to) {
      if (from == to) continue;
      for (const sim::LinkId link : LinksIn(fabric, fabric.router->Between(from, to), Tier::kNic))
        ++messages[link];
    }
  }
  EXPECT_EQ(messages.size(), 32u);  // 16 NICs, both ways
  for (const auto& [link, count] : messages) EXPECT_EQ(43.0 * count / 16, 21.5) << fabric.LinkName(link);
}

TEST(NodeRoute, SixtyThreeNodesOfOneDeviceAreJoinedByPortsAlone) {
  const Fabric fabric = MustBuild(OneSwitch(50_GB_per_s), TestNode(1, 0), 63);
  EXPECT_EQ(CountOf(fabric, Tier::kNic), 2u * 63);
  EXPECT_EQ(PathText(fabric, fabric.router->Between(62, 0)), "node62/gpu0 -> switch -> node0/gpu0");
  ExpectAllPairsConnect(fabric);
}

TEST(NodeRoute, SeveralNicsOfADeviceAreOneWide) {
  const Fabric fabric = MustBuild(SmallRails(), TestNode(4, 8), 8);
  for (const sim::LinkId link : LinksIn(fabric, fabric.router->Between(0, 4), Tier::kNic)) {
    EXPECT_EQ(fabric.links[link.pos()].capacity, 100_GB_per_s);
  }
}

TEST(NodeRouteDeathTest, ToOneselfIsOurBug) {
  const Fabric fabric = MustBuild(OneNode(), TestNode(8, 8), 8);
  EXPECT_EXIT(fabric.router->Between(3, 3), testing::ExitedWithCode(70), "bug");
  EXPECT_EXIT(fabric.router->Between(3, 8), testing::ExitedWithCode(70), "bug");
}

}  // namespace
}  // namespace topologies
