// Links that are slower, later or gone.

#include "topologies/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/fabric_testing.h"

namespace topologies {
namespace {

using testing::AllOf;
using testing::HasSubstr;

LinkFault Between(const std::string& from, const std::string& to) {
  LinkFault fault;
  fault.from = from;
  fault.to = to;
  return fault;
}
LinkFault Failed(const std::string& from, const std::string& to) {
  LinkFault fault = Between(from, to);
  fault.failed = true;
  return fault;
}

TopologySpec With(TopologySpec topology, const LinkFault& fault) {
  topology.faults.push_back(fault);
  return topology;
}

TopologySpec TwoPlanes(Routing routing = Routing::kSpray) {
  FatTreeSpec spec;
  spec.nodes_per_leaf = 1;
  spec.uplinks_per_leaf = spec.spines = 2;
  spec.uplink = 50_GB_per_s;
  spec.planes = routing == Routing::kSpray ? 2 : 1;
  spec.switch_latency = 200_ns;
  spec.routing.routing = routing;
  return {"planes", "", "", spec};
}

sim::LinkId Find(const Fabric& fabric, const std::string& name) {
  for (std::size_t l = 0; l < fabric.links.size(); ++l) {
    if (fabric.LinkName(sim::LinkId(l)) == name) return sim::LinkId(l);
  }
  ADD_FAILURE() << "no link " << name;
  return sim::LinkId(0);
}
const Link& LinkOf(const Fabric& fabric, const std::string& name) {
  return fabric.links[Find(fabric, name).pos()];
}

TEST(Faults, AStarStandsForAnyCharacters) {
  for (const auto& [pattern, name, matches] :
       {std::tuple("node3/nic5", "node3/nic5", true), std::tuple("node3/nic5", "node3/nic50", false),
        std::tuple("node3/*", "node3/nic5", true), std::tuple("node3/*", "node33/nic5", false),
        std::tuple("*/nic5", "node3/nic5", true), std::tuple("*", "", true), std::tuple("", "a", false),
        std::tuple("n*e*5", "node3/nic5", true), std::tuple("n*e*5", "node3/nic51", false),
        std::tuple("*5*", "node3/nic51", true), std::tuple("**5", "node3/nic5", true)}) {
    EXPECT_EQ(Matches(pattern, name), matches) << pattern << ' ' << name;
  }
}

TEST(Faults, ACableAtHalfRateIsHalfAsFastBothWays) {
  LinkFault half = Between("node3/nic5", "rail5/leaf*");
  half.rate_factor = 0.5;
  const Fabric fabric = MustBuild(With(SmallRails(), half), TestNode(8, 8), 32);
  EXPECT_EQ(LinkOf(fabric, "node3/nic5 -> rail5/leaf1").capacity, 25_GB_per_s);
  EXPECT_EQ(LinkOf(fabric, "rail5/leaf1 -> node3/nic5").capacity, 25_GB_per_s);
  std::size_t slower = 0;
  for (const Link& link : fabric.links) slower += link.capacity < 50_GB_per_s ? 1 : 0;
  EXPECT_EQ(slower, 2u);
  half.one_way = true;
  const Fabric one = MustBuild(With(SmallRails(), half), TestNode(8, 8), 32);
  EXPECT_EQ(LinkOf(one, "node3/nic5 -> rail5/leaf1").capacity, 25_GB_per_s);
  EXPECT_EQ(LinkOf(one, "rail5/leaf1 -> node3/nic5").capacity, 50_GB_per_s);
}

TEST(Faults, ABundleLosesThePartOfItsFailedCables) {
  LinkFault uplink = Between("rail5/leaf0", "rail5/spine*");
  uplink.failed_cables = 1;
  const Fabric fabric = MustBuild(With(SmallRails(), uplink), TestNode(8, 8), 32);
  EXPECT_EQ(LinkOf(fabric, "rail5/leaf0 -> rail5/spine0").capacity, 50_GB_per_s);  // one of two cables
  EXPECT_EQ(LinkOf(fabric, "rail5/leaf1 -> rail5/spine0").capacity, 100_GB_per_s);
  uplink.failed_cables = 3;
  EXPECT_THAT(ErrorOf(With(SmallRails(), uplink), TestNode(8, 8), 32),
              AllOf(HasSubstr("faults[0]: "), HasSubstr("rail5/leaf0 -> rail5/spine0 has 2 cables, not 3")));
}

TEST(Faults, AddedLatencyIsOnEveryRouteThatCrosses) {
  LinkFault late = Between("node0/nic0", "rail0/leaf0");
  late.slower = 700_ns;
  const Fabric healthy = MustBuild(SmallRails(), TestNode(8, 8), 32);
  const Fabric fabric = MustBuild(With(SmallRails(), late), TestNode(8, 8), 32);
  for (std::uint32_t to = 8; to < 32; ++to) {
    const bool crosses = to % 8 == 0;
    EXPECT_EQ(fabric.router->Between(0, to).latency,
              healthy.router->Between(0, to).latency + (crosses ? 700_ns : 0_ns));
    ExpectConnects(fabric, to, 0);
  }
}

TEST(Faults, AFailedNicIsPassedByItsNeighbours) {
  const Fabric fabric = MustBuild(With(SmallRails(), Failed("node1/nic1", "rail1/leaf0")), TestNode(4, 4), 8);
  const auto path = [&](std::uint32_t from, std::uint32_t to) {
    return PathText(fabric, fabric.router->Between(from, to));
  };
  // Out over NVLink to the neighbour's NIC; in from that NIC through the host.
  EXPECT_EQ(path(5, 1),
            "node1/gpu1 -> node1/nvswitch -> node1/gpu2 -> node1/pcie2 -> node1/nic2 -> rail2/leaf0 -> "
            "node0/nic2 -> node0/pcie2 -> node0/host -> node0/pcie1 -> node0/gpu1");
  EXPECT_EQ(path(1, 5),
            "node0/gpu1 -> node0/nvswitch -> node0/gpu2 -> node0/pcie2 -> node0/nic2 -> rail2/leaf0 -> "
            "node1/nic2 -> node1/pcie2 -> node1/host -> node1/pcie1 -> node1/gpu1");
  EXPECT_EQ(path(0, 4), PathText(fabric, MustBuild(SmallRails(), TestNode(4, 4), 8).router->Between(0, 4)));
}

// Whatever single cable is cut, all who can still reach each other have a route without it; else
// the error names who cannot.
TEST(Faults, AnyFailedCableIsGoneRoundOrNamed) {
  for (const TopologySpec& topology : {SmallRails(), OneSwitch(), TwoPlanes(), TwoPlanes(Routing::kEcmp),
                                       TwoPlanes(Routing::kDestination)}) {
    for (const sim::NodeShape& node : {TestNode(2, 2), WithoutNvlink(TestNode(2, 1))}) {
      const Fabric healthy = MustBuild(topology, node, 6);
      std::size_t cut_off = 0;
      for (std::size_t l = 0; l < healthy.links.size(); l += 2) {
        const Link& cable = healthy.links[l];
        const std::string a = healthy.vertices[cable.from.pos()].name,
                          b = healthy.vertices[cable.to.pos()].name;
        SCOPED_TRACE(topology.name + ": " + a + " <-> " + b);
        const auto broken = BuildFabric(With(topology, Failed(a, b)), node, 6);
        if (!broken.ok()) {
          EXPECT_THAT(broken.error().message, HasSubstr("do not reach each other"));
          ++cut_off;
          continue;
        }
        ExpectAllPairsConnect(broken.value());
        for (std::uint32_t from = 0; from < 6; ++from) {
          for (std::uint32_t to = 0; to < 6; ++to) {
            if (from == to) continue;
            for (const RouteUse& use : broken.value().router->Between(from, to).uses) {
              EXPECT_FALSE(broken.value().links[use.link.pos()].failed);
            }
          }
        }
      }
      // A device is cut off by its PCIe lane alone if nothing else leads to it, and its NIC by
      // any cable of its own if it is the only one.
      EXPECT_EQ(cut_off > 0, node.nvlink == sim::ByteRate()) << topology.name;
    }
  }
}

TEST(Faults, AFailedPlaneLeavesTheOthers) {
  const Fabric fabric = MustBuild(With(TwoPlanes(), Failed("node0/nic0", "plane1/*")), TestNode(1, 1), 3);
  EXPECT_EQ(fabric.router->Between(0, 1).denominator, 1u);
  EXPECT_EQ(fabric.router->Between(2, 1).denominator, 2u);
  ExpectAllPairsConnect(fabric);
}

TEST(Faults, WhatCannotBeIsRefusedByItsPosition) {
  TopologySpec topology = With(SmallRails(), Failed("node0/nic0", "rail0/leaf0"));
  EXPECT_THAT(ErrorOf(With(topology, Failed("node0/nci1", "*")), TestNode(4, 4), 8),
              AllOf(HasSubstr("topology \"small rails\": faults[1]: \"node0/nci1\""),
                    HasSubstr("did you mean \"node0/nic1\"?")));
  EXPECT_THAT(ErrorOf(With(topology, Failed("node0/nic0", "node1/*")), TestNode(4, 4), 8),
              HasSubstr("no link joins \"node0/nic0\" to \"node1/*\""));
  LinkFault slow = Between("node0/nic0", "*");
  slow.rate_factor = 1e-9;
  EXPECT_THAT(ErrorOf(With(SmallRails(), slow), TestNode(4, 4), 8), HasSubstr("less than 1 kB/s"));
  EXPECT_THAT(
      ErrorOf(With(OneSwitch(), Failed("node1/gpu0", "*")), TestNode(1, 1), 3),
      AllOf(HasSubstr("disconnected"), HasSubstr("node0/gpu0 and node1/gpu0 do not reach each other")));
}

TEST(Faults, OfAListedFabricAreGoneRoundAsWell) {
  // A square: two ways of two links between opposite corners.
  ExplicitSpec square;
  for (const char* name : {"a", "b", "c", "d"}) square.nodes.push_back({name, VertexKind::kDevice});
  for (const auto& [from, to] :
       {std::pair("a", "b"), std::pair("b", "c"), std::pair("c", "d"), std::pair("d", "a")}) {
    square.links.push_back({from, to, 10_GB_per_s, 1_us, true});
  }
  const TopologySpec topology{"square", "", "", square};
  const Fabric fabric = MustBuild(With(topology, Failed("a", "b")), sim::NodeShape(), 4);
  EXPECT_EQ(PathText(fabric, fabric.router->Between(0, 1)), "a -> d -> c -> b");
}

TEST(Faults, SavesDoNotGoRoundThem) {
  const StorageSpec storage{.servers = 1, .write = 40_GB_per_s, .read = 50_GB_per_s, .frontend = {}};
  const auto error = [&](const LinkFault& fault) {
    const auto fabric = BuildFabric(With(SmallRails(), fault), TestNode(4, 4), 8, storage);
    return fabric.ok() ? "" : fabric.error().message;
  };
  EXPECT_THAT(error(Failed("node1/nic1", "rail1/leaf0")),
              AllOf(HasSubstr("node1/nic1 -> rail1/leaf0, which has failed"), HasSubstr("saves")));
  EXPECT_EQ(error(Failed("node1/gpu1", "node1/nvswitch")), "");
}

TEST(Faults, AreCountedWhereTheFabricIsPrinted) {
  EXPECT_THAT(ToText(MustBuild(With(SmallRails(), Failed("node0/nic0", "*leaf*")), TestNode(2, 2), 4)),
              HasSubstr("  NIC        3 x 2 links of 50 GB/s, 0.3 TB/s in all; 2 failed\n"));
}

}  // namespace
}  // namespace topologies
