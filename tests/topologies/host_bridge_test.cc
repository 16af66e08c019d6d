// Nodes whose devices reach those below other PCIe switches through the host's bridges.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topologies/shortest_path_router.h"
#include "topologies/topology.h"

namespace topologies {
namespace {

using sim::ByteRate;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Eight devices, two a switch and NIC, four a processor: 20, 6 and 2 GB/s.
sim::NodeShape Pairs() {
  return {.name = "pairs",
          .devices = 8,
          .nvlink = {},
          .nvlink_latency = {},
          .pcie = ByteRate::GigabytesPerSecond(20),
          .pcie_latency = {},
          .nics = 4,
          .nic = ByteRate::GigabytesPerSecond(25),
          .nic_latency = {},
          .host_memory = {},
          .host_bridge = ByteRate::GigabytesPerSecond(6),
          .host_bridge_latency = sim::Duration::Nanoseconds(300),
          .between_sockets = ByteRate::GigabytesPerSecond(2),
          .between_sockets_latency = sim::Duration::Nanoseconds(700)};
}

Fabric BridgedFabric(const sim::NodeShape& node, std::int64_t devices) {
  TopologySpec spec{.name = "test", .file = "", .source = "", .family = SingleNodeSpec{}};
  if (devices > node.devices) {
    spec.family = RailOptimisedSpec{.nodes_per_leaf = 2, .switch_latency = sim::Duration::Nanoseconds(250)};
  }
  return BuildFabric(spec, node, devices).value();
}

std::vector<std::string> LinksBetween(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  std::vector<std::string> names;
  for (const RouteUse& use : fabric.router->Between(from, to).uses)
    names.push_back(fabric.LinkName(use.link));
  return names;
}

ByteRate SlowestBetween(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  ByteRate slowest = ByteRate::GigabytesPerSecond(1000);
  for (const RouteUse& use : fabric.router->Between(from, to).uses) {
    slowest = std::min(slowest, fabric.links[use.link.pos()].capacity);
  }
  return slowest;
}

TEST(HostBridge, PairsShareASwitchAndProcessorsABridge) {
  const Fabric fabric = BridgedFabric(Pairs(), 8);
  EXPECT_EQ(SlowestBetween(fabric, 0, 1), ByteRate::GigabytesPerSecond(20));
  EXPECT_EQ(SlowestBetween(fabric, 1, 2), ByteRate::GigabytesPerSecond(6));
  EXPECT_EQ(SlowestBetween(fabric, 3, 4), ByteRate::GigabytesPerSecond(2));
  EXPECT_EQ(SlowestBetween(fabric, 7, 0), ByteRate::GigabytesPerSecond(2));
  EXPECT_THAT(LinksBetween(fabric, 1, 6),
              ElementsAre("node0/gpu1 -> node0/pcie0", "node0/pcie0 -> node0/bridge0",
                          "node0/bridge0 -> node0/bridge1", "node0/bridge1 -> node0/pcie3",
                          "node0/pcie3 -> node0/gpu6"));
  EXPECT_EQ(fabric.router->Between(1, 6).latency, sim::Duration::Nanoseconds(300 + 700 + 300));
}

// Whichever of its devices send to whichever of another switch; and each way has its own.
TEST(HostBridge, ASwitchHasOneWayOutForAllItsDevices) {
  const Fabric fabric = BridgedFabric(Pairs(), 4);
  EXPECT_EQ(LinksBetween(fabric, 0, 2)[1], LinksBetween(fabric, 1, 3)[1]);
  EXPECT_NE(LinksBetween(fabric, 0, 2)[1], LinksBetween(fabric, 2, 0)[1]);
}

// The plan's ids are those of the links as built, in every node; and no way is shorter.
TEST(HostBridge, RoutesAreTheShortestOfTheGraph) {
  sim::NodeShape node = Pairs();
  node.pcie_latency = sim::Duration::Nanoseconds(1000);  // through the host's memory it would be longer
  for (const std::int64_t devices : {2, 4, 8, 16}) {
    const Fabric fabric = BridgedFabric(node, devices);
    const ShortestPathRouter search(fabric);
    for (std::uint32_t from = 0; from < fabric.devices.size(); ++from) {
      for (std::uint32_t to = 0; to < fabric.devices.size(); ++to) {
        if (from == to || from / 8 != to / 8) continue;
        EXPECT_LE(fabric.router->Between(from, to).latency, search.Between(from, to).latency);
        EXPECT_THAT(LinksBetween(fabric, from, to), Each(Not(HasSubstr("host"))));
      }
    }
  }
}

TEST(HostBridge, NodesWithoutOneMeetAtTheHostAsBefore) {
  sim::NodeShape node = Pairs();
  node.host_bridge = node.between_sockets = ByteRate();
  const Fabric fabric = BridgedFabric(node, 8);
  EXPECT_THAT(LinksBetween(fabric, 0, 1),
              ElementsAre("node0/gpu0 -> node0/pcie0", "node0/pcie0 -> node0/host",
                          "node0/host -> node0/pcie1", "node0/pcie1 -> node0/gpu1"));
}

}  // namespace
}  // namespace topologies
