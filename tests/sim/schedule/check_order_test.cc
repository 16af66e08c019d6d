// Which orders are refused, and in which words; and that the verdict is right.

#include "sim/schedule/check_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <tuple>

#include "sim/schedule/order_text.h"

namespace sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Errors(const std::string& text) { return ParseOrder(text, "o").errors; }

TEST(CheckOrder, TakesLegalOrdersOfEveryForm) {
  EXPECT_THAT(Errors("F0 F1 B0 B1\nF0 B0 F1 B1\n"), IsEmpty());
  EXPECT_THAT(Errors("F0 I0 W0\nF0 B0\n"), IsEmpty());  // stages may differ
  EXPECT_THAT(Errors("placement: vee\nF0.0 F0.1 B0.1 B0.0\nF0.0 F0.1 B0.1 B0.0\n"), IsEmpty());
  EXPECT_THAT(Errors("placement: both-ends\nF0.0 F1.1 B1.1 B0.0\nF1.1 F0.0 B0.0 B1.1\n"), IsEmpty());
  EXPECT_THAT(Errors("F0-0 F0-1 B0-1 B0-0\n"), IsEmpty());
  EXPECT_THAT(Errors("F0 F1&B0 B1\n"), IsEmpty());
}

TEST(CheckOrder, NamesWhatIsMissingTwiceOrTooEarly) {
  EXPECT_THAT(Errors("F0 B0 F1\nB0 F0 F1 B1 F1\n"),
              ElementsAre("o:1:9: stage 0: has no backward of 1",
                          "o:2:1: stage 1, step 0 (B0): comes before its forward",
                          "o:2:13: stage 1, step 4 (F1): its second forward; one is wanted"));
  EXPECT_THAT(Errors("F0 W0 I0 F1 I1 I1\n"),
              ElementsAre("o:1:4: stage 0, step 1 (W0): comes before its input gradient",
                          "o:1:16: stage 0, step 5 (I1): its second backward; one is wanted",
                          "o:1:18: stage 0: has no weight gradient of 1"));
  EXPECT_THAT(
      Errors("F0 B0 W0 F1 I1 W1 W1\n"),
      ElementsAre("o:1:7: stage 0, step 2 (W0): its whole backward has made the weight gradient already",
                  "o:1:19: stage 0, step 6 (W1): its second weight gradient; one is wanted"));
  EXPECT_THAT(Errors("F0-0 B0-0 F0-1 F1-0 F1-1 B1-1 B1-0 B0-1\n"),
              ElementsAre("o:1:6: stage 0, step 1 (B0-0): deadlock: waits for B0-1 of stage 0"));
}

TEST(CheckOrder, RefusesToJoinAnythingButAForwardAndABackward) {
  EXPECT_THAT(
      Errors("F0&F1 B0 B1\n"),
      ElementsAre("o:1:1: stage 0, step 0 (F0): is joined; a forward and then a whole backward can be"));
  EXPECT_THAT(
      Errors("F0 F1&I0 W0 B1\n"),
      ElementsAre("o:1:4: stage 0, step 1 (F1): is joined; a forward and then a whole backward can be"));
  // A backward cannot run beside its own forward.
  EXPECT_THAT(Errors("F0&B0\n"),
              ElementsAre("o:1:1: stage 0, step 0 (F0): deadlock: waits for F0 of stage 0"));
}

TEST(CheckOrder, SaysFromWhichEndAMicroBatchComes) {
  EXPECT_THAT(Errors("placement: both-ends\nF1.0 F0.1 B0.1 B1.0\nF1.1 F0.0 B0.0 B1.1\n"),
              testing::Contains("o:2:1: stage 0, step 0 (F1.0): micro-batch 1 of 2 comes from the other end; "
                                "chunk 1 is wanted"));
}

TEST(CheckOrder, NamesTheCircleOfADeadlock) {
  EXPECT_THAT(
      Errors("F0 B0 F1 B1\nF0 F1 B0 B1\n"),
      ElementsAre("o:1:4: stage 0, step 1 (B0): deadlock: waits for B0 of stage 1, which waits at step 1 "
                  "(F1) for F1 of stage 0"));
  EXPECT_THAT(
      Errors("F0 I0 F1 W0 I1 W1\nF0 F1 I0 I1 W0 W1\n"),
      ElementsAre("o:1:4: stage 0, step 1 (I0): deadlock: waits for I0 of stage 1, which waits at step 1 "
                  "(F1) for F1 of stage 0"));
}

