#include "hardware/roofline.h"

#include <gtest/gtest.h>

#include "tests/hardware/catalogue_device.h"

namespace hardware {
namespace {

// (27.17): 2 s of computing against 3 s of moving, and the other way round.
TEST(Roof, TimeIsTheLongerOfComputingAndMoving) {
  const Roof roof{1e12, 1e9};
  EXPECT_DOUBLE_EQ(roof.time(2e12, 3e9), 3);
  EXPECT_DOUBLE_EQ(roof.time(4e12, 3e9), 4);
  EXPECT_DOUBLE_EQ(roof.ridge(), 1000);
}

TEST(Roof, RateIsThePeakBeyondTheRidgeOnly) {
  const Roof roof{1e12, 1e9};
  EXPECT_DOUBLE_EQ(roof.rate(1), 1e9);
  EXPECT_DOUBLE_EQ(roof.rate(1000), 1e12);
  EXPECT_DOUBLE_EQ(roof.rate(4000), 1e12);
  // A step at a roof's own rate takes the roof's time.
  EXPECT_DOUBLE_EQ(1e9 / roof.rate(10), roof.time(1e9, 1e8));
}

// 989.4 TFLOP/s over 3.35 TB/s; a part of the peak turns earlier.
TEST(Roof, OfAnH100TurnsAt295FlopsAByte) {
  const Device device = ReadOrFail("h100_sxm");
  EXPECT_NEAR(RoofOf(device, sim::NumberFormat::kBf16).ridge(), 295.3, 0.1);
  EXPECT_NEAR(RoofOf(device, sim::NumberFormat::kBf16, 0.5).ridge(), 295.3 / 2, 0.1);
}

}  // namespace
}  // namespace hardware
