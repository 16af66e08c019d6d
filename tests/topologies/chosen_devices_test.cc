#include "topologies/chosen_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/fabric_testing.h"
#include "topologies/capacity.h"

namespace topologies {
namespace {

using testing::HasSubstr;

Fabric Uneven(const TopologySpec& spec, const sim::NodeShape& node, const std::vector<std::int64_t>& counts) {
  sim::Result<Fabric> fabric = BuildUnevenFabric(spec, node, counts);
  EXPECT_TRUE(fabric.ok()) << fabric.error().message;
  return std::move(fabric).value();
}

TEST(UnevenFabric, HasTheFirstDevicesOfEachNode) {
  const Fabric fabric = Uneven(SmallRails(), TestNode(8, 8), {8, 5, 1});
  ASSERT_EQ(fabric.devices.size(), 14u);
  EXPECT_EQ(fabric.vertices[fabric.devices[8].pos()].name, "node1/gpu0");
  EXPECT_EQ(fabric.vertices[fabric.devices[13].pos()].name, "node2/gpu0");
  EXPECT_EQ(fabric.domain, (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2}));
  EXPECT_EQ(fabric.rail, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 0}));
  EXPECT_THAT(ElementsText(fabric), HasSubstr("14 devices"));
  for (const TierCapacity& tier : TiersOf(fabric)) {
    if (tier.tier == Tier::kNvlink) {
      EXPECT_EQ(tier.links, 2u * 14);
    }
    EXPECT_EQ(tier.failed, 0u);
  }
}

// Whole nodes, in their order, are the fabric that it would be anyway.
TEST(UnevenFabric, OfWholeNodesIsTheEvenOne) {
  const Fabric even = MustBuild(SmallRails(), TestNode(4, 4), 8);
  const Fabric same = Uneven(SmallRails(), TestNode(4, 4), {4, 4});
  ASSERT_EQ(same.links.size(), even.links.size());
  for (std::uint32_t from = 0; from < 8; ++from) {
    for (std::uint32_t to = 0; to < 8; ++to) {
      if (from == to) continue;
      const Route a = same.router->Between(from, to), b = even.router->Between(from, to);
      ASSERT_EQ(a.uses.size(), b.uses.size());
      for (std::size_t i = 0; i < a.uses.size(); ++i) EXPECT_EQ(a.uses[i].link, b.uses[i].link);
      EXPECT_EQ(a.latency, b.latency);
    }
  }
}

// Node 1 has no device on rails 5 to 7, whose NICs PXN would hand its traffic to.
TEST(UnevenFabric, RoutesPassThroughNoEmptyPlace) {
  for (const sim::NodeShape& node : {TestNode(8, 8), WithoutNvlink(TestNode(8, 4)), TestNode(8, 0)}) {
    const Fabric fabric = Uneven(node.nics > 0 ? SmallRails() : OneSwitch(50_GB_per_s), node, {8, 5, 3});
    const auto devices = static_cast<std::uint32_t>(fabric.devices.size());
    for (std::uint32_t from = 0; from < devices; ++from) {
      for (std::uint32_t to = 0; to < devices; ++to) {
        if (from == to) continue;
        const Route route = fabric.router->Between(from, to);
        ASSERT_FALSE(route.uses.empty());
        EXPECT_EQ(fabric.links[route.uses.front().link.pos()].from, fabric.devices[from]);
        EXPECT_EQ(fabric.links[route.uses.back().link.pos()].to, fabric.devices[to]);
        for (const RouteUse& use : route.uses) {
          EXPECT_TRUE(fabric.IsThere(fabric.links[use.link.pos()])) << fabric.LinkName(use.link);
        }
      }
    }
  }
}

TEST(UnevenFabric, SaysWhatNodesCannotHave) {
  const auto error = [](const TopologySpec& spec, const std::vector<std::int64_t>& counts) {
    return BuildUnevenFabric(spec, TestNode(8, 8), counts).error().message;
  };
  EXPECT_EQ(error(SmallRails(), {8, 9}), "9 devices on node 1; 1 to 8 would do");
  EXPECT_EQ(error(SmallRails(), {0, 8}), "0 devices on node 0; 1 to 8 would do");
  EXPECT_THAT(error(OneNode(), {8, 5}), HasSubstr("is a single node"));
  EXPECT_THAT(error({"list", "", "", ExplicitSpec{}}, {1, 1}), HasSubstr("lists its devices"));
}

}  // namespace
}  // namespace topologies
