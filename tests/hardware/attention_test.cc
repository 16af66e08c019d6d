#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hardware/device_cost_model.h"
#include "hardware/tile_model.h"
#include "tests/hardware/catalogue_device.h"

namespace hardware {
namespace {

// The slow oracle: looks at every pair of query and key.
double CountVisible(const sim::AttentionShape& shape) {
  std::int64_t visible = 0;
  for (std::int64_t q = 0; q < shape.query_length; ++q) {
    const std::int64_t last = q + shape.kv_length - shape.query_length;  // the key of the same position
    for (std::int64_t key = 0; key < shape.kv_length; ++key) {
      if (key > last) continue;
      if (shape.window > 0 && key <= last - shape.window) continue;
      ++visible;
    }
  }
  return static_cast<double>(visible) / static_cast<double>(shape.query_length);
}

TEST(VisibleKeys, EqualsTheCountOfPairs) {
  for (const std::int64_t queries : {1, 2, 7, 16}) {
    for (const std::int64_t keys : {1, 2, 7, 16, 29}) {
      for (const std::int64_t window : {0, 1, 3, 8, 40}) {
        const sim::AttentionShape shape = {.batch = 1,
                                           .query_heads = 1,
                                           .kv_heads = 1,
                                           .query_length = queries,
                                           .kv_length = keys,
                                           .head_dim = 1,
                                           .causal = true,
                                           .window = window};
        EXPECT_DOUBLE_EQ(VisibleKeys(shape), CountVisible(shape))
            << queries << " queries, " << keys << " keys, window " << window;
      }
    }
  }
}

sim::Kernel Attention(sim::AttentionKind kind, std::int64_t batch, std::int64_t heads, std::int64_t length,
                      bool causal, bool backward = false, std::int64_t window = 0) {
  sim::Kernel kernel;
  kernel.name = "attention";
  kernel.kind = backward ? sim::KernelKind::kAttentionBackward : sim::KernelKind::kAttentionForward;
  kernel.attention = {.batch = batch,
                      .query_heads = heads,
                      .kv_heads = heads,
                      .query_length = length,
                      .kv_length = length,
                      .head_dim = 128,
                      .causal = causal,
                      .window = window,
                      .implementation = kind};
  // q, k, v and the result, 2 bytes each.
  kernel.bytes = sim::Bytes(4 * 2 * batch * heads * length * 128);
  return kernel;
}

TEST(AttentionFlops, OfACausalMaskAreHalfPlusTheDiagonal) {
  const sim::AttentionShape shape = Attention(sim::AttentionKind::kFlash2, 2, 3, 1000, true).attention;
  // 4 b h d * s (s + 1) / 2
  EXPECT_DOUBLE_EQ(AttentionForwardFlops(shape), 4.0 * 2 * 3 * 128 * 1000 * 1001 / 2);
}

sim::AttentionKind KindOf(const std::string& name) {
  return name == "FLASH2"   ? sim::AttentionKind::kFlash2
         : name == "FLASH3" ? sim::AttentionKind::kFlash3
                            : sim::AttentionKind::kCudnn;
}

TEST(AttentionTimes, FollowThePublishedCurvesOfH100) {
  const DeviceCostModel model(ReadOrFail("h100_sxm"));
  double sum = 0;
  const auto rows = ReadTable("attention_published.csv");
  ASSERT_EQ(rows.size(), 36u);
  for (const auto& row : rows) {
    const bool backward = row[1] == "bwd", causal = row[2] == "1";
    const std::int64_t length = std::stoll(row[3]);
    const sim::Kernel kernel = Attention(KindOf(row[0]), 16384 / length, 16, length, causal, backward);
    const double s = static_cast<double>(length);
    const double flops = 4 * 16384.0 * s * 2048 * (causal ? 0.5 : 1) * (backward ? 2.5 : 1);
    const double tflops = flops / model.TimeOf(kernel).alone.seconds() / 1e12;
    EXPECT_NEAR(tflops / std::stod(row[4]), 1, 0.08) << row[0] << " " << row[1] << " " << length;
    sum += std::fabs(tflops / std::stod(row[4]) - 1);
  }
  EXPECT_LT(sum / 36, 0.03);
}

// Medians of vLLM's FlashAttention-2 on A100, causal, at 1k, 4k and 16k: 121, 164 and 178 TFLOP/s
// (aiconfigurator).
TEST(AttentionTimes, OfA100AreNearWhatServingMeasures) {
  const DeviceCostModel model(ReadOrFail("a100_80_sxm"));
  const std::pair<std::int64_t, double> medians[] = {{1024, 121}, {4096, 164}, {16384, 178}};
  for (const auto& [length, want] : medians) {
    const double s = static_cast<double>(length);
    const double flops = 4 * 16 * 16 * s * s * 128 / 2;
    const double got =
        flops / model.TimeOf(Attention(sim::AttentionKind::kFlash2, 16, 16, length, true)).alone.seconds() /
        1e12;
    EXPECT_NEAR(got / want, 1, 0.10) << length;
  }
}

TEST(AttentionTimes, GrowWithEveryExtentAndBackwardTakesLonger) {
  for (const Device& device : {ReadOrFail("a100_80_sxm"), ReadOrFail("h20"), ReadOrFail("b200_sxm")}) {
    const DeviceCostModel model(device);
    sim::Duration last;
    for (std::int64_t length = 1; length <= 1 << 20; length *= 2) {
      const sim::Duration time =
          model.TimeOf(Attention(sim::AttentionKind::kFlash2, 1, 8, length, true)).alone;
      EXPECT_GE(time, last) << device.name << " " << length;
      EXPECT_GE(model.TimeOf(Attention(sim::AttentionKind::kFlash2, 1, 8, length, true, true)).alone, time);
      EXPECT_GE(model.TimeOf(Attention(sim::AttentionKind::kFlash2, 1, 16, length, true)).alone, time);
      last = time;
    }
  }
}

TEST(AttentionTimes, AWindowMakesLongSequencesLinear) {
  const DeviceCostModel model(ReadOrFail("h100_sxm"));
  const auto time = [&](std::int64_t length, std::int64_t window) {
    return model.TimeOf(Attention(sim::AttentionKind::kFlash3, 1, 32, length, true, false, window))
        .alone.seconds();
  };
  EXPECT_NEAR(time(65536, 4096) / time(32768, 4096), 2, 0.08);
  EXPECT_NEAR(time(65536, 0) / time(32768, 0), 4, 0.1);
  EXPECT_LE(time(4096, 8192), time(4096, 0) * 1.05);
}

TEST(AttentionTimes, HeadsBetweenTwoEntriesUseTheLargerOne) {
  const DeviceCostModel model(ReadOrFail("h100_sxm"));
  sim::Kernel of96 = Attention(sim::AttentionKind::kFlash3, 4, 16, 8192, true);
  of96.attention.head_dim = 96;
  const sim::Kernel of128 = Attention(sim::AttentionKind::kFlash3, 4, 16, 8192, true);
  // Same rate, 96/128 of the work, and the same fixed time.
  EXPECT_NEAR(model.TimeOf(of96).alone.seconds() / model.TimeOf(of128).alone.seconds(), 0.75, 0.01);
}

TEST(AttentionTimes, ValuesNarrowerThanKeysTakeTheirShareOfTheProducts) {
  const DeviceCostModel model(ReadOrFail("h100_sxm"));
  for (const bool backward : {false, true}) {
    sim::Kernel narrow = Attention(sim::AttentionKind::kFlash3, 4, 16, 8192, true, backward);
    narrow.attention.head_dim = 192;
    sim::Kernel equal = narrow;
    narrow.attention.value_dim = 128;
    // Forward: products over 192 and 128; backward: three over 192, two over 128.
    const double share = backward ? (3 * 192 + 2 * 128) / (5 * 192.0) : (192 + 128) / (2 * 192.0);
    EXPECT_NEAR(model.TimeOf(narrow).alone.seconds() / model.TimeOf(equal).alone.seconds(), share, 0.01);
    EXPECT_NEAR(AttentionForwardFlops(narrow.attention) / AttentionForwardFlops(equal.attention), 320.0 / 384,
                1e-12);
    equal.attention.value_dim = 192;  // said or not
    EXPECT_EQ(AttentionForwardFlops(equal.attention), 4.0 * 4 * 16 * 192 * 8192 * 4096.5);
  }
}

}  // namespace
}  // namespace hardware
