#include "scenarios/scaling.h"

#include <gtest/gtest.h>

namespace scenarios {
namespace {

TEST(Scaling, CostIsDevicesTimesWallClockHoursTimesPrice) {  // HB-197
  EXPECT_EQ(DeviceHours(8, 19), 152);
  EXPECT_EQ(CostUsd(DeviceHours(8, 19), 2.00), 304.00);
  EXPECT_EQ(DeviceHours(160, 15 * 24), 57'600);
  EXPECT_EQ(CostUsd(DeviceHours(160, 15 * 24), 2.00), 115'200.00);
}

// Wall clock of the same training: 8 devices 44.24 h, 16: 59.45, 32: 29.90, 64: 17.22.
TEST(Scaling, EfficiencyDependsOnTheReference) {  // HB-199
  const ScalePoint eight{8, 44.24}, sixteen{16, 59.45}, thirty_two{32, 29.90}, sixty_four{64, 17.22};
  EXPECT_NEAR(StrongScalingEfficiency(eight, sixteen), 0.372, 1e-3);
  EXPECT_NEAR(StrongScalingEfficiency(eight, thirty_two), 0.370, 1e-3);
  EXPECT_NEAR(StrongScalingEfficiency(eight, sixty_four), 0.321, 1e-3);
  EXPECT_NEAR(StrongScalingEfficiency(sixteen, thirty_two), 0.994, 1e-3);
  EXPECT_NEAR(StrongScalingEfficiency(sixteen, sixty_four), 0.863, 1e-3);
  EXPECT_GT(sixteen.time, eight.time);  // more devices were slower: the curve is not monotonic
}

TEST(Scaling, LinearityGivesTheReferenceRateOfOneDevice) {  // HB-200
  EXPECT_NEAR(ReferenceRate(1845, 0.85), 2171, 1);
  EXPECT_EQ(1845 * 512, 944'640);
}

TEST(Scaling, ConstantCommunicationLimitsStrongScaling) {  // HB-201: 2 nodes to 8
  const double time = TimeWithConstantCommunication(112, 3, 4);
  EXPECT_EQ(time, 31);
  EXPECT_NEAR((112 + 3) / time, 3.71, 0.005);
  EXPECT_NEAR(StrongScalingEfficiency({2, 115}, {8, time}), 0.927, 1e-3);
}

}  // namespace
}  // namespace scenarios
