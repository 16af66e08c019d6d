#include "scenarios/budget/limits.h"

#include <gtest/gtest.h>

namespace scenarios {
namespace {

using sim::Bytes;

// A21: stage s of p keeps p - s micro-batches, so what fits once fits p - s times less often.
TEST(MicroBatch, IsWhatFitsAsOftenAsItIsInFlight) {
  EXPECT_EQ(MostMicroBatch(Bytes(100), Bytes(20), Bytes(10), 1), 8);
  EXPECT_EQ(MostMicroBatch(Bytes(100), Bytes(20), Bytes(10), 4), 2);
  EXPECT_EQ(MostMicroBatch(Bytes(100), Bytes(20), Bytes(10), 9), 0);
  EXPECT_EQ(MostMicroBatch(Bytes(100), Bytes(120), Bytes(10), 1), 0);
}

// 17.5.7: 256K tokens are 64 sequences of 4,096.
TEST(GlobalBatch, HasAtLeast256KTokens) {
  EXPECT_EQ(LeastGlobalBatch(4096), 64);
  EXPECT_EQ(LeastGlobalBatch(4095), 65);
  EXPECT_EQ(LeastGlobalBatch(1'000'000), 1);
}

// With four times the stages the bubble is (p - 1) / (5 p - 1): below a fifth.
TEST(MicroBatches, FourTimesTheStagesLeaveABubbleBelowAFifth) {
  for (const std::int64_t p : {2, 4, 8, 64}) {
    const double m = static_cast<double>(GoodMicroBatches(p)), stages = static_cast<double>(p);
    EXPECT_LT((stages - 1) / (m + stages - 1), 0.2);
    EXPECT_GE(LeastMicroBatches(p), p);
  }
}

TEST(Spares, AreWholeNodesOnTop) {
  EXPECT_EQ(WithSpares(864, 0.05, 8), 912);  // 907.2
  EXPECT_EQ(WithSpares(864, 0, 8), 864);
  EXPECT_DOUBLE_EQ(WithMaintenance(95, 0.05), 100);
}

}  // namespace
}  // namespace scenarios
