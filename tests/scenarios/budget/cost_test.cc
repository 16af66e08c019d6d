#include "scenarios/budget/cost.h"

#include <gtest/gtest.h>

#include "scenarios/scaling.h"

namespace scenarios {
namespace {

// 17.5.9: 700 W at 0.1 USD are 1.68 USD a day, 25,000 USD in three years 22.83; cooling adds its part of the
// power.
TEST(Ownership, IsPowerAndDepreciation) {
  const Ownership o{.price = 25'000, .years = 3, .watts = 700};
  EXPECT_DOUBLE_EQ(PowerUsdPerDay(o), 1.68);
  EXPECT_NEAR(DepreciationUsdPerDay(o), 22.83, 0.005);
  Ownership cooled = o;
  cooled.cooling = 0.4;
  EXPECT_DOUBLE_EQ(PowerUsdPerDay(cooled), 1.68 * 1.4);
}

// At the use that breaks even a rented hour costs what an owned one does.
TEST(Ownership, BreaksEvenWhereItCostsWhatRentingDoes) {
  const Ownership o{.price = 25'000, .years = 3, .watts = 700, .cooling = 0.4};
  const double use = BreakEvenUse(o, 2);
  EXPECT_NEAR(CostUsd(DeviceHours(1, 24 * use), 2), OwnedUsdPerDay(o), 1e-9);
  EXPECT_GT(use, 0);
  EXPECT_LT(use, 1);
}

// 17.8.11: 8 devices at 3 USD make 576 USD a day, which 19.2 million tokens at 30 USD cost.
TEST(BreakEven, IsWhereTheDaysTokensCostTheDay) {
  EXPECT_DOUBLE_EQ(BreakEvenMillionsADay(8, 3, 30), 19.2);
  EXPECT_NEAR(BreakEvenMillionsADay(4, 2.5, 10, 0.5), 25.26, 0.005);
  // So many tokens a second cost the same either way.
  EXPECT_NEAR(UsdPerMillionTokens(8, 3, 19.2e6 / 86400), 30, 1e-9);
}

}  // namespace
}  // namespace scenarios
