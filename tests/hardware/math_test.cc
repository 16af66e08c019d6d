#include "hardware/math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hardware {
namespace {

TEST(Log2, IsExactForPowersOfTwo) {
  for (int exponent = -1000; exponent <= 1000; ++exponent) {
    EXPECT_EQ(Log2(std::ldexp(1.0, exponent)), exponent);
  }
}

TEST(Exp2, IsExactForWholeNumbers) {
  for (int exponent = -999; exponent <= 999; ++exponent) {
    EXPECT_EQ(Exp2(exponent), std::ldexp(1.0, exponent));
  }
}

// The C library is the oracle; it is right to the last bit or nearly so.
TEST(Pow, AgreesWithTheCLibraryToTwelveDigits) {
  for (const double p : {0.1, 0.25, 0.31, 1.0, 1.53, 2.0, 2.3205, 3.8585, 7.0}) {
    double x = 1e-12;
    while (x < 1e12) {
      const double want = std::pow(x, p);
      EXPECT_NEAR(Pow(x, p) / want, 1, 1e-12) << x << " to the power of " << p;
      x *= 1.37;
    }
  }
}

TEST(Pow, OfZeroIsZero) { EXPECT_EQ(Pow(0, 2.5), 0); }

TEST(PowerMean, IsTheSumForOneAndPythagorasForTwo) {
  EXPECT_NEAR(PowerMean(3, 4, 1), 7, 1e-12);
  EXPECT_NEAR(PowerMean(3, 4, 2), 5, 1e-12);
  EXPECT_EQ(PowerMean(3, 4, 2), PowerMean(4, 3, 2));
}

TEST(PowerMean, IsTheLargerWhenTheOtherIsNothing) {
  EXPECT_EQ(PowerMean(3, 0, 2.5), 3);
  EXPECT_EQ(PowerMean(0, 0, 2.5), 0);
  EXPECT_EQ(PowerMean(1e-300, 1e300, 3.9), 1e300);
}

TEST(PowerMean, LiesBetweenTheLargerAndTheSumAndGrowsWithBoth) {
  double last = 0;
  for (double a = 0.001; a < 1000; a *= 1.1) {
    const double mean = PowerMean(a, 1, 3.1);
    EXPECT_GE(mean, std::max(a, 1.0));
    EXPECT_LE(mean, a + 1);
    EXPECT_GE(mean, last);
    last = mean;
  }
}

}  // namespace
}  // namespace hardware
