#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hardware/attention_model.h"
#include "hardware/device_cost_model.h"
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
  ASSERT_EQ(rows.size(), 90u);
  for (const auto& row : rows) {
    const bool backward = row[2] == "bwd", causal = row[3] == "1";
    const std::int64_t head_dim = std::stoll(row[1]), length = std::stoll(row[4]);
    sim::Kernel kernel = Attention(KindOf(row[0]), 16384 / length, 2048 / head_dim, length, causal, backward);
    kernel.attention.head_dim = head_dim;
    const double s = static_cast<double>(length);
    const double flops = 4 * 16384.0 * s * 2048 * (causal ? 0.5 : 1) * (backward ? 2.5 : 1);
    const double tflops = flops / model.TimeOf(kernel).alone.seconds() / 1e12;
    EXPECT_NEAR(tflops / std::stod(row[5]), 1, 0.08)
        << row[0] << " " << head_dim << " " << row[2] << " " << length;
    sum += std::fabs(tflops / std::stod(row[5]) - 1);
  }
  EXPECT_LT(sum / 90, 0.025);
}

// Medians of vLLM's FlashAttention-2 on A100, causal, at 1k, 4k and 16k: 121, 164 and 178 TFLOP/s
// (aiconfigurator), with the way of keys and values into the cache.
TEST(AttentionTimes, OfA100AreNearWhatServingMeasures) {
  const DeviceCostModel model(ReadOrFail("a100_80_sxm"));
  const std::pair<std::int64_t, double> medians[] = {{1024, 121}, {4096, 164}, {16384, 178}};
  for (const auto& [length, want] : medians) {
    const double s = static_cast<double>(length);
    const double flops = 4 * 16 * 16 * s * s * 128 / 2;
    sim::Kernel kernel = Attention(sim::AttentionKind::kFlash2, 16, 16, length, true);
    kernel.attention.kv_heads = 2;
    kernel.attention.paged = true;
    EXPECT_NEAR(flops / model.TimeOf(kernel).alone.seconds() / 1e12 / want, 1, 0.10) << length;
  }
}

// One head dimension, 4 SMs, 1 TFLOP/s each in all: a pair of a query and a key of 128 dimensions takes
// 512 FLOPs, and a block of 128 queries 65,536 a key.
AttentionModel OfFourSms(double tail) {
  AttentionModel model{.implementation = sim::AttentionKind::kCudnn, .head_dim = 128};
  model.forward = {.causal_flops_per_s = 4e12, .full_flops_per_s = 4e12, .tail = tail};
  return model;
}
constexpr Share kSmallDevice = {.sms = 4, .memory_bytes_per_s = 1e15, .sms_of_whole_device = 4};
constexpr double kSecondsOfKey = 65'536 / 1e12;

double SecondsOfFour(const AttentionModel& model, const sim::AttentionShape& shape) {
  return AttentionSeconds({&model, 1}, shape, false, 0, 1, kSmallDevice);
}

TEST(AttentionBlocks, WithoutAMaskTakeWholeWaves) {
  const AttentionModel model = OfFourSms(0.5);
  // Heads of 256 queries are 2 blocks of 256 keys each.
  for (const std::int64_t heads : {1, 2, 3, 4, 5, 16, 17}) {
    const std::int64_t waves = (2 * heads + 3) / 4;
    const auto shape = Attention(sim::AttentionKind::kCudnn, 1, heads, 256, false).attention;
    EXPECT_DOUBLE_EQ(SecondsOfFour(model, shape), static_cast<double>(waves) * 256 * kSecondsOfKey) << heads;
  }
}

// The slow oracle: blocks, the longest first, are dealt to the SM that is free first.
double DealBlocks(std::int64_t heads, std::int64_t length) {
  std::vector<double> free_at(4, 0);
  for (std::int64_t keys = length; keys > 0; keys -= 128) {
    for (std::int64_t head = 0; head < heads; ++head) {
      *std::min_element(free_at.begin(), free_at.end()) += static_cast<double>(keys) * kSecondsOfKey;
    }
  }
  return *std::max_element(free_at.begin(), free_at.end());
}

TEST(AttentionBlocks, UnderAMaskTakeBetweenTheBoundsOfListScheduling) {
  for (const std::int64_t heads : {1, 2, 3, 5, 8, 32}) {
    for (const std::int64_t length : {128, 256, 1024, 4096}) {
      const auto shape = Attention(sim::AttentionKind::kCudnn, 1, heads, length, true).attention;
      const double dealt = DealBlocks(heads, length);
      EXPECT_GE(dealt * (1 + 1e-12), SecondsOfFour(OfFourSms(0), shape)) << heads << " " << length;
      EXPECT_LE(dealt * (1 - 1e-12), SecondsOfFour(OfFourSms(1), shape)) << heads << " " << length;
    }
  }
}

// Eight query heads of a key head: 16 queries of each fill one block together, where they share blocks.
TEST(AttentionBlocks, OfFlash3AreSharedByAGroupOfHeads) {
  AttentionModel model = OfFourSms(0);
  auto shape = Attention(sim::AttentionKind::kFlash3, 1, 64, 16, false).attention;
  shape.kv_length = 1024;
  shape.kv_heads = 8;
  for (const auto& [kind, waves] : {std::pair(sim::AttentionKind::kFlash3, 2),     // 8 blocks
                                    std::pair(sim::AttentionKind::kCudnn, 16)}) {  // 64
    model.implementation = shape.implementation = kind;
    EXPECT_DOUBLE_EQ(SecondsOfFour(model, shape), waves * 1024 * kSecondsOfKey);
  }
}

