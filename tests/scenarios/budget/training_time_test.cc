#include "scenarios/budget/training_time.h"

#include <gtest/gtest.h>

#include "hardware/device_reader.h"

namespace scenarios {
namespace {

// HB-016 (bigscience-workshop/Megatron-DeepSpeed#221): 1e18 FLOPs in 10 s on 1,000 devices, as a part of 1
// TFLOP/s.
TEST(TrainingTime, AThousandDevicesWith1e18FlopsInTenSecondsDo100TeraflopsEach) {
  EXPECT_DOUBLE_EQ(UtilisationOf(1e18, 10, 1000, 1e12), 100);
}

// HB-018 (NVIDIA/Megatron-LM#1276): the catalogue's peak is the dense one, half of the data sheet's 1,978.9.
TEST(TrainingTime, UseIsOfTheDensePeak) {
  proto::Diagnostics diagnostics;
  const hardware::Device device = hardware::ReadDevice("h100_sxm", {}, "", &diagnostics).value();
  const double peak = hardware::PeakFlopsPerSecond(device, sim::NumberFormat::kBf16);
  EXPECT_DOUBLE_EQ(peak, 989.4e12);
  EXPECT_NEAR(UtilisationOf(400e12, 1, 1, peak), 0.404, 0.0005);
}

// HB-031 (karpathy/nanoGPT#619): a rate of all devices is divided by their number once.
TEST(TrainingTime, UseDoesNotFallWithTheRanksAtOneRateEach) {
  for (const double ranks : {1.0, 64.0}) {
    EXPECT_NEAR(UtilisationOfRate(10'000 * ranks, 42e9, ranks, 989.4e12), 0.4245, 0.0001);
  }
}

// (27.18), (27.19): one is the other turned round.
TEST(TrainingTime, DevicesAreInProportionToWorkAndInverseToTimeAndUse) {
  EXPECT_EQ(DevicesFor(4.2e21, 2e14, 0.4, 864'000), 61);
  EXPECT_EQ(DevicesFor(2 * 4.2e21, 2e14, 0.4, 864'000), 122);  // twice 60.76
  EXPECT_EQ(DevicesFor(4.2e21, 2e14, 0.3, 864'000), 82);       // a third more
  EXPECT_EQ(DevicesFor(4.2e21, 2e14, 0.4, 432'000), 122);
  EXPECT_NEAR(TrainingSeconds(4.2e21, 4.2e21 / (2e14 * 0.4 * 864'000), 2e14, 0.4), 864'000, 1e-6);
  EXPECT_NEAR(UtilisationOf(4.2e21, TrainingSeconds(4.2e21, 61, 2e14, 0.4), 61, 2e14), 0.4, 1e-12);
}

TEST(TrainingTime, GroupsAndStepsAreRoundedUp) {
  EXPECT_EQ(WholeGroups(61, 8), 64);
  EXPECT_EQ(WholeGroups(64, 8), 64);
  EXPECT_EQ(StepsFor(1e9, 4'194'304), 239);  // 238.4
}

// Exercise 27.9: 0.4 from a wall clock contains its communication and its waits, so nothing of them is taken
// off again; 0.7 of kernels alone loses 20 and 5 per cent of the time and the forward that runs twice.
TEST(Losses, AreTakenOffOnce) {
  const Losses losses{.kernels = 0.7, .recomputation = 0.75, .communication = 0.2, .bubble = 0, .data = 0.05};
  EXPECT_DOUBLE_EQ(UtilisationWith(0.4, {}, losses), 0.4);
  const Contained kernels{
      .recomputation = false, .communication = false, .bubble = false, .data = false, .checkpoints = false};
  EXPECT_DOUBLE_EQ(UtilisationWith(0.7, kernels, losses), 0.7 * 0.75 * 0.75);
  Contained all_but_data;
  all_but_data.data = false;
  EXPECT_DOUBLE_EQ(UtilisationWith(0.4, all_but_data, losses), 0.4 * 0.95);
}

}  // namespace
}  // namespace scenarios
