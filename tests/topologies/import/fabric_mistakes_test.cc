// Broken files of fabrics: a line for each mistake, at its place, and no fabric.

#include "tests/topologies/import/fabric_importing.h"

namespace topologies {
namespace {

using testing::ElementsAre;

struct Mistake {
  const char *from, *to;
  const char* error;
};

void Expect(const std::string& format, const std::string& sample, const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    EXPECT_THAT(Errors(format, With(Sample(sample), mistake.from, mistake.to)), ElementsAre(mistake.error));
  }
}

TEST(FabricMistakes, OfNcclsXml) {
  Expect("nccl_topo", "nccl_topo_4xh100.xml",
         {{"version=\"1\"", "version=\"2\"", "in.txt:1: system: version is \"2\"; only 1 is known"},
          {"</system>", "", "in.txt:47: no XML: Start-end tags mismatch"},
          {"32.0 GT/s PCIe", "33.0 GT/s PCIe",
           "in.txt:3: pci: link_speed is \"33.0 GT/s PCIe\"; 2.5, 5, 8, 16, 32 or 64 GT/s is wanted"},
          {"link_width=\"16\"", "link_width=\"-1\"",
           "in.txt:3: pci: link_width is \"-1\"; a number of 0 to 32 is wanted"},
          {"dev=\"1\"", "dev=\"0\"", "in.txt:20: gpu: gpu0 is in this file twice"},
          {"0000:3a:00.0", "0000:18:00.0", "in.txt:19: pci: busid \"0000:18:00.0\" is in this file twice"},
          {"0000:17:00.0", "0000:18:00.0", "in.txt:12: pci: busid \"0000:18:00.0\" is in this file twice"},
          {"0000:38:00.0", "0000:16:00.0", "in.txt:18: pci: busid \"0000:16:00.0\" is in this file twice"},
          {"sm=\"90\"", "sm=\"h\"", "in.txt:5: gpu: sm is \"h\"; a number of 30 to 9999 is wanted"},
          {"count=\"5\"", "count=\"0\"", "in.txt:6: nvlink: count is \"0\"; a number of 1 to 1000 is wanted"},
          {"tclass=\"0x068000\"", "tclass=\"0x030200\"",
           "in.txt:6: nvlink: target \"0000:05:00.0\" is neither an NVSwitch nor another GPU of this file"},
          {"speed=\"400000\"", "speed=\"0\"",
           "in.txt:14: net: speed is \"0\"; a number of 1 to 64000000 is wanted"}});
  EXPECT_THAT(Errors("nccl_topo", "<system version='1'/>"), ElementsAre("in.txt: names no GPU"));
  EXPECT_THAT(Errors("nccl_topo", "<graphs version='1'/>"),
              ElementsAre("in.txt: has no <system>; the XML of NCCL_TOPO_DUMP_FILE is wanted"));
}

TEST(FabricMistakes, OfNvidiaSmi) {
  Expect("nvidia_smi", "nvidia_smi_4xh100.txt",
         {{"GPU2 NV18 NV18", "GPU2 NV18 NX18",
           "in.txt:4: column 2: \"NX18\" is none of X, NV1 and up, PIX, PXB, PHB, NODE and SYS"},
          {"GPU1 NV18", "GPU1 NV17", "in.txt:3: column 1 says otherwise than line 2 of the same two"},
          {"GPU1 NV18", "GPU7 NV18", "in.txt:3: row \"GPU7\" is not \"gpu1\", the next of the header"},
          {"SYS SYS PXB NODE SYS X\n", "SYS\n", "in.txt:7: has 1 cells; 6 are wanted"},
          {"NIC1 SYS SYS PXB NODE SYS X\n", "", "in.txt: row \"nic1\" of the header is missing"},
          {"GPU0 X ", "GPU0 PIX ", "in.txt:2: column 1: X is for an element and itself"}});
  EXPECT_THAT(
      Errors("nvidia_smi", "nothing\n"),
      ElementsAre("in.txt: has no header \"GPU0 GPU1 ...\"; the output of nvidia-smi topo -m is wanted"));
  EXPECT_THAT(Errors("nvidia_smi", " GPU0 GPU0\n"), ElementsAre("in.txt:1: \"gpu0\" is in the header twice"));
  EXPECT_THAT(Errors("nvidia_smi", " GPU0 GPU1 GPU2\nGPU0 X PIX SYS\nGPU1 PIX X PIX\nGPU2 SYS PIX X\n"),
              ElementsAre("in.txt:4: gpu2 and gpu0 are nearer by way of another element than this row says"));
}

TEST(FabricMistakes, OfIbnetdiscover) {
  Expect("ibnetdiscover", "ibnetdiscover_2_leafs.txt",
         {{"lid 11 4xNDR", "lid 11 4xMDR",
           "in.txt:11: ends in no width and speed, as 4xNDR: 1, 2, 4, 8 or 12 lanes of SDR, DDR, QDR, FDR10, "
           "FDR, EDR, HDR, NDR or XDR"},
          {"[33] \"S-00000000000000b1\"[3]", "[33 \"S-00000000000000b1\"[3]",
           "in.txt:23: \"[33 \"S-00000000000000b1\"[3] # \"spine1\" lid 3 4xNDR\" is no port; [1] "
           "\"ID\"[2] # "
           "\"name\" lid 3 4xNDR is wanted"},
          {"Switch 64 \"S-00000000000000a2\"", "Switch 64 S",
           "in.txt:20: Switch: a number of ports and an id in quotes are wanted"},
          {"[2] \"S-00000000000000a1\"[34]", "[1] \"S-00000000000000a1\"[34]",
           "in.txt:32: port 1 has a cable already"},
          {"vendid", "Rt 2 \"R-1\"\nvendid", "in.txt:6: a router between subnets: one subnet is wanted"},
          {"vendid", "hello\nvendid", "in.txt:6: \"hello\" is neither an element, a port nor KEY=VALUE"}});
  EXPECT_THAT(Errors("ibnetdiscover", "#\n"),
              ElementsAre("in.txt: has no \"Switch\" or \"Ca\"; the output of ibnetdiscover is wanted"));
}

// Each cable is in the file twice, and both must say the same.
TEST(FabricMistakes, OfCablesWhoseEndsDisagree) {
  const std::string a = "Ca 1 \"H-1\" # \"n1 x\"\n", b = "Ca 1 \"H-2\" # \"n2 x\"\n";
  EXPECT_THAT(Errors("ibnetdiscover", a + "[1] \"H-2\"[1] # 4xNDR\n" + b + "[1] \"H-1\"[1] # 4xHDR\n"),
              ElementsAre("in.txt:2: the other end, \"H-2\" port 1, has another width or speed at line 4",
                          "in.txt:4: the other end, \"H-1\" port 1, has another width or speed at line 2"));
  EXPECT_THAT(Errors("ibnetdiscover", a + "[1] \"H-2\"[1] # 4xNDR\n" + b),
              ElementsAre("in.txt:2: the other end, \"H-2\" port 1, does not lead back here"));
  EXPECT_THAT(Errors("ibnetdiscover", a + "[1] \"H-3\"[1] # 4xNDR\n"),
              ElementsAre("in.txt:2: \"H-3\" is no element of this file"));
}

TEST(FabricMistakes, OfNumbersThatFillNoNodes) {
  proto::Diagnostics diagnostics;
  EXPECT_FALSE(
      Imported("nccl_topo", Sample("nccl_topo_4xh100.xml"), &diagnostics, std::nullopt, 6).has_value());
  EXPECT_THAT(diagnostics.errors(), ElementsAre("in.txt: has 4 GPUs; 6 devices do not fill nodes of them"));
}

}  // namespace
}  // namespace topologies