TEST(CheckOrder, RefusesStagesThatSendAndReceiveInDifferentOrders) {
  EXPECT_THAT(
      Errors("F0 F1 B0 B1\nF1 F0 B0 B1\n"),
      ElementsAre("o:2:1: stage 1, step 0 (F1): takes what stage 0 sends after F0 (its step 0), which is "
                  "taken later here: each waits for the other"));
}

// Runs an order with a queue for each pair of stages and kind of message, first
// in first out, and says whether it comes to its end.
bool Runs(const PipelineOrder& order) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::deque<StepNeed>> queues;
  std::vector<std::vector<StepNeed>> made(order.stages.size());
  std::vector<std::size_t> next(order.stages.size(), 0);
  const auto stage_of = [&](const StepNeed& need) {
    return SeatOf(order.placement, order.shape, need.piece, need.microbatch).stage;
  };
  const auto run = [&](std::uint32_t stage) {
    const PipelineStep& step = order.stages[stage][next[stage]];
    for (const StepNeed& need : NeedsOf(order, stage, step)) {
      const auto& own = made[stage];
      if (stage_of(need) == stage) {
        if (std::find(own.begin(), own.end(), need) == own.end()) return false;
        continue;
      }
      auto& queue = queues[{stage_of(need), stage, need.gradient}];
      if (queue.empty() || queue.front() != need) return false;
      queue.pop_front();  // a step has one need from elsewhere, so none is lost below
    }
    ++next[stage];
    const auto out = MadeBy(order, stage, step);
    if (!out) return true;
    made[stage].push_back(*out);
    const std::uint32_t last = PieceCount(order.placement, order.shape) - 1;
    if (out->gradient ? out->piece == 0 : out->piece == last) return true;
    const StepNeed to = {out->gradient, out->gradient ? out->piece - 1 : out->piece + 1, out->microbatch};
    if (stage_of(to) != stage) queues[{stage, stage_of(to), out->gradient}].push_back(*out);
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t stage = 0; stage < order.stages.size(); ++stage) {
      while (next[stage] < order.stages[stage].size() && run(stage)) moved = true;
    }
  }
  for (std::size_t stage = 0; stage < next.size(); ++stage) {
    if (next[stage] < order.stages[stage].size()) return false;
  }
  return true;
}

// Legal orders with a few neighbouring steps of a stage exchanged: those that stay
// complete and in order on each stage run exactly if CheckOrder says so.
TEST(CheckOrder, RefusesExactlyWhatDoesNotRunOverQueuesInOrder) {
  std::uint64_t random = 1;
  const auto below = [&](std::size_t n) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((random >> 33) % n);
  };
  int legal = 0, refused = 0;
  for (const char* name : {"gpipe", "1f1b", "zb1p", "zb2p", "zbv", "vhalf", "vmin", "interleaved"}) {
    const PipelineSchedule& schedule = *FindPipelineSchedule(name);
    for (int round = 0; round < 300; ++round) {
      PipelineOrder order = OrderOf(schedule, {3, 6, schedule.chunks});
      for (std::size_t i = below(12); i > 0; --i) {
        auto& steps = order.stages[below(order.stages.size())];
        const std::size_t at = below(steps.size() - 1);
        std::swap(steps[at], steps[at + 1]);
      }
      const std::vector<OrderMistake> mistakes = CheckOrder(order);
      const bool in_order_on_each_stage =
          mistakes.empty() || mistakes[0].message.find("comes before its") == std::string::npos;
      if (!in_order_on_each_stage) continue;
      ASSERT_EQ(mistakes.empty(), Runs(order)) << ToText(order);
      ++(mistakes.empty() ? legal : refused);
    }
  }
  EXPECT_GE(legal, 100);
  EXPECT_GE(refused, 100);
}

}  // namespace
}  // namespace sim
