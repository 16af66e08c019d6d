#include "sim/base/units.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace literals;

TEST(Units, TimeOfAnAmountAtARateIsRoundedUpToAWholePicosecond) {
  // 900 B / 900 GB/s = 1 ns exactly; one byte more needs 1.11 ps more.
  EXPECT_EQ(900_B / 900_GB_per_s, 1'000_ps);
  EXPECT_EQ(901_B / 900_GB_per_s, 1'002_ps);
  EXPECT_EQ(0_B / 1_GB_per_s, 0_ps);
}

TEST(Units, ByteCountsAroundTwoToThe31AndTwoToThe32AreExact) {  // HB-221
  for (const std::int64_t n : {2'147'483'648LL, 4'294'967'296LL, 4'294'967'297LL}) {
    EXPECT_EQ(Bytes(n).count(), n);
    EXPECT_EQ((Bytes(n) / 1_GB_per_s).ps(), n * 1000);
  }
}

TEST(Units, GigabitsAreAnEighthOfGigabytes) {
  EXPECT_EQ(400_Gbit_per_s, 50_GB_per_s);
  EXPECT_EQ(ByteRate::GigabytesPerSecond(0.5), ByteRate::BytesPerSecond(500'000'000));
}

TEST(Units, SecondsOfACostModelRoundToTheNearestPicosecond) {
  EXPECT_EQ(Duration::FromSeconds(1.4e-12), 1_ps);
  EXPECT_EQ(Duration::FromSeconds(1.6e-12), 2_ps);
  EXPECT_EQ(Duration::FromSeconds(0), 0_ps);
}

TEST(UnitsDeathTest, NegativeOrNotANumberIsOurBug) {
  EXPECT_EXIT(Duration::FromSeconds(-1), testing::ExitedWithCode(70), "bug");
  EXPECT_EXIT(Duration::FromSeconds(__builtin_nan("")), testing::ExitedWithCode(70), "bug");
}

}  // namespace
}  // namespace sim
