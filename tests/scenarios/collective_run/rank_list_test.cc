#include "scenarios/collective_run/rank_list.h"

#include <gtest/gtest.h>

namespace scenarios {
namespace {

using Ranks = std::vector<std::uint32_t>;

TEST(ParseRankList, TakesRangesStridesAndSingleRanksInTheirOrder) {
  EXPECT_EQ(ParseRankList("0-3", 4).value(), (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(ParseRankList("5,0,2-3", 8).value(), (Ranks{5, 0, 2, 3}));
  EXPECT_EQ(ParseRankList("0-63:16,1", 64).value(), (Ranks{0, 16, 32, 48, 1}));
  EXPECT_EQ(ParseRankList("7", 8).value(), (Ranks{7}));
}

TEST(ParseRankList, SaysWhatIsWrongAndWhichRanksThereAre) {
  for (const char* text : {"", ",", "0-", "-3", "a", "0:2", "0-7:", "0 1", "0--3"}) {
    const auto list = ParseRankList(text, 8);
    ASSERT_FALSE(list.ok()) << text;
    EXPECT_EQ(list.error().message,
              '"' + std::string(text) +
                  "\" is no list of ranks; ranks from 0 to 7 would do, as 0-7, or 0,8,16, "
                  "or 0-63:8");
  }
  EXPECT_EQ(ParseRankList("3-0", 8).error().message,
            "\"3-0\" goes down; from the lower to the higher is wanted, as 0-3, or ranks one by one, as 3,2");
  EXPECT_EQ(ParseRankList("1,0-7:0", 8).error().message, "\"0-7:0\" has a step of 0; 1 or more is wanted");
  EXPECT_EQ(ParseRankList("0-8", 8).error().message, "rank 8 is not there; ranks from 0 to 7 are");
  EXPECT_EQ(ParseRankList("0-4294967295", 8).error().message,
            "rank 4294967295 is not there; ranks from 0 to 7 are");
  EXPECT_EQ(ParseRankList("0-3,2", 8).error().message, "rank 2 is there twice; once is wanted");
}

TEST(RankListText, IsShortAndReadAsTheSameList) {
  for (const char* text : {"0-7", "3", "0,8", "0-56:8", "0-3,8-11", "5,0,2-3", "0-6,8-14", "7,6,5", "0-1"}) {
    EXPECT_EQ(RankListText(ParseRankList(text, 64).value()), text);
  }
  EXPECT_EQ(RankListText(ParseRankList("0-63:8", 64).value()), "0-56:8");
  EXPECT_EQ(RankListText({}), "");
}

}  // namespace
}  // namespace scenarios
