// What fabrics carry between their halves, in closed form, and how they are drawn.

#include "topologies/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/topologies/fabric_testing.h"
#include "topologies/drawing.h"

namespace topologies {
namespace {

using testing::HasSubstr;
using testing::Not;

// 4 a leaf, so that 16 nodes of one device with NICs of 50 GB/s are 4 leafs; PCIe has 60.
FatTreeSpec Tree(std::int64_t uplinks) {
  FatTreeSpec spec;
  spec.nodes_per_leaf = 4;
  spec.uplinks_per_leaf = spec.spines = uplinks;
  spec.uplink = 50_GB_per_s;
  return spec;
}
Fabric Build(decltype(TopologySpec::family) family, std::int64_t devices = 16,
             const sim::NodeShape& node = TestNode(1, 1)) {
  return MustBuild({"fabric", "", "", std::move(family)}, node, devices);
}

constexpr double kGb = 1e9;

// Through the host only where NVLink does not join them: PCIe lanes carry what goes to NICs.
TEST(Bisection, OfANodeIsItsNvlinkOrElseItsHost) {
  EXPECT_EQ(BisectionOf(Build(SingleNodeSpec{}, 8, TestNode(8, 8))), 4 * 450 * kGb);
  EXPECT_EQ(BisectionOf(Build(SingleNodeSpec{}, 8, WithoutNvlink(TestNode(8, 8)))), 4 * 60 * kGb);
  EXPECT_EQ(BisectionOf(Build(SingleNodeSpec{}, 1, TestNode(8, 8))), 0);
}

TEST(Bisection, OfATreeIsItsNicsOrWhatIsAboveThem) {
  EXPECT_EQ(BisectionOf(Build(Tree(4))), 8 * 50 * kGb);
  EXPECT_EQ(BisectionOf(Build(Tree(1))), 2 * 50 * kGb);  // two leafs of one cable each
  FatTreeSpec three = Tree(4);
  three.nodes_per_pod = 4;
  three.uplinks_per_pod = 4;
  three.core_uplink = 10_GB_per_s;
  EXPECT_EQ(BisectionOf(Build(three)), 2 * 4 * 10 * kGb);  // two pods
  three.planes = 2;
  EXPECT_EQ(BisectionOf(Build(three)), 2 * 2 * 4 * 10 * kGb);  // each plane has such cables
  FatTreeSpec sites = Tree(4);
  sites.sites = {8, 12_GB_per_s, 1_ms};
  EXPECT_EQ(BisectionOf(Build(sites)), 12 * kGb);
}

TEST(Bisection, OfRailsIsThatOfAllNicsHoweverTheyAreJoined) {
  for (const RailKind rails : {RailKind::kShared, RailKind::kOptimised, RailKind::kOnly}) {
    FatTreeSpec spec = Tree(16);
    spec.rails = rails;
    EXPECT_EQ(BisectionOf(Build(spec, 64, TestNode(4, 4))), 8 * 4 * 50 * kGb);
  }
}

TEST(Bisection, OfATorusIsTwoLinksARingAndOneALine) {
  EXPECT_EQ(BisectionOf(Build(TorusSpec{{4, 4}, true, 10_GB_per_s, {}})), 2 * 4 * 10 * kGb);
  EXPECT_EQ(BisectionOf(Build(TorusSpec{{4, 4}, false, 10_GB_per_s, {}})), 4 * 10 * kGb);
}

TEST(Bisection, OfADragonflyIsTheCablesBetweenItsHalvesOfGroups) {
  DragonflyPlusSpec spec;
  spec.nodes_per_leaf = spec.leafs_per_group = spec.spines_per_group = 2;
  spec.uplinks_per_leaf = spec.global_links = 2;
  spec.uplink = 50_GB_per_s;
  spec.global_link = 5_GB_per_s;
  EXPECT_EQ(BisectionOf(Build(spec)), 2 * 2 * 2 * 5 * kGb);  // 4 groups, 2 cables a pair
}

TEST(Bisection, OneDirectionThatIsSlowerCounts) {
  TopologySpec spec{"fabric", "", "", Tree(4)};
  spec.faults = {LinkFault{.from = "node0/nic0", .to = "leaf0", .one_way = true}};
  spec.faults[0].rate_factor = 0.5;
  EXPECT_EQ(BisectionOf(MustBuild(spec, TestNode(1, 1), 16)), (7 * 50 + 25) * kGb);
}

TEST(RateOfHalves, IsThatOfTheNicOrItsPartOfTheUplink) {
  EXPECT_DOUBLE_EQ(RateOfHalves(Build(Tree(4))), 50 * kGb);
  EXPECT_DOUBLE_EQ(RateOfHalves(Build(Tree(1))), 12.5 * kGb);
  FatTreeSpec hashed = Tree(4);
  hashed.routing.routing = Routing::kEcmp;
  std::set<double> seen;
  for (hashed.routing.seed = 0; hashed.routing.seed < 8; ++hashed.routing.seed) {
    seen.insert(RateOfHalves(Build(hashed)) / kGb);
  }
  for (const double rate : seen) {  // 50 / k where k flows meet, one of four at a leaf
    EXPECT_DOUBLE_EQ(50 / rate, std::round(50 / rate)) << rate;
    EXPECT_LE(50 / rate, 4);
  }
  EXPECT_LT(*seen.begin(), 50);
}

TEST(Tiers, CountLinksCablesAndWhatFailed) {
  TopologySpec spec{"fabric", "", "", Tree(4)};
  spec.faults = {LinkFault{.from = "leaf0", .to = "spine*"}, LinkFault{.from = "node1/nic0", .to = "leaf0"}};
  spec.faults[0].failed_cables = 1;
  spec.faults[1].failed = true;
  spec.faults[1].one_way = true;
  // Eight nodes of two devices, whose other NIC is still there: two leafs of four cables.
  const auto tiers = TiersOf(MustBuild(spec, TestNode(2, 2), 16));
  ASSERT_EQ(tiers.size(), 6u);
  // A device's lanes and its NIC's carry the same bytes, one after the other.
  for (const std::size_t lanes : {1u, 2u}) {
    EXPECT_EQ(tiers[lanes].tier, Tier::kPcie);
    EXPECT_EQ(tiers[lanes].total, 2 * 16 * 60 * kGb);
  }
  EXPECT_EQ(tiers[1].b, VertexKind::kPcieSwitch);
  EXPECT_EQ(tiers[2].b, VertexKind::kNic);
  EXPECT_EQ(tiers[4].tier, Tier::kNic);
  EXPECT_EQ(tiers[4].links, 2u * 16 - 1);
  EXPECT_EQ(tiers[4].failed, 1u);
  EXPECT_EQ(tiers[5].tier, Tier::kLeafSpine);
  EXPECT_EQ(tiers[5].links, 4u);
  EXPECT_EQ(tiers[5].cables, 2u * (4 + 3));
  EXPECT_EQ(tiers[5].slowest, 150_GB_per_s);
  EXPECT_EQ(tiers[5].fastest, 200_GB_per_s);
}

TEST(Drawing, HasAClusterANodeAndAnEdgeACable) {
  const std::string dot = ToDot(MustBuild(OneSwitch(50_GB_per_s), WithoutNvlink(TestNode(1, 0)), 2));
  EXPECT_EQ(dot,
            "graph \"one switch\" {\n"
            "  node [shape=box];\n"
            "  v6 [label=\"switch\"];\n"
            "  subgraph cluster0 {\n"
            "    label=\"node0\";\n"
            "    v0 [label=\"gpu0\", shape=ellipse];\n"
            "    v1 [label=\"pcie0\"];\n"
            "    v2 [label=\"host\"];\n"
            "  }\n"
            "  subgraph cluster1 {\n"
            "    label=\"node1\";\n"
            "    v3 [label=\"gpu0\", shape=ellipse];\n"
            "    v4 [label=\"pcie0\"];\n"
            "    v5 [label=\"host\"];\n"
            "  }\n"
            "  v0 -- v1 [label=\"60 GB/s\"];\n"
            "  v1 -- v2 [label=\"60 GB/s\"];\n"
            "  v0 -- v6 [label=\"50 GB/s\"];\n"
            "  v3 -- v4 [label=\"60 GB/s\"];\n"
            "  v4 -- v5 [label=\"60 GB/s\"];\n"
            "  v3 -- v6 [label=\"50 GB/s\"];\n"
            "}\n");
}

TEST(Drawing, MarksWhatFailedAndOneDirection) {
  TopologySpec spec = OneSwitch();
  spec.faults = {LinkFault{.from = "node0/nic0", .to = "switch", .one_way = true}};
  spec.faults[0].failed = true;
  const std::string dot = ToDot(MustBuild(spec, TestNode(2, 2), 4));
  EXPECT_THAT(dot, HasSubstr("[label=\"50 GB/s\", dir=forward, style=dashed, color=red];"));
  EXPECT_THAT(dot, HasSubstr("[label=\"50 GB/s\", dir=forward];"));
}

TEST(Drawing, OfALargeFabricIsByKindAndSaysSo) {
  const Fabric fabric = Build(Tree(4), 16);
  const std::string dot = ToDot(fabric, 20);
  EXPECT_THAT(dot, HasSubstr("elements are too many to draw: one box a kind, links both ways added up"));
  EXPECT_THAT(dot, HasSubstr("[label=\"16 x device\"];"));
  EXPECT_THAT(dot, HasSubstr("[label=\"4 x spine\"];"));
  EXPECT_THAT(dot, HasSubstr("[label=\"32 links, 1600 GB/s\"];"));  // 16 NICs of 50 to their leafs, both ways
  EXPECT_THAT(dot, Not(HasSubstr("node3")));
}

}  // namespace
}  // namespace topologies
