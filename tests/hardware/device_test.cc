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

}  // namespace
}  // namespace hardware
