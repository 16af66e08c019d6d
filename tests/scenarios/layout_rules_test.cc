#include "scenarios/layout_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scenarios {
namespace {

using testing::HasSubstr;

std::string Message(const std::optional<sim::Error>& error) { return error ? error->message : ""; }

TEST(DivisorsText, ListsAllOrTheNearest) {
  EXPECT_EQ(DivisorsText(1, 1), "1");
  EXPECT_EQ(DivisorsText(32, 12), "1, 2, 4, 8, 16 and 32");
  // 720,720 has 240 divisors; 6 to 16 and 18 are nearer to 13 than 5 (17 is none).
  EXPECT_EQ(DivisorsText(720720, 13), "6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 and 18");
}

// HB-206: (cp, tp, SP) = (4,4,on) 16, (2,3,on) 12, (4,1,off) 8, (1,8,on) 8.
TEST(SequenceFactor, IsTheLeastCommonMultipleOfTwoCpAndCpTp) {
  EXPECT_EQ(SequenceFactor(4, 4, true), 16);
  EXPECT_EQ(SequenceFactor(2, 3, true), 12);
  EXPECT_EQ(SequenceFactor(4, 1, false), 8);
  EXPECT_EQ(SequenceFactor(1, 8, true), 8);
  EXPECT_EQ(SequenceFactor(1, 8, false), 1);
  // s = 4104 with cp = 4, tp = 4: 4104 % 16 = 8.
  EXPECT_EQ(Message(RefuseTokens(4104, SequenceFactor(4, 4, true))),
            "4104 tokens are not a multiple of 16 ranks; 4096 and 4112 are");
}

// HB-207: 10 tokens on 3 ranks, 2 tokens on 4 ranks.
TEST(RefuseTokens, LeavesNoTokenAndNoRankOut) {
  EXPECT_EQ(Message(RefuseTokens(10, 3)), "10 tokens are not a multiple of 3 ranks; 9 and 12 are");
  EXPECT_EQ(Message(RefuseTokens(2, 4)), "2 tokens for 4 ranks leave some without; at least 4 are wanted");
  EXPECT_EQ(Message(RefuseTokens(12, 3)), "");
}

// HB-208: heads = 40, kv = 8: 8 and 40 are legal, 16 is not; heads = 16, kv = 2: 4 only with replication.
TEST(RefuseUlysses, NeedsHeadsAndKeyValueHeadsToDivide) {
  EXPECT_EQ(Message(RefuseUlysses(8, 40, 8, true)), "");
  EXPECT_EQ(Message(RefuseUlysses(40, 40, 8, true)), "");
  EXPECT_EQ(Message(RefuseUlysses(16, 40, 8, true)),
            "16 does not divide the 40 attention heads; 1, 2, 4, 5, 8, 10, 20 and 40 do");
  EXPECT_EQ(Message(RefuseUlysses(4, 16, 2, true)), "");
  EXPECT_EQ(Message(RefuseUlysses(4, 16, 2, false)),
            "4 does not divide the 2 key/value heads, which may not be replicated; 1 and 2 do");
}

// HB-210: world = 8: tp=4 pp=4 is 16 > 8; tp=3 leaves 2; tp=4 cp=2 has dp=1; dp=3 with tp=4 is 12.
TEST(DataRanks, AreWhatIsLeftOfTheDevices) {
  EXPECT_EQ(DataRanks(8, 4, 1, 4).error().message,
            "tensor 4 x context 1 x pipeline 4 > 8 devices; wanted at most as many");
  EXPECT_EQ(DataRanks(8, 3, 1, 1).error().message,
            "8 devices are not a multiple of tensor 3 x context 1 x pipeline 1 = 3; 6 and 9 are");
  EXPECT_EQ(DataRanks(8, 4, 2, 1).value(), 1);
  EXPECT_EQ(Message(RefuseDataRanks(3, 8, 4, 1, 1)),
            "data 3 x tensor 4 x context 1 x pipeline 1 = 12 != 8 devices; 2 is wanted");
  EXPECT_EQ(Message(RefuseDataRanks(2, 8, 4, 1, 1)), "");
  EXPECT_EQ(DataRanks(1472, 8, 1, 8).value(), 23);                     // HB-218
  EXPECT_FALSE(DataRanks(1'048'576, INT64_MAX / 2, 4096, 4096).ok());  // no overflow
}

// HB-203: 256 != 2*18*7 = 252. HB-218: 32 % (23 * 1) = 9.
TEST(Accumulation, ShowsAllNumbersOfTheBatch) {
  EXPECT_EQ(Message(RefuseAccumulation(18, 256, 2, 7)),
            "256 != 2*18*7 = 252; wanted global = micro x accumulation x data");
  EXPECT_EQ(Message(RefuseAccumulation(18, 252, 2, 7)), "");
  EXPECT_EQ(Accumulation(32, 1, 23).error().message,
            "32 % (1*23) = 9: not a multiple of micro 1 x data 23 = 23; 23 and 46 are");
  EXPECT_EQ(Accumulation(16, 1, 23).error().message,
            "16 % (1*23) = 16: not a multiple of micro 1 x data 23 = 23; 23 is");
  // HB-082: gbs = 256, dp = 8, mbs = 1, 2, 4: m = 32, 16, 8.
  EXPECT_EQ(Accumulation(256, 1, 8).value(), 32);
  EXPECT_EQ(Accumulation(256, 2, 8).value(), 16);
  EXPECT_EQ(Accumulation(256, 4, 8).value(), 8);
}

TEST(WithOrder, TakesAllFourDimensionsOnce) {
  const Layout layout = WithOrder({}, "pp-tp-cp-ep-dp").value();
  EXPECT_EQ(layout.order[0], Dimension::kPipeline);
  EXPECT_EQ(layout.order[3], Dimension::kData);
  EXPECT_TRUE(WithOrder({}, "tensor-context-data-pipeline").ok());
  for (const char* wrong : {"", "tp", "tp-cp-dp", "tp-cp-dp-tp", "tp-cp-dp-pp-pp", "tp-cp-dp-xx",
                            "tp--cp-dp-pp", "tp-cp-dp-pp-"}) {
    EXPECT_THAT(WithOrder({}, wrong).error().message, HasSubstr("once each, fastest first")) << wrong;
  }
}

}  // namespace
}  // namespace scenarios
