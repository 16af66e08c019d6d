#include "sim/schedule/draw_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sim/schedule/order_text.h"

namespace sim {
namespace {

PassTimes Times(std::int64_t f, std::int64_t b, std::int64_t w, std::int64_t joined) {
  return {Duration::Picoseconds(f), Duration::Picoseconds(b), Duration::Picoseconds(w),
          Duration::Picoseconds(joined)};
}

DrawnOrder Draw(const PipelineOrder& order, const PassTimes& times, std::size_t columns = 100) {
  return DrawOrder(order, PlayOrder(order, times), columns);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// By hand: p=2, F=1, B=2. Stage 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7. Stage 0 gets
// gradients at 4 and 7 and ends at 9.
TEST(DrawOrder, ShowsEveryStepInItsExactWidthAndTheBubblesAsDots) {
  const PipelineOrder order = OrderOf(*FindPipelineSchedule("1f1b"), {2, 2});
  const DrawnOrder drawn = Draw(order, Times(1, 1, 1, 3));
  EXPECT_TRUE(drawn.to_scale);
  EXPECT_EQ(drawn.text,
            "stage 0 |F0F1....B0--..B1--|\n"
            "stage 1 |..F0B0--F1B1--....|\n");
  // In other units it is the same picture.
  EXPECT_EQ(Draw(order, Times(2000, 2000, 2000, 1)).text, drawn.text);
}

TEST(DrawOrder, ShowsOddChunksInLowerCaseAndJoinedStepsAsOne) {
  const ParsedOrder parsed = ParseOrder("placement: vee\nF0.0 F0.1 F1.0&B0.1 B0.0 F1.1 B1.1 B1.0\n", "o");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0];
  EXPECT_EQ(Draw(parsed.order, Times(1, 1, 1, 3)).text, "stage 0 |F0f0F1&b0-B0--f1b1--B1--|\n");
}

// With room for one column a tick, forwards are left with their letter.
TEST(DrawOrder, DropsLabelsBeforeItDropsScale) {
  const PipelineOrder order = OrderOf(*FindPipelineSchedule("1f1b"), {2, 10});
  const DrawnOrder drawn = Draw(order, Times(1, 1, 1, 3), 50);
  EXPECT_TRUE(drawn.to_scale);  // 33 ticks in 40 columns
  EXPECT_EQ(Lines(drawn.text)[1], "stage 1 |.FB0FB1FB2FB3FB4FB5FB6FB7FB8FB9..|");
}

// A step too long for its columns is sampled: as many columns as there are, and
// idle ones in the share of the bubble.
TEST(DrawOrder, SamplesWhatDoesNotFit) {
  const PipelineOrder order = OrderOf(*FindPipelineSchedule("gpipe"), {4, 97});
  const DrawnOrder drawn = Draw(order, Times(1, 1, 1, 3));
  EXPECT_FALSE(drawn.to_scale);
  for (const std::string& line : Lines(drawn.text)) EXPECT_EQ(line.size(), 100u);
  // Stage 3 waits for 3 of 300, is busy for 291, waits for 6.
  EXPECT_EQ(std::count(drawn.text.begin(), drawn.text.end(), '\n'), 4);
  const std::string last = Lines(drawn.text)[3];
  EXPECT_EQ(std::count(last.begin(), last.end(), '.'), 3);  // 9 of 300 in 90 columns: 2.7
  EXPECT_EQ(std::count(last.begin(), last.end(), 'F'), 29);
  EXPECT_EQ(std::count(last.begin(), last.end(), 'B'), 58);
}

// The dots of a drawing to scale are the bubble, for every schedule.
TEST(DrawOrder, ShowsAsMuchIdleTimeAsThereIs) {
  for (const PipelineSchedule* schedule : PipelineSchedules()) {
    const PipelineOrder order = OrderOf(*schedule, {4, 8, schedule->chunks, 0, schedule->parts});
    const PlayedOrder played = PlayOrder(order, Times(1, 1, 1, 3));
    const DrawnOrder drawn = DrawOrder(order, played, 140);
    ASSERT_TRUE(drawn.to_scale) << schedule->name;
    for (std::size_t stage = 0; stage < 4; ++stage) {
      const std::string line = Lines(drawn.text)[stage];
      const auto width = static_cast<std::int64_t>(line.size()) - 10;  // "stage 0 |" and '|'
      const std::int64_t dots = std::count(line.begin(), line.end(), '.');
      EXPECT_EQ(dots * played.length.ps(), width * played.Idle(stage).ps()) << schedule->name;
    }
  }
}

}  // namespace
}  // namespace sim
