// Fabrics of other programs: what comes out of a file of each format.

#include "tests/topologies/import/fabric_importing.h"

namespace topologies {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Fabric MustImport(const std::string& format, const std::string& text,
                  std::optional<sim::NodeShape> node = std::nullopt, std::int64_t devices = 0) {
  proto::Diagnostics diagnostics;
  const auto imported = Imported(format, text, &diagnostics, std::move(node), devices);
  EXPECT_THAT(diagnostics.errors(), IsEmpty());
  return Rebuilt(imported.value());
}

// 18 NVLinks of 20.6 GB/s; 16 lanes of 24 Gb/s are 48 GB/s, of 12 Gb/s 24; where the speed is unknown 16 of 6
// Gb/s, 12 GB/s; two Xeons of model 143 at 22 GB/s. Each GPU's NVSwitches are one.
TEST(NcclTopo, GivesEachLinkItsRate) {
  const Fabric fabric = MustImport("nccl_topo", Sample("nccl_topo_4xh100.xml"));
  EXPECT_EQ(fabric.devices.size(), 4u);
  for (const char* gpu : {"node0/gpu0", "node0/gpu1", "node0/gpu2", "node0/gpu3"}) {
    EXPECT_NEAR(Rate(fabric, gpu, "node0/nvswitch"), 18 * 20.6, 1e-9) << gpu;
  }
  EXPECT_EQ(Rate(fabric, "node0/gpu0", "node0/pci-0000:16:00.0"), 48);
  EXPECT_EQ(Rate(fabric, "node0/pci-0000:16:00.0", "node0/cpu0"), 48);
  EXPECT_EQ(Rate(fabric, "node0/nic-mlx5_0", "node0/pci-0000:16:00.0"), 48);
  EXPECT_EQ(Rate(fabric, "node0/nic-mlx5_1", "node0/pci-0000:98:00.0"), 24);
  EXPECT_EQ(Rate(fabric, "node0/gpu3", "node0/cpu1"), 12);
  EXPECT_EQ(Rate(fabric, "node0/cpu0", "node0/cpu1"), 22);
  EXPECT_EQ(fabric.domain, (std::vector<std::uint32_t>{0, 0, 0, 0}));
}

// 400 Gb/s is 50 GB/s; two ports of 100 Gb/s on one adapter are 25.
TEST(NcclTopo, CopiesOfANodeMeetAtTheirNicsRates) {
  const Fabric fabric = MustImport("nccl_topo", Sample("nccl_topo_4xh100.xml"), std::nullopt, 8);
  EXPECT_EQ(fabric.devices.size(), 8u);
  EXPECT_EQ(Rate(fabric, "node1/nic-mlx5_0", "network"), 50);
  EXPECT_EQ(Rate(fabric, "node0/nic-mlx5_1", "network"), 25);
  EXPECT_EQ(fabric.domain, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  ExpectAllPairsConnect(fabric);
}

// Three links of compute capability 8.0 from GPU to GPU: 3 * 20 GB/s.
TEST(NcclTopo, GpusMayBeLinkedDirectly) {
  const std::string gpu =
      "<cpu numaid='0' arch='x86_64' vendor='AuthenticAMD'>"
      "<pci busid='a' link_speed='16.0 GT/s PCIe' link_width='16'><gpu dev='0' sm='80'>"
      "<nvlink target='b' count='3' tclass='0x030200'/></gpu></pci>"
      "<pci busid='b' link_speed='16.0 GT/s PCIe' link_width='16'><gpu dev='1' sm='80'>"
      "<nvlink target='a' count='3' tclass='0x030200'/></gpu></pci></cpu>";
  const Fabric fabric = MustImport("nccl_topo", "<system version='1'>" + gpu + "</system>");
  EXPECT_EQ(Rate(fabric, "node0/gpu0", "node0/gpu1"), 60);
  EXPECT_EQ(Rate(fabric, "node0/gpu1", "node0/cpu0"), 24);
}

// TestNode: NVLink 450, PCIe 60, NIC 50 GB/s. GPU0 and NIC0 share a switch (PIX), GPU2 and NIC1 an upper one
// (PXB); GPU1 and GPU3 are with them at their processors.
TEST(NvidiaSmi, BuildsTheTreeThatGivesEveryPairItsClass) {
  const Fabric fabric = MustImport("nvidia_smi", Sample("nvidia_smi_4xh100.txt"));
  EXPECT_EQ(fabric.devices.size(), 4u);
  EXPECT_EQ(Rate(fabric, "node0/gpu3", "node0/nvswitch"), 450);
  EXPECT_EQ(Rate(fabric, "node0/gpu0", "node0/pci0"), 60);
  EXPECT_EQ(Rate(fabric, "node0/nic0", "node0/pci0"), 60);
  EXPECT_EQ(Rate(fabric, "node0/pci0", "node0/cpu0"), 60);
  EXPECT_EQ(Rate(fabric, "node0/gpu1", "node0/pci1"), 60);
  EXPECT_EQ(Rate(fabric, "node0/pci1", "node0/cpu0"), 60);
  EXPECT_EQ(Rate(fabric, "node0/pci2", "node0/pci-upper2"), 60);  // gpu2
  EXPECT_EQ(Rate(fabric, "node0/pci5", "node0/pci-upper2"), 60);  // nic1
  EXPECT_EQ(Rate(fabric, "node0/pci-upper2", "node0/cpu2"), 60);
  EXPECT_EQ(Rate(fabric, "node0/cpu0", "node0/cpu2"), 60);
}

// As it is in a terminal: columns by tabs, the header underlined.
TEST(NvidiaSmi, TabsAndUnderliningSayNothing) {
  std::string text = "\x1b[4m" + Sample("nvidia_smi_4xh100.txt");
  std::replace(text.begin(), text.end(), ' ', '\t');
  text = With(text, "GPU\tNUMA\tID", "GPU NUMA ID\x1b[0m");
  proto::Diagnostics diagnostics;
  EXPECT_EQ(Imported("nvidia_smi", text, &diagnostics).value().text,
            Imported("nvidia_smi", Sample("nvidia_smi_4xh100.txt"), &diagnostics).value().text);
}

// Of a GPU with three NVLinks two go to one neighbour: 450 * 2/3 and 450 * 1/3.
TEST(NvidiaSmi, PairsWithoutASwitchHaveTheirPartsOfTheRate) {
  const Fabric fabric =
      MustImport("nvidia_smi", " GPU0 GPU1 GPU2\nGPU0 X NV2 NV1\nGPU1 NV2 X NV1\nGPU2 NV1 NV1 X\n");
  EXPECT_EQ(Rate(fabric, "node0/gpu0", "node0/gpu1"), 300);
  EXPECT_EQ(Rate(fabric, "node0/gpu1", "node0/gpu2"), 150);
}

// 4xNDR is 400 Gb/s, 50 GB/s; 4xHDR 25. Two cables between a leaf and the spine are one link of 100.
TEST(Ibnetdiscover, GivesSwitchesAdaptersAndCables) {
  const Fabric fabric = MustImport("ibnetdiscover", Sample("ibnetdiscover_2_leafs.txt"));
  EXPECT_EQ(fabric.devices.size(), 4u);
  EXPECT_EQ(Rate(fabric, "node1/mlx5_0", "leaf1"), 50);
  EXPECT_EQ(Rate(fabric, "node2/mlx5_1", "leaf2"), 25);
  EXPECT_EQ(Rate(fabric, "leaf1", "spine1"), 100);
  EXPECT_EQ(Rate(fabric, "spine1", "leaf2"), 50);
  EXPECT_EQ(Rate(fabric, "node2/gpu1", "node2/mlx5_1"), 25);
  EXPECT_EQ(fabric.domain, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(fabric.rail, (std::vector<std::uint32_t>{0, 1, 0, 1}));
  std::map<std::string, VertexKind> kinds;
  for (const Vertex& vertex : fabric.vertices) kinds[vertex.name] = vertex.kind;
  EXPECT_EQ(kinds["spine1"], VertexKind::kSpine);
  EXPECT_EQ(kinds["leaf2"], VertexKind::kLeaf);
  ExpectAllPairsConnect(fabric);
}

TEST(Ibnetdiscover, ANamedDeviceGivesTheNodesTheirNvlinkAndPcie) {
  const Fabric fabric = MustImport("ibnetdiscover", Sample("ibnetdiscover_2_leafs.txt"), TestNode(8, 8));
  EXPECT_EQ(Rate(fabric, "node1/gpu0", "node1/nvswitch"), 450);
  EXPECT_EQ(Rate(fabric, "node1/gpu0", "node1/mlx5_0"), 60);
}

TEST(FabricImport, SaysWhatWasAssumed) {
  proto::Diagnostics diagnostics;
  const auto imported = Imported("ibnetdiscover", Sample("ibnetdiscover_2_leafs.txt"), &diagnostics);
  ASSERT_TRUE(imported.has_value());
  EXPECT_THAT(imported->notes, Contains("left out: aggregation nodes of switches (SHARP)"));
  EXPECT_THAT(imported->notes, Contains("left out: 1 adapters without a cable"));
  EXPECT_THAT(imported->text, HasSubstr("#   one GPU is put beside each adapter: the file knows none\n"));
  EXPECT_THAT(imported->text, HasSubstr("source { title: \"ibnetdiscover of in.txt\" }\n"));
}

}  // namespace
}  // namespace topologies
