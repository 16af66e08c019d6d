#include "hardware/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hardware/catalogue_device.h"

namespace hardware {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// HB-213. V100 has compute capability 7.0, T4 7.5.
TEST(Formats, Bf16NeedsCapability80) {
  for (const char* capability : {"70", "75"}) {
    const Device device = ReadOrFail("a100_80_sxm", {{1, "capability", capability}});
    EXPECT_FALSE(SupportsFormat(device, sim::NumberFormat::kBf16));
    EXPECT_THAT(WhyNotFormat(device, sim::NumberFormat::kBf16),
                AllOf(HasSubstr("BF16 needs compute capability 8.0"), HasSubstr("use FP16")));
    EXPECT_TRUE(SupportsFormat(device, sim::NumberFormat::kFp16));
    EXPECT_EQ(WhyNotFormat(device, sim::NumberFormat::kFp16), "");
    EXPECT_TRUE(SupportsFormat(device, sim::NumberFormat::kFp32));
    EXPECT_FALSE(SupportsFormat(device, sim::NumberFormat::kTf32));
  }
  for (const char* name : {"a100_80_sxm", "h100_sxm", "h20", "b200_sxm"}) {
    EXPECT_TRUE(SupportsFormat(ReadOrFail(name), sim::NumberFormat::kBf16)) << name;
  }
}

// Some tables list 624 FP8 TFLOP/s for the A100; that is its INT8.
TEST(Formats, A100HasNoFp8) {
  EXPECT_FALSE(SupportsFormat(ReadOrFail("a100_80_sxm"), sim::NumberFormat::kFp8));
  EXPECT_TRUE(SupportsFormat(ReadOrFail("h100_sxm"), sim::NumberFormat::kFp8));
}

TEST(AttentionKinds, Flash3IsForHopperAlone) {
  EXPECT_TRUE(SupportsAttention(ReadOrFail("h800_sxm"), sim::AttentionKind::kFlash3));
  EXPECT_FALSE(SupportsAttention(ReadOrFail("a100_80_sxm"), sim::AttentionKind::kFlash3));
  EXPECT_FALSE(SupportsAttention(ReadOrFail("b200_sxm"), sim::AttentionKind::kFlash3));
  for (const char* name : {"a100_80_sxm", "h20", "b200_sxm"}) {
    EXPECT_TRUE(SupportsAttention(ReadOrFail(name), sim::AttentionKind::kFlash2));
    EXPECT_TRUE(SupportsAttention(ReadOrFail(name), sim::AttentionKind::kUnfused));
  }
  EXPECT_THAT(AttentionKinds(ReadOrFail("b200_sxm")),
              testing::ElementsAre(sim::AttentionKind::kUnfused, sim::AttentionKind::kFlash2,
                                   sim::AttentionKind::kCudnn));
}

// NVLink would be the way of its devices, and the way between processors is one between bridges.
TEST(HostBridges, AreForNodesWithoutNvlink) {
  const Device l40s = ReadOrFail("l40s");
  EXPECT_GT(l40s.node.host_bridge, sim::ByteRate());
  EXPECT_LT(l40s.node.host_bridge, l40s.node.pcie);
  EXPECT_LT(l40s.node.between_sockets, l40s.node.host_bridge);
  EXPECT_EQ(ReadOrFail("h100_sxm").node.host_bridge, sim::ByteRate());

  proto::Diagnostics diagnostics;
  const std::vector<proto::Override> given = {
      {1, "node.between_sockets",
       "{bandwidth_gb_per_s_each_way: 10 efficiency: 1 latency_ns: 0 basis: ASSUMED "
       "source {title: \"none\"}}"}};
  EXPECT_FALSE(ReadDevice("h100_sxm", given, "", &diagnostics).has_value());
  EXPECT_THAT(diagnostics.errors(),
              testing::Contains(HasSubstr("missing; wanted because between_sockets is given")));
}

// The same kernels inside nodes, so no faster there: 478 GB/s of NVLS on H100.
TEST(CollectiveTimings, NvlsTreeIsHeldToWhatNvlsReachesInsideANode) {
  for (const char* name : {"h100_sxm", "b200_sxm"}) {
    sim::ByteRate nvls, tree;
    for (const CollectiveTiming& timing : ReadOrFail(name).collective_timing) {
      if (timing.algorithm == sim::Algorithm::kNvls) nvls = timing.limit_inside;
      if (timing.algorithm != sim::Algorithm::kNvlsTree) continue;
      tree = timing.limit_two_nodes;
      EXPECT_EQ(timing.limit_more_nodes, tree);
    }
    EXPECT_GT(nvls, sim::ByteRate());
    EXPECT_EQ(tree, nvls);
  }
}

}  // namespace
}  // namespace hardware
