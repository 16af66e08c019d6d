#include "topologies/storage.h"

#include <gtest/gtest.h>

#include "tests/topologies/fabric_testing.h"

namespace topologies {
namespace {

StorageSpec Front() {
  return {.servers = 3, .write = 40_GB_per_s, .read = 50_GB_per_s, .frontend = 25_GB_per_s};
}
StorageSpec Nics() {
  StorageSpec spec = Front();
  spec.frontend = {};
  return spec;
}

Fabric With(const TopologySpec& topology, const sim::NodeShape& node, std::int64_t devices,
            const StorageSpec& storage) {
  sim::Result<Fabric> fabric = BuildFabric(topology, node, devices, storage);
  EXPECT_TRUE(fabric.ok()) << fabric.error().message;
  return std::move(fabric).value();
}

// "node0/gpu1 -> node0/pcie1, ...", with the parts where they are not 1.
std::string TextOf(const Fabric& fabric, const Route& route) {
  std::string text;
  for (const RouteUse& use : route.uses) {
    text += (text.empty() ? "" : ", ") + fabric.LinkName(use.link);
    if (use.parts != 1) text += " x" + std::to_string(use.parts);
  }
  return text;
}

TEST(Storage, CopiesCrossPcieAndTheHostsMemory) {
  const Fabric fabric = With(SmallRails(), TestNode(4, 4), 16, Front());
  ASSERT_EQ(fabric.storage->to_host.size(), 16u);
  EXPECT_EQ(TextOf(fabric, fabric.storage->to_host[5]),
            "node1/gpu1 -> node1/pcie1, node1/pcie1 -> node1/host, node1/host -> node1/memory");
  EXPECT_EQ(TextOf(fabric, fabric.storage->to_device[5]),
            "node1/host -> node1/memory, node1/host -> node1/pcie1, node1/pcie1 -> node1/gpu1");
  EXPECT_EQ(fabric.storage->to_host[5].latency, 800_ns);  // two hops of PCIe
}

TEST(Storage, AFrontEndIsANetworkOfItsOwn) {
  const Fabric fabric = With(SmallRails(), TestNode(4, 4), 16, Front());
  EXPECT_EQ(TextOf(fabric, fabric.storage->write[5]),
            "node1/host -> node1/memory, node1/host -> storage, storage -> disks");
  EXPECT_EQ(TextOf(fabric, fabric.storage->read[5]),
            "disks -> storage, storage -> node1/host, node1/host -> node1/memory");
  EXPECT_EQ(CountOf(fabric, Tier::kFrontend), 2u * 4);
  EXPECT_EQ(CountOf(fabric, Tier::kHostMemory), 4u);
}

// Storage is above the leafs where there is something above them.
TEST(Storage, ThroughNicsTheLinksAreThoseOfCollectives) {
  const Fabric fabric = With(SmallRails(), TestNode(4, 4), 16, Nics());
  EXPECT_EQ(TextOf(fabric, fabric.storage->write[13]),
            "node3/host -> node3/memory, node3/host -> node3/pcie1, node3/pcie1 -> node3/nic1, "
            "node3/nic1 -> rail1/leaf1, rail1/leaf1 -> rail1/spine0, storage -> disks");
  const Route read = fabric.storage->read[13];
  EXPECT_EQ(TextOf(fabric, read),
            "disks -> storage, rail1/spine0 -> rail1/leaf1, rail1/leaf1 -> node3/nic1, "
            "node3/nic1 -> node3/pcie1, node3/pcie1 -> node3/host, node3/host -> node3/memory");
  // Two hops of PCIe, the NIC, and two switches.
  EXPECT_EQ(read.latency, 800_ns + 500_ns + 2 * 200_ns);

  const Fabric one_leaf = With(SmallRails(), TestNode(4, 4), 8, Nics());
  EXPECT_EQ(TextOf(one_leaf, one_leaf.storage->write[0]),
            "node0/host -> node0/memory, node0/host -> node0/pcie0, node0/pcie0 -> node0/nic0, "
            "node0/nic0 -> rail0/leaf0, storage -> disks");
  const Fabric one_switch = With(OneSwitch(), TestNode(4, 2), 8, Nics());
  EXPECT_EQ(TextOf(one_switch, one_switch.storage->write[7]),
            "node1/host -> node1/memory, node1/host -> node1/pcie1, node1/pcie1 -> node1/nic1, "
            "node1/nic1 -> switch, storage -> disks");
}

TEST(Storage, MemoryIsCrossedAsOftenAsTheHostReadsAndWrites) {
  StorageSpec serialised = Front();
  serialised.memory_passes = 3;
  const Fabric fabric = With(OneNode(), TestNode(2, 0), 2, serialised);
  EXPECT_EQ(fabric.storage->write[1].uses.front().parts, 3u);
  EXPECT_EQ(fabric.storage->to_host[1].uses.back().parts, 1u);
}

// A job that copies to its hosts and saves nothing: a memory a node, and nothing behind it.
TEST(Storage, WithoutServersThereAreTheMemoriesAlone) {
  const StorageSpec hosts{.servers = 0};
  const Fabric fabric = With(OneNode(), TestNode(4, 4), 4, hosts);  // no NIC is cabled, and none is needed
  EXPECT_EQ(fabric.links.size(), MustBuild(OneNode(), TestNode(4, 4), 4).links.size() + 1);
  ASSERT_EQ(fabric.storage->to_host.size(), 4u);
  EXPECT_EQ(TextOf(fabric, fabric.storage->to_host[2]),
            "node0/gpu2 -> node0/pcie2, node0/pcie2 -> node0/host, node0/host -> node0/memory");
  EXPECT_TRUE(fabric.storage->write.empty() && fabric.storage->read.empty());
}

// So a program without saves is the same, link by link.
TEST(Storage, LeavesTheLinksBeforeItAsTheyAre) {
  for (const StorageSpec& spec : {Front(), Nics()}) {
    const Fabric with = With(SmallRails(), TestNode(4, 4), 16, spec);
    const Fabric without = MustBuild(SmallRails(), TestNode(4, 4), 16);
    EXPECT_EQ(without.storage, nullptr);
    ASSERT_GT(with.links.size(), without.links.size());
    for (std::size_t l = 0; l < without.links.size(); ++l) {
      EXPECT_EQ(with.LinkName(sim::LinkId(l)), without.LinkName(sim::LinkId(l)));
      EXPECT_EQ(with.links[l].capacity, without.links[l].capacity);
    }
    EXPECT_EQ(with.router->Between(0, 15).uses.front().link,
              without.router->Between(0, 15).uses.front().link);
  }
}

TEST(Storage, OfATreeIsAboveItsTopmostSwitches) {
  FatTreeSpec tree;
  tree.nodes_per_leaf = 1;
  tree.uplinks_per_leaf = tree.uplinks_per_pod = 2;
  tree.nodes_per_pod = 2;
  tree.uplink = 50_GB_per_s;
  tree.switch_latency = 200_ns;
  TopologySpec topology{"tree", "", "", tree};
  const Fabric fabric = With(topology, TestNode(2, 2), 8, Nics());
  EXPECT_EQ(TextOf(fabric, fabric.storage->write[5]),
            "node2/host -> node2/memory, node2/host -> node2/pcie1, node2/pcie1 -> node2/nic1, "
            "node2/nic1 -> leaf2, leaf2 -> pod1/spine0, pod1/spine0 -> core0, storage -> disks");
  EXPECT_EQ(TextOf(fabric, fabric.storage->read[5]),
            "disks -> storage, core0 -> pod1/spine0, pod1/spine0 -> leaf2, leaf2 -> node2/nic1, "
            "node2/nic1 -> node2/pcie1, node2/pcie1 -> node2/host, node2/host -> node2/memory");
  EXPECT_EQ(fabric.storage->write[5].latency, 1'900_ns);  // 2 of PCIe, a NIC of 500, 3 switches of 200
  std::get<FatTreeSpec>(topology.family).routing.routing = Routing::kEcmp;
  const auto hashed = BuildFabric(topology, TestNode(2, 2), 8, Nics());
  ASSERT_FALSE(hashed.ok());
  EXPECT_NE(hashed.error().message.find("FRONTEND would do"), std::string::npos);
  EXPECT_TRUE(BuildFabric(topology, TestNode(2, 2), 8, Front()).ok());
}

TEST(Storage, WhatCannotReachItIsRefused) {
  const auto refusal = [](const TopologySpec& topology, const sim::NodeShape& node, std::int64_t devices,
                          const StorageSpec& spec) {
    const sim::Result<Fabric> fabric = BuildFabric(topology, node, devices, spec);
    return fabric.ok() ? "" : fabric.error().message;
  };
  EXPECT_EQ(refusal(OneNode(), TestNode(4, 4), 4, Nics()),
            "NIC needs NICs, and this topology cables none of node \"test node\"; FRONTEND would do");
  sim::NodeShape no_pcie = TestNode(4, 0);
  no_pcie.pcie = {};
  EXPECT_EQ(refusal(OneNode(), no_pcie, 4, Front()),
            "node \"test node\" has no PCIe here, so its devices do not reach their host's memory");
  sim::NodeShape no_memory = TestNode(4, 0);
  no_memory.host_memory = {};
  EXPECT_EQ(refusal(OneNode(), no_memory, 4, Front()), "the host memory of node \"test node\" has no rate");
  TopologySpec list{"pair", "", "", ExplicitSpec{{{"gpu0"}, {"gpu1"}}, {{"gpu0", "gpu1", 9_GB_per_s, {}}}}};
  EXPECT_NE(refusal(list, TestNode(1, 0), 2, Front()).find("lists its links one by one"), std::string::npos);
}

}  // namespace
}  // namespace topologies
