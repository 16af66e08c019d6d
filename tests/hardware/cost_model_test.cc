#include <gtest/gtest.h>

#include <algorithm>

#include "hardware/device_cost_model.h"
#include "sim/base/random.h"
#include "tests/hardware/catalogue_device.h"

namespace hardware {
namespace {

std::vector<Device> Devices() {
  proto::Diagnostics diagnostics;
  return ReadCatalogue(&diagnostics);
}

// BF16 everywhere but on the V100.
sim::NumberFormat HalfFormat(const Device& device) {
  return SupportsFormat(device, sim::NumberFormat::kBf16) ? sim::NumberFormat::kBf16
                                                          : sim::NumberFormat::kFp16;
}

sim::Kernel GemmFor(const Device& device, std::int64_t m, std::int64_t n, std::int64_t k,
                    std::int64_t batch = 1) {
  sim::Kernel kernel = Gemm(m, n, k, batch);
  kernel.format = HalfFormat(device);
  return kernel;
}

TEST(KernelTimes, AreNeverBelowTheMinimumAndNeverFasterBesideCommunication) {
  sim::Random random(1, "kernel shapes");
  for (const Device& device : Devices()) {
    const DeviceCostModel model(device);
    const sim::Duration minimum = sim::Duration::FromSeconds(device.minimum_kernel_s);
    for (int i = 0; i < 2000; ++i) {
      const auto extent = [&] { return std::int64_t{1} << random.Below(15); };
      sim::Kernel kernel =
          i % 2 == 0 ? GemmFor(device, extent() + random.Below(63), extent(), extent(), 1 + random.Below(4))
                     : MemoryKernel(extent() * extent());
      if (i % 4 == 0) kernel.format = sim::NumberFormat::kFp32;
      const KernelTimes times = model.TimeOf(kernel);
      ASSERT_GE(times.alone, minimum) << device.name;
      ASSERT_GE(times.beside.front(), times.alone) << device.name;
      ASSERT_TRUE(std::is_sorted(times.beside.begin(), times.beside.end())) << device.name;
      // Worst: 30 SMs are left of an H20's 78, and blocks for all of them are three rounds.
      ASSERT_LE(times.beside.back().seconds(), 3.1 * times.alone.seconds()) << device.name;
      ASSERT_GE(times.memory, sim::Duration()) << device.name;
      // At half of the memory's rate: twice as long, and clocks fall a little more.
      ASSERT_LE(times.memory.seconds(), 1.1 * times.alone.seconds()) << device.name;
    }
  }
}

TEST(KernelTimes, OfTheSmallestAndTheLargestShapesAreFinite) {
  for (const Device& device : Devices()) {
    const DeviceCostModel model(device);
    EXPECT_LT(model.TimeOf(GemmFor(device, 1, 1, 1)).alone, sim::Duration::Microseconds(20)) << device.name;
    // 2e16 FLOPs: at least as long as the peak allows. L40S reaches 0.54 of it for lack of power,
    // MI300X 0.47, B200 0.49 where data are random.
    const double peak = PeakFlopsPerSecond(device, HalfFormat(device));
    const double seconds = model.TimeOf(GemmFor(device, 1'000'000, 100'000, 100'000)).alone.seconds();
    EXPECT_GT(seconds, 2e16 / peak) << device.name;
    EXPECT_LT(seconds, 2e16 / peak * 2.2) << device.name;
    EXPECT_GT(model.TimeOf(MemoryKernel(std::int64_t{1} << 50)).alone.seconds(), 100) << device.name;
  }
}

// But for a per cent: tiles that share a cold operand load it together, so one tile more can help.
TEST(KernelTimes, MoreRowsOrColumnsOrProductsAreNeverFaster) {
  sim::Random random(2, "growing shapes");
  for (const Device& device : Devices()) {
    const DeviceCostModel model(device);
    for (int i = 0; i < 500; ++i) {
      const std::int64_t m = 1 + random.Below(5000), n = 1 + random.Below(5000), k = 1 + random.Below(5000);
      const sim::Duration time = model.TimeOf(GemmFor(device, m, n, k)).alone;
      const sim::Duration nearly = sim::Duration::FromSeconds(0.99 * time.seconds());
      ASSERT_LE(nearly, model.TimeOf(GemmFor(device, m + 1, n, k)).alone)
          << device.name << " " << m << " " << n << " " << k;
      ASSERT_LE(nearly, model.TimeOf(GemmFor(device, m, n + 1, k)).alone)
          << device.name << " " << m << " " << n << " " << k;
      ASSERT_LE(nearly, model.TimeOf(GemmFor(device, m, n, k, 2)).alone)
          << device.name << " " << m << " " << n << " " << k;
      // One row more starts at most one wave more: twice the time where there was one.
      ASSERT_LE(model.TimeOf(GemmFor(device, m + 1, n, k)).alone, 2 * time)
          << device.name << " " << m << " " << n << " " << k;
    }
  }
}

// Sixteen products of one wave each, and a kernel's launch for all but the first, which the framework's
// operation includes.
TEST(KernelTimes, OfProductsOneByOneAreThoseOfOneTimesTheirNumber) {
  const Device device = ReadOrFail("h100_sxm");
  const sim::Duration launch = sim::Duration::Microseconds(29);
  const DeviceCostModel model(device, {.launch = launch});
  sim::Kernel all = GemmFor(device, 512, 4096, 2048, 16);
  const sim::Kernel one = GemmFor(device, 512, 4096, 2048);
  EXPECT_EQ(model.LaunchTimeOf(all), launch);
  EXPECT_LT(model.TimeOf(all).alone, 16 * model.TimeOf(one).alone);
  all.one_by_one = true;
  EXPECT_NEAR(model.TimeOf(all).alone.seconds(), 16 * model.TimeOf(one).alone.seconds(), 1e-9);
  EXPECT_EQ(model.LaunchTimeOf(all), launch + 15 * sim::Duration::FromSeconds(device.host.kernel_launch_s));
  EXPECT_EQ(DeviceCostModel(device).LaunchTimeOf(all), sim::Duration());
}

TEST(KernelTimes, MoreBytesAreNeverFaster) {
  for (const Device& device : Devices()) {
    const DeviceCostModel model(device);
    for (std::size_t c = 0; c < kMemoryClasses; ++c) {
      sim::Duration last;
      for (std::int64_t bytes = 0; bytes < std::int64_t{1} << 40; bytes = bytes * 3 / 2 + 1) {
        const sim::Duration time = model.TimeOf(MemoryKernel(bytes, static_cast<sim::MemoryClass>(c))).alone;
        ASSERT_GE(time, last) << device.name << " " << bytes;
        last = time;
      }
    }
    sim::Kernel more = GemmFor(device, 4096, 128, 128);
    more.bytes = sim::Bytes(1 << 30);
    EXPECT_GT(model.TimeOf(more).alone, model.TimeOf(GemmFor(device, 4096, 128, 128)).alone) << device.name;
  }
}

// 30 bytes a parameter at 0.85 of the memory's rate: 17.3, 10.5, 7.4 and 4.4 ms for 1e9 parameters.
TEST(KernelTimes, OfTheOptimizerFollowFromItsBytes) {
  const std::pair<const char*, double> want[] = {
      {"a100_80_sxm", 17.3}, {"h100_sxm", 10.5}, {"h200_sxm", 7.4}, {"b200_sxm", 4.4}};
  for (const auto& [name, ms] : want) {
    const DeviceCostModel model(ReadOrFail(name));
    const double got =
        model.TimeOf(MemoryKernel(30'000'000'000, sim::MemoryClass::kOptimizer)).alone.seconds() * 1e3;
    EXPECT_NEAR(got, ms, 0.06) << name;
  }
}

// 8192 cubed on A100: 32 x 64 tiles of 256x128 are 18.96 for each of 108 SMs, and 25 whole waves on the 84
// that 24 channels leave. Alone waves overlap by 0.3824, so 18.98 count: 1.317 times as long.
TEST(KernelTimes, BesideCommunicationFollowTheWavesOfTheSmsThatAreLeft) {
  const KernelTimes times = DeviceCostModel(ReadOrFail("a100_80_sxm")).TimeOf(Gemm(8192, 8192, 8192));
  const sim::Duration beside = times.Beside({.sms = 24, .memory = 0});
  EXPECT_NEAR(beside.seconds() / times.alone.seconds(), 25 / 18.98, 0.02);
  EXPECT_LT(times.Beside({.sms = 16, .memory = 0}), beside);  // 92 are left: 23 waves
}

// Hopper's products have a block an SM. The 24 of them that find none wait for the others' end, however many
// tiles each has (PyTorch, issue 143988: all products of training take twice as long beside NCCL's kernels).
TEST(KernelTimes, OfPersistentProductsDoubleBesideCommunication) {
  const KernelTimes times = DeviceCostModel(ReadOrFail("h100_sxm")).TimeOf(Gemm(8192, 8192, 8192));
  for (const std::int32_t sms : {4, 24, 48}) {
    EXPECT_NEAR(times.Beside({.sms = sms, .memory = 0}).seconds() / times.alone.seconds(), 2, 0.05);
  }
}

// 11 x 12 tiles of 256x128 are one wave of 132 SMs. 24 thread blocks of an all-gather leave room for 108, and
// the others are a second one. Measured on H100 (NVIDIA developer forum, topic 337991): 80 % of the peak
// alone and 47 % beside the gather, 1.70 times as long. Here it is 1.98 times, as the start is paid once.
TEST(KernelTimes, OfOneWaveAreTwoBesideCommunication) {
  const KernelTimes times = DeviceCostModel(ReadOrFail("h100_sxm")).TimeOf(Gemm(11 * 256, 12 * 128, 8192));
  const double longer = times.Beside({.sms = 24, .memory = 0}).seconds() / times.alone.seconds();
  EXPECT_GT(longer, 1.9);
  EXPECT_LT(longer, 2);
}

// At half of the rate what the memory bounds takes twice as long, and a third of the rate taken makes it
// longer by a half. The fixed time of a kernel stays.
TEST(KernelTimes, OfMemoryBoundKernelsFollowTheRateThatIsLeft) {
  const Device device = ReadOrFail("a100_80_sxm");
  const KernelTimes times = DeviceCostModel(device).TimeOf(MemoryKernel(std::int64_t{1} << 32));
  EXPECT_NEAR(times.memory.seconds(), times.alone.seconds() - device.memory_bound.fixed_s, 1e-9);
  EXPECT_EQ(times.Beside({.sms = 24, .memory = 0}), times.alone);
  const double longer = (times.Beside({.sms = 24, .memory = 341}) - times.alone).seconds();
  EXPECT_NEAR(longer / times.memory.seconds(), 341.0 / 683, 1e-6);
}

TEST(KernelTimes, OfH800AreThoseOfH100) {
  const DeviceCostModel h100(ReadOrFail("h100_sxm")), h800(ReadOrFail("h800_sxm"));
  for (const std::int64_t m : {1, 100, 1000, 10000}) {
    EXPECT_EQ(h100.TimeOf(Gemm(m, 4096, 4096)).alone, h800.TimeOf(Gemm(m, 4096, 4096)).alone);
  }
}

// H20 has 0.15 of the matrix rate of an H100 and 1.2 of its memory rate.
TEST(KernelTimes, OfH20AreSlowWhereFlopsCountAndFastWhereBytesDo) {
  const DeviceCostModel h100(ReadOrFail("h100_sxm")), h20(ReadOrFail("h20"));
  const double h100_derate = ReadOrFail("h100_sxm").random_data_derate;  // the H20 has none
  const double slow = h20.TimeOf(Gemm(8192, 8192, 8192)).alone.seconds() /
                      h100.TimeOf(Gemm(8192, 8192, 8192)).alone.seconds();
  EXPECT_NEAR(slow, h100_derate * 989.4 / 148, 0.5);
  const double fast =
      h100.TimeOf(MemoryKernel(1 << 30)).alone.seconds() / h20.TimeOf(MemoryKernel(1 << 30)).alone.seconds();
  EXPECT_NEAR(fast, 4.0 / 3.35, 0.01);
}

}  // namespace
}  // namespace hardware
