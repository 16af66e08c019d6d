// The tables in which the papers compare schedules. p stages, m micro-batches;
// times of one micro-batch through a whole stage are cut into chunks, so that all
// schedules do the same work.

#include <gtest/gtest.h>

#include "sim/schedule/bubble.h"
#include "sim/schedule/play_order.h"

namespace sim {
namespace {

struct Times {
  std::int64_t forward, input, weight;
};

// The bubble of the table: of a stage's own span for those that bypass the optimizer.
std::int64_t BubbleOf(std::string_view name, std::uint32_t stages, std::uint32_t microbatches, Times times,
                      std::int64_t joined = 0) {
  const PipelineSchedule& schedule = *FindPipelineSchedule(name);
  const PipelineShape shape{stages, microbatches, schedule.chunks};
  const auto cut = [&](std::int64_t time) {
    return Duration::Picoseconds(time / static_cast<std::int64_t>(CutsOf(schedule.placement, shape)));
  };
  if (joined == 0) joined = times.forward + times.input + times.weight;
  const PassTimes chunk{cut(times.forward), cut(times.input), cut(times.weight), cut(joined)};
  return sim::BubbleOf(PlayOrder(OrderOf(schedule, shape), chunk), schedule.bypasses_optimizer).ps();
}

// Activations of the busiest stage in half micro-batches.
std::uint64_t HalvesHeld(std::string_view name, std::uint32_t stages, std::uint32_t microbatches) {
  const PipelineSchedule& schedule = *FindPipelineSchedule(name);
  const PipelineShape shape{stages, microbatches, schedule.chunks};
  std::uint32_t most = 0;
  for (const auto& steps : OrderOf(schedule, shape).stages) {
    most = std::max(most, MostInFlight(steps, HeldUntil::kBackwardWeight));
  }
  return 2 * most / CutsOf(schedule.placement, shape);
}

// README of sail-sg/zero-bubble-pipeline-parallelism for T_F = T_B = T_W, where
// 1F1B has B = (p-1) of F+B+W: ZB1P B/3, ZB2P 0, ZBV 0, V-Half B/2, V-Min 2B/3,
// the latter two "about": they are below by less than a chunk's F+B+W.
TEST(ScheduleTable, OfTheZeroBubbleReadmeHoldsForEqualTimes) {
  const Times equal{2, 2, 2};
  for (std::uint32_t p = 4; p <= 16; ++p) {
    for (const std::uint32_t m : {2 * p, 3 * p + 1}) {
      SCOPED_TRACE(testing::Message() << "p " << p << " m " << m);
      const std::int64_t b = BubbleOf("1f1b", p, m, equal);
      EXPECT_EQ(b, (p - 1) * 6);
      EXPECT_EQ(3 * BubbleOf("zb1p", p, m, equal), b);
      EXPECT_EQ(BubbleOf("zb2p", p, m, equal), 0);
      EXPECT_EQ(BubbleOf("zbv", p, m, equal), 0);
      const std::int64_t half = BubbleOf("vhalf", p, m, equal), least = BubbleOf("vmin", p, m, equal);
      EXPECT_LE(2 * half, b);
      EXPECT_GE(2 * half, b - 12);
      EXPECT_LE(3 * least, 2 * b);
      EXPECT_GE(3 * least, 2 * b - 9);
    }
  }
}

// The same table: activations 1, 1, 2, 1, 1/2, 1/3 of 1F1B's; exactly p, p, 2p-1,
// p, (p+2)//2 and (p+4)//3 micro-batches (README of the "controllable memory" demo).
TEST(ScheduleTable, OfTheZeroBubbleReadmeHoldsForActivations) {
  for (std::uint32_t p = 2; p <= 16; ++p) {
    const std::uint32_t m = 3 * p;
    EXPECT_EQ(HalvesHeld("1f1b", p, m), 2 * p);
    EXPECT_EQ(HalvesHeld("zb1p", p, m), 2 * p);
    EXPECT_EQ(HalvesHeld("zb2p", p, m), 2 * (2 * p - 1));
    EXPECT_EQ(HalvesHeld("zbv", p, m), 2 * p);
    EXPECT_EQ(HalvesHeld("vhalf", p, m), 2 * ((p + 2) / 2));
    EXPECT_EQ(HalvesHeld("vmin", p, m), 2 * ((p + 4) / 3));
  }
}

// Inputs and gradients of a micro-batch that stages send to each other.
std::size_t Transfers(std::string_view name, std::uint32_t stages) {
  const PipelineSchedule& schedule = *FindPipelineSchedule(name);
  const PipelineOrder order = OrderOf(schedule, {stages, 1, schedule.chunks});
  std::size_t transfers = 0;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (const PipelineStep& step : order.stages[stage]) {
      for (const StepNeed& need : NeedsOf(order, stage, step)) {
        transfers += SeatOf(order.placement, order.shape, need.piece, need.microbatch).stage != stage;
      }
    }
  }
  return transfers;
}

// The same table: pipeline communication 1, 1, 1, 2, 2, 2 of 1F1B's 2(p-1). The
// turn of the V sends nothing.
TEST(ScheduleTable, OfTheZeroBubbleReadmeHoldsForCommunication) {
  for (std::uint32_t p = 1; p <= 9; ++p) {
    EXPECT_EQ(Transfers("1f1b", p), 2 * (p - 1));
    for (const char* name : {"zb1p", "zb2p"}) EXPECT_EQ(Transfers(name, p), 2 * (p - 1)) << name;
    for (const char* name : {"zbv", "vhalf", "vmin"}) EXPECT_EQ(Transfers(name, p), 4 * (p - 1)) << name;
  }
}

// HB-081, played: p=16, F=1, whole B=2, W=1, joined 2.5 give 45, 15 and 10.5.
TEST(ScheduleTable, OfTheDualPipeReadmeIsWhatPlayingTheOrdersGives) {
  const Times times{2, 2, 2};
  EXPECT_EQ(BubbleOf("1f1b", 16, 40, times), 2 * 45);
  EXPECT_EQ(BubbleOf("zb1p", 16, 40, times), 2 * 15);
  EXPECT_EQ(BubbleOf("dualpipe", 16, 40, times, 5), 21);  // 2 * 10.5
  EXPECT_EQ(HalvesHeld("dualpipe", 16, 40), 2 * 17u);
  EXPECT_EQ(FindPipelineSchedule("dualpipe")->parameter_copies, 2u);
}

// The condition of Qi et al. 2024: W+2B >= 2F and W+2F >= 2B keep V-Half's steady
// state full; beyond it each micro-batch costs something. V-Min pays for any difference.
TEST(ScheduleTable, OnlyVMinPaysInEveryMicroBatchForUnequalTimes) {
  const auto grows = [](const char* name, Times times) {
    for (const std::uint32_t p : {4U, 5U, 8U}) {
      const std::int64_t few = BubbleOf(name, p, 2 * p, times), many = BubbleOf(name, p, 4 * p, times);
      if (many != few) return true;
    }
    return false;
  };
  for (const Times times : {Times{8, 10, 6}, {8, 10, 8}, {6, 8, 6}, {8, 8, 4}, {8, 12, 8}}) {
    EXPECT_FALSE(grows("vhalf", times)) << times.forward << " " << times.input << " " << times.weight;
    EXPECT_TRUE(grows("vmin", times)) << times.forward << " " << times.input << " " << times.weight;
  }
  EXPECT_TRUE(grows("vhalf", {2, 4, 2}));  // W+2F = 6 < 8 = 2B
  EXPECT_FALSE(grows("vmin", {2, 2, 2}));
}

// DualPipe of 2p ranks cut in half: the same bubble and activations a chunk, with
// chunks of half the size and one copy of the parameters.
TEST(DualPipeV, IsDualPipeCutInHalf) {
  const PassTimes times{Duration::Picoseconds(4), Duration::Picoseconds(4), Duration::Picoseconds(3),
                        Duration::Picoseconds(9)};
  for (std::uint32_t p = 1; p <= 6; ++p) {
    const PipelineOrder whole = OrderOf(*FindPipelineSchedule("dualpipe"), {2 * p, 4 * p + 4, 2});
    const PipelineOrder cut = OrderOf(*FindPipelineSchedule("dualpipev"), {p, 2 * p + 2, 2});
    EXPECT_EQ(sim::BubbleOf(PlayOrder(whole, times), false), sim::BubbleOf(PlayOrder(cut, times), false));
    EXPECT_EQ(MostInFlight(whole.stages[0], HeldUntil::kBackwardWeight),
              MostInFlight(cut.stages[0], HeldUntil::kBackwardWeight));
  }
}

// Both halves do the same, seen from their own end.
TEST(DualPipe, IsSymmetricUnderExchangeOfTheEnds) {
  const PipelineOrder order = OrderOf(*FindPipelineSchedule("dualpipe"), {6, 14, 2});
  for (std::size_t stage = 0; stage < 6; ++stage) {
    std::vector<PipelineStep> mirrored = order.stages[5 - stage];
    for (PipelineStep& step : mirrored) {
      step.chunk = 1 - step.chunk;
      step.microbatch = (step.microbatch + 7) % 14;
    }
    EXPECT_EQ(ToText(mirrored, 2), ToText(order.stages[stage], 2));
  }
}

}  // namespace
}  // namespace sim
