#include "sim/schedule/order_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/check_order.h"

namespace sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Errors(std::string_view text) { return ParseOrder(text, "o.txt").errors; }

TEST(ParseOrder, ReadsCountsCommentsBlanksAndPlacement) {
  const ParsedOrder parsed = ParseOrder(
      "# a V\r\n\nplacement:  vee # here\n  F0.0\tF0.1 B0.1 B0.0\r\n"
      "F0.0 F0.1 B0.1 B0.0 # the last stage",
      "o.txt");
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_EQ(parsed.order.shape.stages, 2u);
  EXPECT_EQ(parsed.order.shape.microbatches, 1u);
  EXPECT_EQ(parsed.order.shape.chunks, 2u);
  EXPECT_EQ(parsed.order.placement, Placement::kVee);
}

TEST(ParseOrder, NamesEveryWordThatIsNoStepWithItsPlace) {
  const auto errors = Errors("F0 X1 B0\n\n  F0 b0 F F1.&B F1-x F99999999999 F1\n");
  ASSERT_EQ(errors.size(), 6u);
  EXPECT_THAT(errors[0], HasSubstr("o.txt:1:4: \"X1\" is no step; F0, B0, I0 or W0"));
  EXPECT_THAT(errors[1], HasSubstr("o.txt:3:6: \"b0\""));
  EXPECT_THAT(errors[2], HasSubstr("o.txt:3:9: \"F\""));
  EXPECT_THAT(errors[3], HasSubstr("o.txt:3:11: \"F1.\""));
  EXPECT_THAT(errors[4], HasSubstr("o.txt:3:17: \"F1-x\""));
  EXPECT_THAT(errors[5], HasSubstr("o.txt:3:22: \"F99999999999\""));
  EXPECT_THAT(errors[5], HasSubstr("numbers up to 1048575"));
}

TEST(ParseOrder, RefusesWhatIsNoOrderAtAll) {
  EXPECT_THAT(Errors(""), ElementsAre("o.txt:1:1: no stage; a line a stage such as F0 F1 B0 B1 is wanted"));
  EXPECT_THAT(Errors("# nothing\n"), testing::SizeIs(1));
  EXPECT_THAT(Errors("placement: zigzag\nF0 B0\n"),
              ElementsAre("o.txt:1:12: \"zigzag\" is no placement; loop, vee or both-ends is wanted"));
  EXPECT_THAT(Errors("F0 B0\nplacement: vee\n"),
              ElementsAre("o.txt:2:12: placement comes once, before the stages"));
  EXPECT_THAT(
      Errors("placement: both-ends\nF0 B0\n"),
      ElementsAre("o.txt:2:1: both-ends has 1 chunks and 1 micro-batches; 2 chunks, and half of an even "
                  "number for each, are wanted"));
}

// One step must not ask for a table of a million micro-batches.
TEST(ParseOrder, RefusesCountsThatTheStepsCannotCover) {
  EXPECT_THAT(Errors("F0 B0 F1048575.1048575-1048575\n"),
              ElementsAre(HasSubstr("o.txt:1:1: 1048576 micro-batches in ")));
  EXPECT_THAT(Errors("F7 B7\n"),
              ElementsAre("o.txt:1:1: 8 micro-batches in 1 chunks and parts on 1 stages are "
                          "far more than the 2 steps can pass"));
  EXPECT_THAT(Errors("F0 B0 F1\n"), ElementsAre("o.txt:1:9: stage 0: has no backward of 1"));
}

TEST(ParseOrder, StopsAfterTwentyErrors) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "X ";
  EXPECT_EQ(Errors(text).size(), kMostOrderMistakes);
}

// Texts with characters put in, taken out and exchanged: either an error with a
// place or an order that reads back the same.
TEST(ParseOrder, SurvivesAnyText) {
  std::uint64_t random = 7;
  const auto below = [&](std::size_t n) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((random >> 33) % n);
  };
  const std::string alphabet = "FBIW0123456789.-& \n#:placementvee\x01\xff";
  int legal = 0;
  for (const char* name : {"1f1b", "zb1p", "zbv", "dualpipe", "seq1f1b"}) {
    const PipelineSchedule& schedule = *FindPipelineSchedule(name);
    const std::string good = ToText(OrderOf(schedule, {2, 4, schedule.chunks, 0, schedule.parts}));
    for (int round = 0; round < 2000; ++round) {
      std::string text = good;
      for (std::size_t i = 1 + below(3); i > 0; --i) {
        const std::size_t at = below(text.size());
        const char c = alphabet[below(alphabet.size())];
        const std::size_t what = below(3);
        if (what == 0) text.insert(at, 1, c);
        if (what == 1) text.erase(at, 1);
        if (what == 2) text[at] = c;
      }
      const ParsedOrder parsed = ParseOrder(text, "o");
      for (const std::string& error : parsed.errors) ASSERT_EQ(error.rfind("o:", 0), 0u) << error;
      if (!parsed.errors.empty()) continue;
      ++legal;
      ASSERT_EQ(ParseOrder(ToText(parsed.order), "o").order.stages, parsed.order.stages) << text;
    }
  }
  EXPECT_GE(legal, 100);
}

}  // namespace
}  // namespace sim
