// How many elements and links the families of equal nodes have, their ids and
// their errors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "sim/base/digest.h"
#include "tests/topologies/fabric_testing.h"

namespace topologies {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The SuperPOD's switches: 32 nodes a leaf, 32 cables up, 64 ports.
TopologySpec SuperPod() {
  TopologySpec spec;
  spec.name = "pod";
  spec.family = RailOptimisedSpec{32, 32, 50_GB_per_s, 250_ns, 64};
  return spec;
}

std::uint64_t DigestOf(const Fabric& fabric) {
  sim::Digest digest;
  for (const Vertex& vertex : fabric.vertices) {
    digest.Add(static_cast<std::uint64_t>(vertex.kind));
    for (const char c : vertex.name) digest.Add(static_cast<unsigned char>(c));
  }
  for (const Link& link : fabric.links) {
    digest.Add(link.from.value()).Add(link.to.value()).Add(static_cast<std::uint64_t>(link.capacity.milli()));
  }
  for (std::uint32_t to = 1; to < fabric.devices.size(); ++to) {
    for (const RouteUse& use : fabric.router->Between(0, to).uses)
      digest.Add(use.link.value()).Add(use.parts);
  }
  return digest.value();
}

TEST(NodeFabric, HasTheElementsAndLinksOfItsClosedForm) {
  // A full node of D devices and as many NICs has D devices, one NVLink switch,
  // D PCIe switches, one host, D NICs, and per device a cable to each of NVLink
  // switch, PCIe switch, host (from the PCIe switch), NIC and leaf.
  for (const std::uint32_t nodes : {1u, 2u, 3u, 5u, 63u}) {
    for (const std::uint32_t d : {2u, 4u, 8u}) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes of " << d);
      const auto shape = TestNode(static_cast<std::int32_t>(d), static_cast<std::int32_t>(d));
      const Fabric fabric = MustBuild(SmallRails(), shape, nodes * d);
      const std::uint32_t leafs = (nodes + 1) / 2 * d, spines = nodes > 2 ? d : 0;
      EXPECT_EQ(fabric.devices.size(), nodes * d);
      EXPECT_EQ(fabric.vertices.size(), nodes * (3 * d + 2) + leafs + spines);
      EXPECT_EQ(CountOf(fabric, VertexKind::kLeaf), leafs);
      for (const Tier tier : {Tier::kNvlink, Tier::kHost, Tier::kNic})
        EXPECT_EQ(CountOf(fabric, tier), 2 * nodes * d);
      EXPECT_EQ(CountOf(fabric, Tier::kPcie), 2 * 2 * nodes * d);
      EXPECT_EQ(CountOf(fabric, Tier::kLeafSpine), nodes > 2 ? 2 * leafs : 0);
      EXPECT_EQ(CountOf(fabric, Tier::kOther), 0u);
    }
  }
}

TEST(NodeFabric, SwitchAndCableCountsAreThePublishedOnesOfTheSuperPod) {
  // Source: NVIDIA DGX SuperPOD reference architecture, DGX B200, table of larger
  // configurations: nodes, leafs, spines, node-leaf cables, leaf-spine cables.
  const std::uint32_t table[][5] = {
      {64, 16, 8, 512, 512}, {128, 32, 16, 1024, 1024}, {256, 64, 32, 2048, 2048}};
  for (const auto& [nodes, leafs, spines, node_cables, spine_cables] : table) {
    const Fabric fabric = MustBuild(SuperPod(), TestNode(8, 8), nodes * 8);
    std::uint32_t spines_found = 0;
    for (const Vertex& vertex : fabric.vertices)
      spines_found += vertex.kind == VertexKind::kSpine ? vertex.elements : 0;
    std::int64_t uplinks = 0;
    for (const Link& link : fabric.links) {
      if (link.tier == Tier::kLeafSpine) uplinks += link.capacity.milli();
    }
    EXPECT_EQ(CountOf(fabric, VertexKind::kLeaf), leafs);
    EXPECT_EQ(spines_found, spines);
    EXPECT_EQ(CountOf(fabric, Tier::kNic), 2 * node_cables);
    EXPECT_EQ(uplinks, 2 * spine_cables * (50_GB_per_s).milli());
  }
}

TEST(NodeFabric, LinksCarryTheRatesOfNodeAndNetwork) {
  const Fabric fabric = MustBuild(SmallRails(), TestNode(8, 8), 32);
  for (const Link& link : fabric.links) {
    const sim::ByteRate want = link.tier == Tier::kNvlink      ? 450_GB_per_s
                               : link.tier == Tier::kNic       ? 50_GB_per_s
                               : link.tier == Tier::kLeafSpine ? 100_GB_per_s  // two cables of 50
                                                               : 60_GB_per_s;
    EXPECT_EQ(link.capacity, want);
  }
}

