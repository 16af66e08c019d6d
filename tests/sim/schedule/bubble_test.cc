#include "sim/schedule/bubble.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace literals;

double Percent(BubbleShare share) {
  return 100.0 * static_cast<double>(share.idle) / static_cast<double>(share.whole);
}

// HB-070: (p-1)/(m+p-1) = 7/39 = 14/78 of the total.
TEST(Bubble, OfTheTotalIsNotTheBubbleOfTheIdeal) {
  const PipelineShape shape{.stages = 8, .microbatches = 32};
  EXPECT_EQ(BubbleOfTotal(shape).idle * 78, BubbleOfTotal(shape).whole * 14);
  EXPECT_NEAR(Percent(BubbleOfTotal(shape)), 17.95, 0.005);
  EXPECT_EQ(BubbleOfIdeal(shape).idle * 32, BubbleOfIdeal(shape).whole * 7);
}

// HB-072: (p-1)/(v m) = 7/128 = 5.47 %, not 7/32 = 21.9 %.
TEST(Bubble, OfInterleavedIsDividedByTheNumberOfChunks) {
  EXPECT_NEAR(Percent(BubbleOfIdeal({.stages = 8, .microbatches = 32, .chunks = 4})), 5.47, 0.005);
}

// HB-082: global batch 256 over 8 replicas; micro-batches of 1, 2, 4 sequences
// leave 32, 16, 8 of them.
TEST(Bubble, GrowsWithTheMicroBatchAtAFixedGlobalBatch) {
  EXPECT_NEAR(Percent(BubbleOfTotal({.stages = 8, .microbatches = 256 / (8 * 1)})), 17.9, 0.05);
  EXPECT_NEAR(Percent(BubbleOfTotal({.stages = 8, .microbatches = 256 / (8 * 2)})), 30.4, 0.05);
  EXPECT_NEAR(Percent(BubbleOfTotal({.stages = 8, .microbatches = 256 / (8 * 4)})), 46.7, 0.05);
}

// HB-083: 4/(8+4) = 33.3 % of the total, 4/8 = 50 % of the ideal; below 20 %
// needs 4/(m+4) < 1/5, m > 16.
TEST(Bubble, OfFiveStagesIsBelowAFifthFromSeventeenMicroBatchesOn) {
  EXPECT_NEAR(Percent(BubbleOfTotal({.stages = 5, .microbatches = 8})), 33.3, 0.05);
  EXPECT_NEAR(Percent(BubbleOfIdeal({.stages = 5, .microbatches = 8})), 50, 1e-9);
  for (std::uint32_t m = 1; m <= 20; ++m) {
    const BubbleShare share = BubbleOfTotal({.stages = 5, .microbatches = m});
    EXPECT_EQ(5 * share.idle < share.whole, m >= 17) << m;
  }
}

// HB-081: p=16, F=1, B=2, W=1, overlapped forward and backward 2.5:
// 15 * 3, 15 * (3 - 2), 7 * (4.5 - 3).
TEST(Bubble, OfOneForwardOneBackwardZeroBubbleAndDualPipe) {
  EXPECT_EQ(OneForwardOneBackwardBubble(16, 1000_ps, 2000_ps), 45'000_ps);
  EXPECT_EQ(ZeroBubble1PBubble(16, 1000_ps, 2000_ps, 1000_ps), 15'000_ps);
  EXPECT_EQ(DualPipeBubble(16, 2500_ps, 2000_ps, 1000_ps), 10'500_ps);
  EXPECT_EQ(DualPipeInFlight(16), 17u);
  EXPECT_EQ(kDualPipeParameterCopies, 2u);
}

TEST(Bubble, IsNothingWithoutAPipeline) {
  EXPECT_EQ(BubbleOfTotal({.stages = 1, .microbatches = 4}).idle, 0);
  EXPECT_EQ(OneForwardOneBackwardBubble(1, 1_us, 2_us), 0_ps);
  EXPECT_EQ(DualPipeBubble(2, 3_us, 2_us, 1_us), 0_ps);
}

}  // namespace
}  // namespace sim
