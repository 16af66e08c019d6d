// What several tests of topologies/ need.

#ifndef TESTS_TOPOLOGIES_FABRIC_TESTING_H_
#define TESTS_TOPOLOGIES_FABRIC_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topologies/topology.h"

namespace topologies {

using namespace sim::literals;

// A node with round figures, none of them equal.
inline sim::NodeShape TestNode(std::int32_t devices, std::int32_t nics) {
  sim::NodeShape node;
  node.name = "test node";
  node.devices = devices;
  node.nvlink = 450_GB_per_s;
  node.nvlink_latency = 300_ns;
  node.pcie = 60_GB_per_s;
  node.pcie_latency = 400_ns;
  node.nics = nics;
  node.nic = 50_GB_per_s;
  node.nic_latency = 500_ns;
  node.host_memory = 500_GB_per_s;
  return node;
}

inline sim::NodeShape WithoutNvlink(sim::NodeShape node) {
  node.nvlink = sim::ByteRate();
  return node;
}

// Two nodes a leaf and two cables up, so that small fabrics have spines.
inline TopologySpec SmallRails() {
  TopologySpec spec;
  spec.name = "small rails";
  spec.family = RailOptimisedSpec{2, 2, 50_GB_per_s, 200_ns, 0};
  return spec;
}

inline TopologySpec OneSwitch(sim::ByteRate port = {}) {
  TopologySpec spec;
  spec.name = "one switch";
  spec.family = SingleSwitchSpec{port, 200_ns, 0};
  return spec;
}

inline TopologySpec OneNode() { return {"one node", "", "", SingleNodeSpec{}}; }

inline Fabric MustBuild(const TopologySpec& spec, const sim::NodeShape& node, std::int64_t devices) {
  sim::Result<Fabric> fabric = BuildFabric(spec, node, devices);
  EXPECT_TRUE(fabric.ok()) << fabric.error().message;
  return std::move(fabric).value();
}

inline std::string ErrorOf(const TopologySpec& spec, const sim::NodeShape& node, std::int64_t devices) {
  const sim::Result<Fabric> fabric = BuildFabric(spec, node, devices);
  return fabric.ok() ? "" : fabric.error().message;
}

inline std::size_t CountOf(const Fabric& fabric, VertexKind kind) {
  return static_cast<std::size_t>(std::count_if(fabric.vertices.begin(), fabric.vertices.end(),
                                                [&](const Vertex& vertex) { return vertex.kind == kind; }));
}

inline std::size_t CountOf(const Fabric& fabric, Tier tier) {
  return static_cast<std::size_t>(std::count_if(fabric.links.begin(), fabric.links.end(),
                                                [&](const Link& link) { return link.tier == tier; }));
}

// The links of a route in one tier.
inline std::vector<sim::LinkId> LinksIn(const Fabric& fabric, const Route& route, Tier tier) {
  std::vector<sim::LinkId> links;
  for (const RouteUse& use : route.uses) {
    if (fabric.links[use.link.pos()].tier == tier) links.push_back(use.link);
  }
  return links;
}

// "a -> b -> c" for a route that is one path.
inline std::string PathText(const Fabric& fabric, const Route& route) {
  std::string text;
  for (const RouteUse& use : route.uses) {
    const Link& link = fabric.links[use.link.pos()];
    if (text.empty()) text = fabric.vertices[link.from.pos()].name;
    text += " -> " + fabric.vertices[link.to.pos()].name;
  }
  return text;
}

// A route connects its ends: each link is there once, begins where an earlier
// one ended, and what flows into a vertex flows out of it, but for the ends.
// The latency is that of the longest path.
inline void ExpectConnects(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  const Route route = fabric.router->Between(from, to);
  SCOPED_TRACE(testing::Message() << "from " << from << " to " << to << ": " << PathText(fabric, route));
  const VertexId source = fabric.devices[from], destination = fabric.devices[to];
  std::map<VertexId, std::int64_t> surplus;
  std::map<VertexId, sim::Duration> reached = {{source, sim::Duration()}};
  std::set<sim::LinkId> seen;
  for (const RouteUse& use : route.uses) {
    ASSERT_LT(use.link.pos(), fabric.links.size());
    const Link& link = fabric.links[use.link.pos()];
    EXPECT_TRUE(seen.insert(use.link).second) << "used twice: " << fabric.LinkName(use.link);
    EXPECT_GE(use.parts, 1u);
    EXPECT_LE(use.parts, route.denominator);
    ASSERT_TRUE(reached.contains(link.from)) << "starts nowhere: " << fabric.LinkName(use.link);
    reached[link.to] = std::max(reached[link.to], reached[link.from] + link.latency);
    surplus[link.from] -= use.parts;
    surplus[link.to] += use.parts;
  }
  const std::int64_t all = route.denominator;
  for (const auto& [vertex, parts] : surplus) {
    EXPECT_EQ(parts, vertex == source        ? -all
                     : vertex == destination ? all
                                             : 0)
        << fabric.vertices[vertex.pos()].name;
  }
  EXPECT_EQ(route.latency, reached[destination]);
}

inline void ExpectAllPairsConnect(const Fabric& fabric) {
  const auto devices = static_cast<std::uint32_t>(fabric.devices.size());
  for (std::uint32_t from = 0; from < devices; ++from) {
    for (std::uint32_t to = 0; to < devices; ++to) {
      if (from != to) ExpectConnects(fabric, from, to);
    }
  }
}

}  // namespace topologies

#endif  // TESTS_TOPOLOGIES_FABRIC_TESTING_H_
