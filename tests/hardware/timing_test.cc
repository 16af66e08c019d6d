// What the tile model says beside seconds, and how well a kernel is known: by hand on a device made for it.

#include <gtest/gtest.h>

#include "hardware/device_cost_model.h"
#include "hardware/kernel_basis.h"
#include "tests/hardware/catalogue_device.h"

namespace hardware {
namespace {

// 100 SMs of 10^13 FLOP/s and 10^12 B/s of memory, without caches, starts beyond 1 us, or loads that cost.
GemmModel Plain() {
  return {.kind = GemmModelKind::kTiles,
          .peak_flops_per_s = 1e15,
          .efficiency = 1,
          .relative_128x128 = 0.9,
          .relative_128x64 = 0.5,
          .most_parts = 1,
          .fixed_s = 1e-6,
          .l2_sm_bytes_per_s = 1e30,
          .sm_memory_ratio = 1e12,
          .memory_efficiency = 1,
          .norm = 1};
}

constexpr Share kPlain{.sms = 100, .memory_bytes_per_s = 1e12, .sms_of_whole_device = 100};

GemmTiming Timing(const GemmModel& model, const sim::GemmShape& shape) {
  return TimingOf(model, WorkOfProduct(shape, sim::NumberFormat::kBf16), 1, kPlain);
}

// 10 x 10 tiles of 256x128 are one wave of 64 steps of k, each 2 256 128 / 10^13 s: 0.4194304 us. The memory
// moves 2 (2560 64 + 64 1280 + 2560 1280) = 7,045,120 B in 7.04512 us. With p = 1 both add up, and 1 us.
TEST(TimingOf, AddsStartMatrixUnitsAndMemoryOfOneWave) {
  const GemmTiming t = Timing(Plain(), {2560, 1280, 64, 1});
  EXPECT_EQ(t.tile_m, 256);
  EXPECT_EQ(t.tile_n, 128);
  EXPECT_EQ(t.parts, 1);
  EXPECT_DOUBLE_EQ(t.waves, 1);
  EXPECT_DOUBLE_EQ(t.start_s, 1e-6);
  EXPECT_NEAR(t.compute_s, 0.4194304e-6, 1e-16);
  EXPECT_NEAR(t.memory_s, 7.04512e-6, 1e-15);
  EXPECT_NEAR(t.seconds, 8.4645504e-6, 1e-15);
}

// One row more needs 11 x 10 tiles of 256x128, two waves. 21 x 10 of 128x128 are three waves of tiles that
// take 1/2 / 0.9 as long: 1.667 of the one above. All that are smaller take 2.25 and more.
TEST(TimingOf, TakesSmallerTilesWhereAWaveWouldBeNearlyEmpty) {
  const GemmTiming t = Timing(Plain(), {2561, 1280, 64, 1});
  EXPECT_EQ(t.tile_m, 128);
  EXPECT_EQ(t.tile_n, 128);
  EXPECT_DOUBLE_EQ(t.waves, 2.1);
  EXPECT_NEAR(t.compute_s, 0.4194304e-6 * 3 / 2 / 0.9, 1e-15);
}

// 256 x 128 by k of 65,536. 4 x 2 tiles of 64x64 in 8 parts are 64 of 100 SMs: 8,192 steps of
// 2 64 64 / (0.5 10^13) s, and 8 8 256 128 B of sums. 16 parts would be two waves.
TEST(TimingOf, CutsKWhereSmsWouldIdle) {
  GemmModel model = Plain();
  model.most_parts = 16;
  const GemmTiming t = Timing(model, {256, 128, 65'536, 1});
  EXPECT_EQ(t.tile_m, 64);
  EXPECT_EQ(t.tile_n, 64);
  EXPECT_EQ(t.parts, 8);
  EXPECT_DOUBLE_EQ(t.waves, 0.64);
  EXPECT_NEAR(t.compute_s, 8192 * 1.6384e-9 + 2.097152e-6, 1e-13);
}

// One row by a kernel of its own takes a nanosecond a step of k, whatever n is, and no tile.
TEST(TimingOf, NamesNoTileWhereThereIsNone) {
  GemmModel rows = Plain();
  rows.row_k_s = 1e-9;
  const GemmTiming t = Timing(rows, {1, 12'800, 128, 1});
  EXPECT_EQ(t.tile_m, 0);
  EXPECT_NEAR(t.compute_s, 1.28e-7, 1e-17);
  GemmModel roofline = Plain();
  roofline.kind = GemmModelKind::kRoofline;
  const GemmTiming flat = Timing(roofline, {1000, 1000, 1000, 1});
  EXPECT_EQ(flat.tile_m, 0);
  EXPECT_DOUBLE_EQ(flat.compute_s, 2e-6);
  EXPECT_DOUBLE_EQ(flat.memory_s, 6e-6);
  EXPECT_DOUBLE_EQ(flat.seconds, 7e-6);
}

KernelBasis Of(const Device& device, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1,
               sim::NumberFormat format = sim::NumberFormat::kBf16) {
  sim::Kernel kernel = Gemm(m, n, k, batch);
  kernel.format = format;
  return BasisOf(device, kernel);
}

// The fit of H100 is of 1 to 32,768 rows, n and k of 128 to 16,384 (docs/kernels.md); H800's is H100's.
TEST(KernelBasis, OfAProductSaysWhereAFitEnds) {
  const Device h100 = ReadOrFail("h100_sxm");
  EXPECT_EQ(Of(h100, 1, 128, 128), KernelBasis::kFit);
  EXPECT_EQ(Of(h100, 32'768, 16'384, 16'384), KernelBasis::kFit);
  EXPECT_EQ(Of(h100, 32'769, 16'384, 16'384), KernelBasis::kExtrapolation);
  EXPECT_EQ(Of(h100, 4096, 127, 4096), KernelBasis::kExtrapolation);
  EXPECT_EQ(Of(h100, 4096, 4096, 16'385), KernelBasis::kExtrapolation);
  EXPECT_EQ(Of(h100, 4096, 4096, 4096, 2), KernelBasis::kExtrapolation);
  EXPECT_EQ(Of(h100, 4096, 4096, 4096, 1, sim::NumberFormat::kTf32), KernelBasis::kAssumed);
  EXPECT_EQ(Of(ReadOrFail("h800_sxm"), 4096, 4096, 4096), KernelBasis::kDerived);
}

TEST(KernelBasis, OfAttentionEndsAtTheWidestHead) {
  const Device h100 = ReadOrFail("h100_sxm");
  sim::Kernel kernel;
  kernel.kind = sim::KernelKind::kAttentionForward;
  kernel.attention = {.batch = 1, .query_heads = 8, .kv_heads = 8, .query_length = 512, .kv_length = 512};
  std::int64_t widest = 0;
  for (const AttentionModel& model : h100.attention) {
    if (model.implementation == sim::AttentionKind::kFlash2) widest = std::max(widest, model.head_dim);
  }
  kernel.attention.head_dim = widest;
  EXPECT_NE(BasisOf(h100, kernel), KernelBasis::kExtrapolation);
  kernel.attention.head_dim = widest + 1;
  EXPECT_EQ(BasisOf(h100, kernel), KernelBasis::kExtrapolation);
}

constexpr const char* kMeasured = R"(
derived_from: "h100_sxm"
measured_gemm {
  formats: BF16
  formats: FP16
  points { m: 8192 n: 4096 k: 4096 us: 400.125 }
  points { m: 1 n: 4096 k: 4096 us: 0.5 }
  basis: MEASURED
  source { title: "made for the tests" }
}
)";

std::optional<Device> ReadText(const std::string& name, const std::string& text,
                               proto::Diagnostics* diagnostics) {
  const std::string path = testing::TempDir() + "timing_test_" + name + ".textproto";
  std::ofstream(path) << "name: \"" << name << "\" basis: MEASURED source { title: \"made for the tests\" }\n"
                      << text;
  return ReadDevice(path, {}, "", diagnostics);
}

// The product that was measured takes its time, below the least time of kernels too; its neighbours and one
// with an epilogue do not. Beside communication it is slowed down as the model is.
TEST(MeasuredProducts, TakeTheirTimeWhereTheShapeIsExactlyTheirs) {
  proto::Diagnostics diagnostics;
  const auto device = ReadText("exact", kMeasured, &diagnostics);
  ASSERT_TRUE(device) << testing::PrintToString(diagnostics.errors());
  const DeviceCostModel cost(*device), bare(ReadOrFail("h100_sxm"));
  for (const sim::NumberFormat format : {sim::NumberFormat::kBf16, sim::NumberFormat::kFp16}) {
    sim::Kernel kernel = Gemm(8192, 4096, 4096);
    kernel.format = format;
    EXPECT_EQ(cost.TimeOf(kernel).alone, sim::Duration::FromSeconds(400.125e-6));
    EXPECT_NEAR(cost.TimeOf(kernel).beside_communication.seconds() / 400.125e-6,
                bare.TimeOf(kernel).beside_communication.seconds() / bare.TimeOf(kernel).alone.seconds(),
                1e-6);
    EXPECT_EQ(BasisOf(*device, kernel), KernelBasis::kMeasurement);
  }
  EXPECT_EQ(cost.TimeOf(Gemm(1, 4096, 4096)).alone, sim::Duration::FromSeconds(0.5e-6));
  sim::Kernel accumulates = Gemm(8192, 4096, 4096);
  accumulates.bytes = sim::Bytes(std::int64_t{1} << 30);
  sim::Kernel eight_bits = Gemm(8192, 4096, 4096);
  eight_bits.format = sim::NumberFormat::kFp8;
  for (const sim::Kernel& other :
       {Gemm(8192, 4096, 4097), Gemm(8192, 4096, 4096, 2), accumulates, eight_bits}) {
    EXPECT_EQ(cost.TimeOf(other).alone, bare.TimeOf(other).alone);
    EXPECT_NE(BasisOf(*device, other), KernelBasis::kMeasurement);
  }
}

TEST(MeasuredProducts, OfAnotherDeviceAreDerived) {
  proto::Diagnostics diagnostics;
  ASSERT_TRUE(ReadText("base", kMeasured, &diagnostics));
  const auto device = ReadText("other", "derived_from: \"timing_test_base\"", &diagnostics);
  ASSERT_TRUE(device) << testing::PrintToString(diagnostics.errors());
  EXPECT_EQ(BasisOf(*device, Gemm(8192, 4096, 4096)), KernelBasis::kDerived);
  const Figure* figure = FindFigure(*device, "measured_gemm[0]");
  ASSERT_NE(figure, nullptr);
  EXPECT_EQ(figure->value, "formats: BF16 formats: FP16 points: 2 of them");
}

TEST(MeasuredProducts, AreRefusedAtTheirPlace) {
  proto::Diagnostics diagnostics;
  const auto device = ReadText("wrong", R"(derived_from: "h100_sxm"
measured_gemm {
  formats: NVFP4
  points { m: 8 n: 16 k: 16 us: 1 }
  points { m: 8 n: 16 k: 16 us: 2 }
  points { m: 0 n: 16 k: 16 us: 0 }
  points { m: 8 n: 16 us: 1 }
  basis: MEASURED
  source { title: "made for the tests" }
}
gemm {
  formats: BF16
  roofline { efficiency: 0.5 memory_efficiency: 0.5 fixed_us: 1 }
  fitted_from { m: 8 n: 8 k: 8 }
  basis: ASSUMED
  source { title: "made for the tests" }
}
gemm {
  formats: FP16
  roofline { efficiency: 0.5 memory_efficiency: 0.5 fixed_us: 1 }
  fitted_from { m: 8 n: 8 k: 8 }
  fitted_to { m: 8 n: 7 k: 8 }
  basis: ASSUMED
  source { title: "made for the tests" }
}
)",
                               &diagnostics);
  EXPECT_FALSE(device);
  std::string all;
  for (const std::string& error : diagnostics.errors()) all += error + '\n';
  for (const char* part :
       {":4:3: measured_gemm[0].formats[0]: NVFP4 has measured products and no gemm model",
        ":6:3: measured_gemm[0].points[1]: NVFP4 of 8 x 16 x 16 is given twice",
        "measured_gemm[0].points[2].m: 0 is out of range", "measured_gemm[0].points[2].us: 0 is out of range",
        "measured_gemm[0].points[3].k: missing",
        "gemm[0].fitted_to: missing; wanted because fitted_from is given",
        "gemm[1].fitted_to.n: 7 is below fitted_from's 8"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
}

}  // namespace
}  // namespace hardware