TEST(NodeFabric, EveryLinkHasItsWayBackBesideIt) {
  for (const Fabric& fabric :
       {MustBuild(SmallRails(), TestNode(8, 8), 40), MustBuild(SmallRails(), TestNode(8, 4), 40),
        MustBuild(OneSwitch(), TestNode(4, 8), 12), MustBuild(OneNode(), TestNode(8, 8), 8)}) {
    for (std::size_t l = 0; l < fabric.links.size(); l += 2) {
      EXPECT_EQ(fabric.links[l].from, fabric.links[l + 1].to);
      EXPECT_EQ(fabric.links[l].to, fabric.links[l + 1].from);
      EXPECT_EQ(fabric.links[l].capacity, fabric.links[l + 1].capacity);
    }
  }
}

TEST(NodeFabric, IdsAreTheSameInEveryBuild) {
  for (const TopologySpec& spec : {SmallRails(), OneSwitch()}) {
    EXPECT_EQ(DigestOf(MustBuild(spec, TestNode(8, 8), 64)), DigestOf(MustBuild(spec, TestNode(8, 8), 64)));
  }
}

TEST(NodeFabric, DomainIsTheNodeAndRailTheNic) {
  const Fabric own = MustBuild(SmallRails(), TestNode(8, 8), 24);
  const Fabric shared = MustBuild(SmallRails(), TestNode(8, 4), 24);
  for (std::uint32_t device = 0; device < 24; ++device) {
    EXPECT_EQ(own.domain[device], device / 8);
    EXPECT_EQ(own.rail[device], device % 8);
    EXPECT_EQ(shared.rail[device], device % 8 / 2);
  }
}

TEST(NodeFabric, ALoneNodeMayBeFilledInPart) {
  for (const std::int64_t devices : {1, 2, 4, 8}) {
    for (const TopologySpec& spec : {OneNode(), SmallRails(), OneSwitch()}) {
      const Fabric fabric = MustBuild(spec, TestNode(8, 8), devices);
      EXPECT_EQ(fabric.devices.size(), static_cast<std::size_t>(devices));
      EXPECT_EQ(CountOf(fabric, VertexKind::kNvSwitch), devices > 1 ? 1u : 0u);
      ExpectAllPairsConnect(fabric);
    }
  }
}

