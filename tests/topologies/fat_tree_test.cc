// Fat trees: how many elements and cables, where traffic goes, and what a choice
// of routing makes of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/topologies/fabric_testing.h"
#include "topologies/shortest_path_router.h"

namespace topologies {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Two nodes a leaf, two leafs a pod, so that small fabrics have three tiers.
FatTreeSpec SmallTree(RailKind rails = RailKind::kShared) {
  FatTreeSpec spec;
  spec.rails = rails;
  spec.nodes_per_leaf = 2;
  spec.uplinks_per_leaf = 4;
  spec.uplink = 50_GB_per_s;
  spec.spines = 2;
  spec.nodes_per_pod = 4;
  spec.uplinks_per_pod = 8;
  spec.switch_latency = 200_ns;
  return spec;
}

TopologySpec Topology(const FatTreeSpec& spec) {
  TopologySpec topology;
  topology.name = "tree";
  topology.family = spec;
  return topology;
}

Fabric Tree(const FatTreeSpec& spec, const sim::NodeShape& node, std::int64_t nodes) {
  return MustBuild(Topology(spec), node, nodes * node.devices);
}

std::uint32_t Elements(const Fabric& fabric, VertexKind kind) {
  std::uint32_t elements = 0;
  for (const Vertex& vertex : fabric.vertices) elements += vertex.kind == kind ? vertex.elements : 0;
  return elements;
}

// One direction of a tier, all cables together.
sim::ByteRate RateUp(const Fabric& fabric, Tier tier) {
  std::int64_t milli = 0;
  for (const Link& link : fabric.links) milli += link.tier == tier ? link.capacity.milli() : 0;
  return sim::ByteRate::MilliBytesPerSecond(milli / 2);
}

// Each link with its part of all traffic; the order does not matter.
std::map<sim::LinkId, std::pair<std::uint32_t, std::uint32_t>> PartsOf(const Route& route) {
  std::map<sim::LinkId, std::pair<std::uint32_t, std::uint32_t>> parts;
  for (const RouteUse& use : route.uses) {
    const std::uint32_t common = std::gcd(use.parts, route.denominator);
    parts[use.link] = {use.parts / common, route.denominator / common};
  }
  return parts;
}

TEST(FatTree, HasTheSwitchesAndCablesOfItsClosedForm) {
  // 4 NICs on each of 10 nodes, 2 nodes a leaf: 5 leafs and 3 pods where rails share a leaf, with 20 cables
  // up and 2 spines a pod; 3 x 8 cables to cores. A leaf a rail makes that 20 leafs; rails apart have a
  // network each.
  struct Case {
    RailKind rails;
    std::uint32_t leafs, spines;
    std::int64_t uplinks, core_uplinks;
  };
  for (const Case& c : {Case{RailKind::kShared, 5, 6, 20, 24}, Case{RailKind::kOptimised, 20, 6, 80, 24},
                        Case{RailKind::kOnly, 20, 24, 80, 96}}) {
    for (const Routing routing : {Routing::kSpray, Routing::kEcmp}) {
      FatTreeSpec spec = SmallTree(c.rails);
      spec.routing.routing = routing;
      const Fabric fabric = Tree(spec, TestNode(4, 4), 10);
      EXPECT_EQ(Elements(fabric, VertexKind::kLeaf), c.leafs);
      EXPECT_EQ(Elements(fabric, VertexKind::kSpine), c.spines);
      EXPECT_EQ(RateUp(fabric, Tier::kLeafSpine).milli(), c.uplinks * (50_GB_per_s).milli());
      EXPECT_EQ(RateUp(fabric, Tier::kSpineCore).milli(), c.core_uplinks * (50_GB_per_s).milli());
      const std::size_t cables = CountOf(fabric, Tier::kLeafSpine) / 2;
      EXPECT_EQ(cables, routing == Routing::kEcmp ? static_cast<std::size_t>(c.uplinks) : c.leafs);
    }
  }
}

TEST(FatTree, SpinesAndCoresAreTheFewestWithThePorts) {
  // The SuperPOD of 127 nodes: 32 nodes a unit of 8 leafs, 32 cables up, switches of 64 ports.
  // 4 units: 32 leafs, and 32 spines of 32 ports... or 16 of 64, which are fewer. Source: DGX SuperPOD
  // reference architecture (H100), RA-11333-001: 4 SU have 32 leafs and 16 spines.
  FatTreeSpec spec = SmallTree(RailKind::kOptimised);
  spec.nodes_per_leaf = spec.uplinks_per_leaf = 32;
  spec.spines = spec.nodes_per_pod = 0;
  spec.switch_ports = 64;
  const Fabric fabric = Tree(spec, TestNode(8, 8), 128);
  EXPECT_EQ(Elements(fabric, VertexKind::kLeaf), 32u);
  EXPECT_EQ(Elements(fabric, VertexKind::kSpine), 16u);
  // A fat tree of k-port switches in three tiers: k/2 leafs and spines a pod, k pods, k^2/4 cores, k^3/4
  // hosts. Source: Al-Fares, Loukissas, Vahdat, SIGCOMM 2008.
  const std::int64_t k = 8;
  spec = SmallTree();
  spec.nodes_per_leaf = spec.uplinks_per_leaf = k / 2;
  spec.spines = 0;
  spec.nodes_per_pod = spec.uplinks_per_pod = k * k / 4;
  spec.switch_ports = k;
  const Fabric three = Tree(spec, TestNode(1, 1), k * k * k / 4);
  EXPECT_EQ(Elements(three, VertexKind::kLeaf), k * k / 2);
  EXPECT_EQ(Elements(three, VertexKind::kSpine), k * k / 2);
  EXPECT_EQ(Elements(three, VertexKind::kCore), k * k / 4);
  EXPECT_EQ(RateUp(three, Tier::kSpineCore).milli(), k * k * k / 4 * (50_GB_per_s).milli());
}

TEST(FatTree, SprayingIsTheShortestPath) {
  // The closed form against the search. Same-node pairs take NVLink or the host in both. Rails apart, and
  // rails that change over NVLink, have routes of their own: only equal rails are compared.
  for (const RailKind rails : {RailKind::kShared, RailKind::kOptimised, RailKind::kOnly}) {
    for (const std::int64_t planes : {1, 3}) {
      for (const std::int64_t pod : {0, 4}) {
        FatTreeSpec spec = SmallTree(rails);
        spec.planes = planes;
        spec.nodes_per_pod = pod;
        const Fabric fabric = Tree(spec, TestNode(2, 2), 9);
        const ShortestPathRouter search(fabric);
        for (std::uint32_t from = 0; from < 18; ++from) {
          for (std::uint32_t to = 0; to < 18; ++to) {
            if (from == to) continue;
            ExpectConnects(fabric, from, to);
            if (rails != RailKind::kShared && fabric.rail[from] != fabric.rail[to]) continue;
            const Route got = fabric.router->Between(from, to), want = search.Between(from, to);
            EXPECT_EQ(PartsOf(got), PartsOf(want)) << PathText(fabric, got);
            EXPECT_EQ(got.latency, want.latency);
          }
        }
      }
    }
  }
}

TEST(FatTree, SpellsOutTheWay) {
  const Fabric fabric = Tree(SmallTree(RailKind::kOptimised), TestNode(2, 2), 9);
  const auto path = [&](std::uint32_t from, std::uint32_t to) {
    return PathText(fabric, fabric.router->Between(from, to));
  };
  EXPECT_EQ(
      path(0, 17),  // another rail, pod and leaf: NVLink first
      "node0/gpu0 -> node0/nvswitch -> node0/gpu1 -> node0/pcie1 -> node0/nic1 -> rail1/leaf0 -> "
      "pod0/spine0-1 -> core0-1 -> pod2/spine0-1 -> rail1/leaf4 -> node8/nic1 -> node8/pcie1 -> node8/gpu1");
  const Fabric none = Tree(SmallTree(RailKind::kOptimised), WithoutNvlink(TestNode(2, 2)), 9);
  EXPECT_EQ(PathText(none, none.router->Between(0, 5)),  // spines join the rails
            "node0/gpu0 -> node0/pcie0 -> node0/nic0 -> rail0/leaf0 -> pod0/spine0-1 -> rail1/leaf1 -> "
            "node2/nic1 -> node2/pcie1 -> node2/gpu1");
}

TEST(FatTree, PlanesSplitTheRateOfANicEvenly) {
  FatTreeSpec spec = SmallTree();
  spec.planes = 2;
  const Fabric fabric = Tree(spec, TestNode(1, 1), 8);
  const Route route = fabric.router->Between(0, 7);
  EXPECT_EQ(route.denominator, 2u);
  const std::vector<sim::LinkId> ports = LinksIn(fabric, route, Tier::kNic);
  ASSERT_EQ(ports.size(), 4u);  // out and in, in two planes
  for (const sim::LinkId port : ports) EXPECT_EQ(fabric.links[port.pos()].capacity, 25_GB_per_s);
}

TEST(FatTree, SitesAreJoinedByTheirBorders) {
  FatTreeSpec spec = SmallTree();
  spec.sites = {4, 12_GB_per_s, 10_ms};
  const Fabric fabric = Tree(spec, TestNode(1, 1), 12);
  EXPECT_EQ(CountOf(fabric, Tier::kLongHaul), 2u * 3);  // three pairs of sites
  EXPECT_EQ(RateUp(fabric, Tier::kLongHaul), 36_GB_per_s);
  ExpectAllPairsConnect(fabric);
  const Route route = fabric.router->Between(0, 11);
  EXPECT_EQ(PathText(fabric, route),
            "node0/gpu0 -> node0/pcie0 -> node0/nic0 -> site0/leaf0 -> site0/spine0-1 -> site0/border -> "
            "site2/border -> site2/spine0-1 -> site2/leaf1 -> node11/nic0 -> node11/pcie0 -> node11/gpu0");
  // Four PCIe hops of 400 ns, two NICs of 500, six switches of 200, and the long link.
  EXPECT_EQ(route.latency, 3'800_ns + 10_ms);
}

TEST(Ecmp, TakesOneOfTheShortestPathsAndEachOfThemForSomeSeed) {
  FatTreeSpec spec = SmallTree();
  spec.routing.routing = Routing::kEcmp;
  const Fabric first = Tree(spec, TestNode(1, 1), 12);
  const ShortestPathRouter search(first);
  for (const std::uint32_t to : {1u, 2u, 11u}) {  // of the same leaf, pod, and another pod
    const auto all = PartsOf(search.Between(0, to));
    std::set<sim::LinkId> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      spec.routing.seed = seed;
      const Fabric fabric = Tree(spec, TestNode(1, 1), 12);
      const Route route = fabric.router->Between(0, to);
      EXPECT_EQ(route.denominator, 1u);
      for (const RouteUse& use : route.uses) {
        EXPECT_TRUE(all.contains(use.link)) << fabric.LinkName(use.link);
        seen.insert(use.link);
      }
      EXPECT_EQ(route.latency, search.Between(0, to).latency);
    }
    EXPECT_EQ(seen.size(), all.size());
  }
  for (std::uint32_t from = 0; from < 12; ++from) {
    for (std::uint32_t to = 0; to < 12; ++to) {
      if (from != to) ExpectConnects(first, from, to);
    }
  }
}

TEST(Ecmp, SeveralFlowsOfAPairAreHashedEach) {
  // Parts add up to all on every link that all share, and more flows find more of the 16 paths in a pod.
  FatTreeSpec spec = SmallTree();
  spec.routing = {.routing = Routing::kEcmp, .seed = 5, .flows = 1};
  std::size_t links = Tree(spec, TestNode(1, 1), 12).router->Between(0, 2).uses.size();
  for (const std::uint32_t flows : {4u, 64u}) {
    spec.routing.flows = flows;
    const Fabric fabric = Tree(spec, TestNode(1, 1), 12);
    for (const std::uint32_t to : {1u, 2u, 11u}) ExpectConnects(fabric, 0, to);
    EXPECT_EQ(fabric.router->Between(0, 1).denominator, 1u);  // one leaf, one way
    const Route route = fabric.router->Between(0, 2);
    EXPECT_GT(route.uses.size(), links);
    links = route.uses.size();
  }
  EXPECT_EQ(links, 6u + 4 + 4);  // all cables up and down, beside what has no other way
}

// The flows on the busiest link where each device sends to the one `shift` after it.
std::uint32_t MostOnALink(const Fabric& fabric, std::uint32_t shift) {
  const auto devices = static_cast<std::uint32_t>(fabric.devices.size());
  std::map<sim::LinkId, std::uint32_t> flows;
  std::uint32_t most = 0;
  for (std::uint32_t from = 0; from < devices; ++from) {
    for (const RouteUse& use : fabric.router->Between(from, (from + shift) % devices).uses) {
      most = std::max(most, ++flows[use.link]);
    }
  }
  return most;
}

TEST(ByDestination, ShiftsDoNotCollideWhereNothingIsOverSubscribed) {
  // Zahavi 2012: d-mod-k gives each shift permutation a link of its own for each flow.
  for (const std::int64_t ports : {0, 8}) {
    FatTreeSpec spec = SmallTree();
    spec.nodes_per_leaf = spec.uplinks_per_leaf = 4;
    spec.spines = 0;
    spec.nodes_per_pod = spec.uplinks_per_pod = 16;
    spec.switch_ports = ports;
    spec.routing.routing = Routing::kDestination;
    const Fabric fabric = Tree(spec, TestNode(1, 1), 64);
    for (std::uint32_t shift = 1; shift < 64; ++shift) EXPECT_EQ(MostOnALink(fabric, shift), 1u) << shift;
    spec.routing.routing = Routing::kEcmp;
    EXPECT_GT(MostOnALink(Tree(spec, TestNode(1, 1), 64), 32), 1u);  // hashing collides
  }
}

TEST(FatTree, WhatDoesNotFitIsRefused) {
  const auto error = [](const FatTreeSpec& spec, const sim::NodeShape& node, std::int64_t nodes) {
    return ErrorOf(Topology(spec), node, nodes * node.devices);
  };
  FatTreeSpec spec = SmallTree();
  spec.uplinks_per_leaf = 0;
  EXPECT_EQ(error(spec, TestNode(4, 4), 2), "");
  EXPECT_THAT(error(spec, TestNode(4, 4), 3),
              AllOf(HasSubstr("2 leafs"), HasSubstr("uplinks_per_leaf is 0")));
  spec = SmallTree();
  spec.spines = 3;
  EXPECT_THAT(error(spec, TestNode(4, 4), 4), HasSubstr("3 spines do not divide 4 cables of a leaf"));
  spec = SmallTree();
  spec.switch_ports = 8;
  EXPECT_THAT(error(spec, TestNode(4, 4), 2), HasSubstr("too few for 8 NICs and 4 cables"));
  spec = SmallTree(RailKind::kOnly);
  EXPECT_THAT(error(spec, WithoutNvlink(TestNode(4, 4)), 2),
              AllOf(HasSubstr("rails that no switch joins need NVLink"), HasSubstr("test node")));
  EXPECT_EQ(error(spec, WithoutNvlink(TestNode(4, 1)), 9), "");  // one rail
  EXPECT_THAT(error(spec, TestNode(4, 0), 2), HasSubstr("no NIC"));
  spec = SmallTree();
  spec.routing.routing = Routing::kEcmp;
  spec.sites = {1, 1_GB_per_s, {}};
  EXPECT_THAT(error(spec, TestNode(4, 4), 2), HasSubstr("SPRAY only"));
  spec.routing.routing = Routing::kSpray;
  EXPECT_THAT(error(spec, TestNode(1, 1), 257), HasSubstr("257 sites; at most 256"));
  spec = SmallTree();
  spec.routing.routing = Routing::kEcmp;
  spec.uplinks_per_leaf = spec.spines = spec.uplinks_per_pod = 4096;
  EXPECT_THAT(error(spec, TestNode(1, 1), 4096), HasSubstr("more than 8,000,000 cables"));
  spec.uplinks_per_leaf = spec.spines = 4097;
  spec.nodes_per_pod = 0;
  EXPECT_THAT(error(spec, TestNode(1, 1), 4), HasSubstr("4096 of a leaf or spine at most"));
}

}  // namespace
}  // namespace topologies
