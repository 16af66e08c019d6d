#include "sim/base/random.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

TEST(Random, SameNameGivesTheSameNumbersAndAnotherNameOthers) {
  Random a(1, "router", 7), b(1, "router", 7), c(1, "router", 8), d(2, "router", 7);
  const std::uint64_t first = a.Next();
  EXPECT_EQ(first, b.Next());
  EXPECT_NE(first, c.Next());
  EXPECT_NE(first, d.Next());
}

TEST(Random, BelowStaysBelowAndReachesEveryValue) {
  Random random(3, "below");
  bool seen[5] = {};
  for (int i = 0; i < 200; ++i) seen[random.Below(5)] = true;
  for (const bool value : seen) EXPECT_TRUE(value);
}

TEST(Digest, DependsOnOrderAndPrintsSixteenHexDigits) {
  EXPECT_NE(Digest().Add(1).Add(2).value(), Digest().Add(2).Add(1).value());
  EXPECT_EQ(ToHex(0x0123456789abcdefULL), "0123456789abcdef");
}

}  // namespace
}  // namespace sim
