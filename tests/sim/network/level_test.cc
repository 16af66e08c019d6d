#include "sim/network/level.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <vector>

#include "sim/base/random.h"

namespace sim {
namespace {

using boost::multiprecision::int256_t;

std::strong_ordering CompareByProducts(const Level& a, const Level& b) {
  const int256_t left = int256_t(a.numerator) * b.denominator, right = int256_t(b.numerator) * a.denominator;
  if (left == right) return std::strong_ordering::equal;
  return left < right ? std::strong_ordering::less : std::strong_ordering::greater;
}

Wide RandomWide(Random& random, std::uint32_t bits) {
  const Wide wide = (static_cast<Wide>(random.Next() >> 1) << 64) | random.Next();
  return wide >> (127 - static_cast<int>(bits));
}

TEST(Level, ComparesAsTheProductsIn256BitsSay) {
  Random random(1, "level");
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t numerator_bits = 1 + random.Below(95), denominator_bits = 1 + random.Below(95);
    Level a = {RandomWide(random, numerator_bits), 1 + RandomWide(random, denominator_bits)};
    Level b = {RandomWide(random, numerator_bits), 1 + RandomWide(random, denominator_bits)};
    if (i % 3 == 1) b = {a.numerator + 1, a.denominator + 1};  // nearly equal
    if (i % 3 == 2) {                                          // equal, or nearly
      const Wide k = 1 + random.Below(1000);
      a = {a.numerator >> 12, 1 + (a.denominator >> 12)};
      b = {a.numerator * k + random.Below(2), a.denominator * k};
    }
    EXPECT_EQ(a <=> b, CompareByProducts(a, b));
    EXPECT_EQ(b <=> a, CompareByProducts(b, a));
    EXPECT_EQ(Level::CompareByEuclid(a, b), CompareByProducts(a, b));
    EXPECT_EQ(a == b, CompareByProducts(a, b) == 0);
  }
}

TEST(Level, ComparesAtTheBoundsThatItIsMadeFor) {
  const Wide numerator = (Wide{1} << 95) - 1, denominator = (Wide{1} << 96) - 1;
  // n/d < n/(d-1), and (n-1)/(d-1) < n/d as n < d. All products need 191 bits.
  EXPECT_LT((Level{numerator, denominator}), (Level{numerator, denominator - 1}));
  EXPECT_LT((Level{numerator - 1, denominator - 1}), (Level{numerator, denominator}));
  EXPECT_EQ((Level{numerator, denominator}), (Level{numerator, denominator}));
  EXPECT_LT((Level{0, denominator}), (Level{1, denominator}));
  EXPECT_EQ((Level{0, 1}), (Level{0, denominator}));
}

TEST(RateAt, RoundsDown) {
  // 7/3 of a unit: 2.33 for one share, exactly 7 for three.
  EXPECT_EQ(RateAt({7, 3}, 1), ByteRate::MilliBytesPerSecond(2));
  EXPECT_EQ(RateAt({7, 3}, 3), ByteRate::MilliBytesPerSecond(7));
}

TEST(RateAt, HoldsTheLargestShareOfTheLargestLink) {
  // (2^63-1) * (2^32-1) over weight * share = 2^32-1, times a share of 2^32-1: below 2^127.
  const Wide most = (Wide{1} << 32) - 1;
  EXPECT_EQ(RateAt({most * INT64_MAX, most * most}, UINT32_MAX), kFastest);
}

}  // namespace
}  // namespace sim