// Of a sequence in two parts (of pipelines, or of ranks that share it), the second sees the first's keys too:
// together they are as much work as the whole.
TEST(AttentionBlocks, OfTwoPartsAreTheWorkOfTheWhole) {
  const AttentionModel model = OfFourSms(0);
  auto part = Attention(sim::AttentionKind::kCudnn, 1, 8, 8192, true).attention;
  const double whole = SecondsOfFour(model, part);
  part.query_length = part.kv_length = 4096;
  const double first = SecondsOfFour(model, part);
  part.kv_length = 8192;
  EXPECT_NEAR(first + SecondsOfFour(model, part), whole, 1e-12 * whole);
}

// A token's own share, and bytes of its keys and values.
TEST(AttentionTimes, WithACacheTakeTheWayOfKeysIntoIt) {
  AttentionModel model = OfFourSms(0);
  model.cache_token_s = 1e-6;
  model.cache_bytes_per_s = 1e9;
  auto shape = Attention(sim::AttentionKind::kCudnn, 2, 8, 512, true).attention;
  const double alone = SecondsOfFour(model, shape);
  shape.paged = true;
  shape.kv_heads = 4;
  // 1,024 tokens, each of 4 heads x (128 + 128) numbers of 2 bytes.
  EXPECT_DOUBLE_EQ(SecondsOfFour(model, shape), alone + (1024 * 1e-6 + 1024 * 2048 / 1e9));
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

TEST(AttentionTimes, HeadsBetweenTwoWidthsTakeATimeBetweenTheirs) {
  const DeviceCostModel model(ReadOrFail("h100_sxm"));
  const auto time = [&](std::int64_t head_dim, bool backward) {
    sim::Kernel kernel = Attention(sim::AttentionKind::kFlash3, 4, 16, 8192, true, backward);
    kernel.attention.head_dim = head_dim;
    return model.TimeOf(kernel).alone.seconds();
  };
  for (const bool backward : {false, true}) {
    // A quarter and the half of the way from 64 to 128.
    EXPECT_NEAR(time(80, backward), (3 * time(64, backward) + time(128, backward)) / 4, 1e-11);
    EXPECT_NEAR(time(96, backward), (time(64, backward) + time(128, backward)) / 2, 1e-11);
    for (std::int64_t head_dim = 16; head_dim < 320; head_dim += 8) {
      EXPECT_GE(time(head_dim + 8, backward), time(head_dim, backward)) << head_dim;
    }
  }
}

TEST(AttentionTimes, ValuesNarrowerThanKeysTakeTheirShareOfTheProducts) {
  const DeviceCostModel model(ReadOrFail("h100_sxm"));
  const auto time = [&](std::int64_t keys, std::int64_t values, bool backward) {
    sim::Kernel kernel = Attention(sim::AttentionKind::kFlash3, 4, 16, 8192, true, backward);
    kernel.attention.head_dim = keys;
    kernel.attention.value_dim = values;
    return model.TimeOf(kernel).alone;
  };
  // Forward: products over 192 and 128; backward: three over 190, two over 90.
  EXPECT_EQ(time(192, 128, false), time(160, 160, false));
  EXPECT_EQ(time(190, 90, true), time(150, 150, true));
  EXPECT_EQ(time(192, 192, false), time(192, 0, false));  // said or not
  sim::AttentionShape narrow = Attention(sim::AttentionKind::kFlash3, 4, 16, 8192, true).attention;
  narrow.head_dim = 192;
  EXPECT_EQ(AttentionForwardFlops(narrow), 4.0 * 4 * 16 * 192 * 8192 * 4096.5);
  narrow.value_dim = 128;
  EXPECT_EQ(AttentionForwardFlops(narrow), 4.0 * 4 * 16 * 160 * 8192 * 4096.5);
}

std::vector<std::string> ErrorsOf(const std::vector<proto::Override>& overrides) {
  proto::Diagnostics diagnostics;
  EXPECT_FALSE(ReadDevice("h100_sxm", overrides, "", &diagnostics).has_value());
  return diagnostics.errors();
}

TEST(AttentionFigures, OfKernelsWithoutABackwardAreForCachesAlone) {
  EXPECT_THAT(ErrorsOf({{1, "attention[0].implementations[0]", "TRTLLM"}}),
              testing::ElementsAre(testing::HasSubstr(
                  "attention[0].implementations[0]: TRTLLM has no backward; wanted in paged_attention")));
  const Device device = ReadOrFail("h100_sxm");
  EXPECT_FALSE(SupportsAttention(device, sim::AttentionKind::kTrtLlm));
  EXPECT_EQ(AttentionKinds(device).size(), 4u);
}

TEST(AttentionFigures, AreOncePerImplementationAndWidthAndInRange) {
  EXPECT_THAT(
      ErrorsOf({{1, "attention[1].head_dim", "64"}, {2, "paged_attention[1].head_dim", "64"}}),
      testing::UnorderedElementsAre(testing::HasSubstr("FLASH2 is given twice for head dimension 64"),
                                    testing::HasSubstr("FLASH3 is given twice for head dimension 64")));
  EXPECT_THAT(
      ErrorsOf({{1, "attention[0].forward.tail", "1.5"}, {2, "paged_attention[0].cache_gb_per_s", "0"}}),
      testing::UnorderedElementsAre(
          testing::HasSubstr("attention[0].forward.tail: 1.5 is out of range; wanted from 0 to 1"),
          testing::HasSubstr("paged_attention[0].cache_gb_per_s: 0 is out of range")));
}

}  // namespace
}  // namespace hardware