TEST(NodeFabric, SixteenThousandDevicesAreBuiltInUnderASecond) {
  const std::clock_t start = std::clock();
  const Fabric fabric = MustBuild(SuperPod(), TestNode(8, 8), 16'384);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  // 2,048 nodes: 64 leafs a rail, the most that a spine of 64 ports connects.
  EXPECT_EQ(CountOf(fabric, VertexKind::kLeaf), 512u);
#ifdef NDEBUG
  const double limit = 1.0;
#else
  const double limit = 30.0;  // debug builds with sanitizers
#endif
  EXPECT_LT(seconds, limit);
  for (std::uint32_t device = 1; device < 16'384; device += 37)
    ExpectConnects(fabric, device, device * 7 % 16'384);
  EXPECT_THAT(
      ErrorOf(SuperPod(), TestNode(8, 8), 16'392),
      AllOf(HasSubstr("2049 nodes need 65 leafs a rail"), HasSubstr("64 ports"), HasSubstr("2048 nodes do")));
}

TEST(NodeFabric, UnevenNodesAreRefusedWithTheNumbersThatDo) {  // HB-116
  EXPECT_THAT(ErrorOf(SmallRails(), TestNode(8, 8), 15),
              AllOf(HasSubstr("15 devices"), HasSubstr("nodes of 8"),
                    HasSubstr("uneven nodes are not supported"), HasSubstr("8 and 16 do")));
}

TEST(NodeFabric, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(ErrorOf(OneNode(), TestNode(8, 8), 16),
              AllOf(HasSubstr("has 8 devices, not 16"), HasSubstr("one node")));
  EXPECT_THAT(ErrorOf(OneNode(), TestNode(8, 8), 0), HasSubstr("0 devices"));
  EXPECT_THAT(ErrorOf(SmallRails(), TestNode(8, 8), 8'000'000), HasSubstr("8000000 devices"));
  EXPECT_THAT(ErrorOf(SmallRails(), TestNode(8, 0), 16), AllOf(HasSubstr("test node"), HasSubstr("no NIC")));
  EXPECT_THAT(ErrorOf(SmallRails(), TestNode(8, 12), 16), HasSubstr("12 NICs"));
  TopologySpec leaf_only = SmallRails();
  std::get<RailOptimisedSpec>(leaf_only.family).uplinks_per_leaf = 0;
  EXPECT_EQ(ErrorOf(leaf_only, TestNode(8, 8), 16), "");
  EXPECT_THAT(ErrorOf(leaf_only, TestNode(8, 8), 24),
              AllOf(HasSubstr("uplinks_per_leaf is 0"), HasSubstr("2 nodes do")));
  TopologySpec full = SuperPod();
  std::get<RailOptimisedSpec>(full.family).uplinks_per_leaf = 40;
  EXPECT_THAT(ErrorOf(full, TestNode(8, 8), 8),
              AllOf(HasSubstr("64 ports"), HasSubstr("32 NICs and 40 cables")));
  TopologySpec small = OneSwitch();
  std::get<SingleSwitchSpec>(small.family).switch_ports = 64;
  EXPECT_EQ(ErrorOf(small, TestNode(8, 8), 64), "");
  EXPECT_THAT(ErrorOf(small, TestNode(8, 8), 72), AllOf(HasSubstr("72"), HasSubstr("64")));
}

TEST(NodeFabric, ARateOfZeroIsRefusedByItsName) {
  sim::NodeShape node = TestNode(8, 8);
  node.nic = sim::ByteRate();
  EXPECT_THAT(ErrorOf(SmallRails(), node, 16), AllOf(HasSubstr("NIC rate"), HasSubstr("zero")));
  node = TestNode(8, 8);
  node.pcie = sim::ByteRate();
  EXPECT_THAT(ErrorOf(SmallRails(), node, 16), AllOf(HasSubstr("PCIe rate"), HasSubstr("zero")));
  EXPECT_THAT(ErrorOf(OneNode(), WithoutNvlink(node), 8), AllOf(HasSubstr("PCIe"), HasSubstr("NVLink")));
  node.pcie = sim::ByteRate::BytesPerSecond(999);
  EXPECT_THAT(ErrorOf(OneNode(), node, 8), AllOf(HasSubstr("PCIe"), HasSubstr("below 1 kB/s")));
  TopologySpec slow = SmallRails();
  std::get<RailOptimisedSpec>(slow.family).uplink = sim::ByteRate();
  EXPECT_THAT(ErrorOf(slow, TestNode(8, 8), 32), HasSubstr("cables between leaf and spine"));
  EXPECT_THAT(ErrorOf(OneSwitch(), TestNode(1, 0), 4), AllOf(HasSubstr("one switch"), HasSubstr("no rate")));
}

TEST(NodeFabric, SumsThatNoRateHoldsAreRefused) {
  // A ByteRate holds 9.2e15 B/s; two cables of 9e15 are more.
  TopologySpec spec = SmallRails();
  std::get<RailOptimisedSpec>(spec.family).uplink = sim::ByteRate::GigabytesPerSecond(9e6);
  EXPECT_THAT(ErrorOf(spec, TestNode(8, 8), 64), HasSubstr("more than 9.2e15 B/s"));
  sim::NodeShape node = TestNode(1, 2);
  node.nic = sim::ByteRate::GigabytesPerSecond(9e6);
  EXPECT_THAT(ErrorOf(OneSwitch(), node, 2), HasSubstr("more than 9.2e15 B/s"));
}

TEST(NodeFabric, PrintsALineATier) {
  // 4 nodes of 2: 8 devices; NVLink 8 cables of 450, so 16 * 450 GB/s = 7.2 TB/s.
  EXPECT_EQ(ToText(MustBuild(SmallRails(), TestNode(2, 2), 8)),
            "small rails: 8 devices, 4 NVLink switches, 8 PCIe switches, 4 hosts, 8 NICs, 4 leafs, 2 spines\n"
            "  NVLink     8 x 2 links of 450 GB/s, 7.2 TB/s in all\n"
            "  PCIe       16 x 2 links of 60 GB/s, 1.92 TB/s in all\n"
            "  host       8 x 2 links of 60 GB/s, 0.96 TB/s in all\n"
            "  NIC        8 x 2 links of 50 GB/s, 0.8 TB/s in all\n"
            "  leaf-spine 4 x 2 links of 100 GB/s, 0.8 TB/s in all\n");
}

}  // namespace
}  // namespace topologies
