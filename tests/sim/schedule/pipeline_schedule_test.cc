// What the schedules look like, against the figures and the rules they come from.

#include "sim/schedule/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/sim/schedule/play_schedule.h"

namespace sim {
namespace {

struct ScheduleCase {
  PipelineShape shape;
  std::uint32_t stage;
  std::string want;
};

void ExpectTexts(std::string_view name, const std::vector<ScheduleCase>& cases) {
  const PipelineSchedule* schedule = FindPipelineSchedule(name);
  ASSERT_NE(schedule, nullptr);
  for (const ScheduleCase& c : cases) {
    EXPECT_EQ(ToText(schedule->order(c.shape, c.stage), c.shape.chunks), c.want)
        << "stage " << c.stage << " of " << c.shape.stages << ", " << c.shape.microbatches
        << " micro-batches, " << c.shape.chunks << " chunks, group size " << c.shape.group_size;
  }
}

TEST(GPipe, RunsAllForwardsThenAllBackwardsOnEveryStage) {
  ExpectTexts("gpipe", {
                           {{.stages = 4, .microbatches = 4}, 0, "F0 F1 F2 F3 B0 B1 B2 B3"},
                           {{.stages = 4, .microbatches = 4}, 3, "F0 F1 F2 F3 B0 B1 B2 B3"},
                           {{.stages = 1, .microbatches = 1}, 0, "F0 B0"},
                       });
}

// SC 2021, figure 4 (top): 4 stages, 8 micro-batches.
TEST(OneForwardOneBackward, MatchesThePaper) {
  ExpectTexts("1f1b",
              {
                  {{.stages = 4, .microbatches = 8}, 0, "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7"},
                  {{.stages = 4, .microbatches = 8}, 1, "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7"},
                  {{.stages = 4, .microbatches = 8}, 2, "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7"},
                  {{.stages = 4, .microbatches = 8}, 3, "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7"},
                  {{.stages = 4, .microbatches = 2}, 0, "F0 F1 B0 B1"},
                  {{.stages = 1, .microbatches = 3}, 0, "F0 B0 F1 B1 F2 B2"},
              });
}

// Megatron-LM, combined_1f1b.py: of three micro-batches without a pipeline phase 0 is the first one's
// forward, phase 1 its backward with the second one's forward, and so on.
TEST(OneForwardOneBackward, OfOneStageJoinsEachForwardToTheBackwardBeforeIt) {
  ExpectTexts("1f1b", {{{.stages = 1, .microbatches = 3, .joined = true}, 0, "F0 F1&B0 F2&B1 B2"},
                       {{.stages = 1, .microbatches = 1, .joined = true}, 0, "F0 B0"}});
}

// By hand, for p=2 v=2 m=4: one forward more, 2(p-1-s) + (v-1)p + 1 = 5 and 3, comes first.
TEST(Interleaved, JoinedBeginsWithOneForwardMore) {
  const PipelineShape shape{.stages = 2, .microbatches = 4, .chunks = 2, .joined = true};
  ExpectTexts(
      "interleaved",
      {{shape, 0, "F0.0 F1.0 F0.1 F1.1 F2.0 F3.0&B0.1 F2.1&B1.1 F3.1&B0.0 B1.0 B2.1 B3.1 B2.0 B3.0"},
       {shape, 1, "F0.0 F1.0 F0.1 F1.1&B0.1 F2.0&B1.1 F3.0&B0.0 F2.1&B1.0 F3.1&B2.1 B3.1 B2.0 B3.0"}});
}

// By hand, for p=4 v=2 m=8 in groups of 4. Order of forwards on every stage:
//   F0.0 F1.0 F2.0 F3.0 | F0.1 F1.1 F2.1 F3.1 | F4.0 F5.0 F6.0 F7.0 | F4.1 F5.1 F6.1 F7.1
// and of backwards the same with the chunks exchanged. Warm-up of stage s is
// 2(p-1-s) + (v-1)p = 10, 8, 6, 4 forwards; then one each; then the backwards left.
TEST(Interleaved, MatchesTheOrderOfMegatron) {
  const PipelineShape shape{.stages = 4, .microbatches = 8, .chunks = 2};
  ExpectTexts("interleaved",
              {
                  {shape, 0,
                   "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 F3.1 F4.0 F5.0 "            // 10 forwards
                   "F6.0 B0.1 F7.0 B1.1 F4.1 B2.1 F5.1 B3.1 F6.1 B0.0 F7.1 B1.0 "  // 6 pairs
                   "B2.0 B3.0 B4.1 B5.1 B6.1 B7.1 B4.0 B5.0 B6.0 B7.0"},
                  {shape, 3,
                   "F0.0 F1.0 F2.0 F3.0 "  // 4 forwards
                   "F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4.0 B0.0 F5.0 B1.0 F6.0 B2.0 F7.0 B3.0 "
                   "F4.1 B4.1 F5.1 B5.1 F6.1 B6.1 F7.1 B7.1 "
                   "B4.0 B5.0 B6.0 B7.0"},
              });
}

// The comment in Megatron's get_schedule_table's caller: PP2 N3M5 VP2 runs
// micro-batches 0 1 2 0 1 2 3 4 3 4 through chunks 0 0 0 1 1 1 0 0 1 1. Warm-up
// of the last stage is (v-1)N = 3.
TEST(Interleaved, MakesTheLastGroupSmallerWhenMicroBatchesDoNotDivide) {
  const PipelineShape shape{.stages = 2, .microbatches = 5, .chunks = 2, .group_size = 3};
  ExpectTexts("interleaved", {{shape, 1,
                               "F0.0 F1.0 F2.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.0 B0.0 F4.0 B1.0 "
                               "F3.1 B2.0 F4.1 B3.1 B4.1 B3.0 B4.0"}});
}

// All warm-up: 2(p-1) + (v-1)p = 5 > 4 = m v: GPipe in chunks.
TEST(Interleaved, RunsAllForwardsFirstWhenTheWarmUpCoversThem) {
  const PipelineShape shape{.stages = 2, .microbatches = 2, .chunks = 2};
  ExpectTexts("interleaved", {{shape, 0, "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0"}});
}

std::int64_t Makespan(std::string_view name, const PipelineShape& shape) {
  return PlaySchedule(*FindPipelineSchedule(name), shape, 1, 1).makespan.value();
}

// HB-070: the last stage cannot start before p-1 = 7, works 2m = 64, and its
// last gradient needs 7 more: nothing is below 78.
TEST(PipelineSchedule, GPipeAndOneForwardOneBackwardTakeTheSameTimeAndDifferInMemory) {
  const PipelineShape shape{.stages = 8, .microbatches = 32};
  EXPECT_EQ(Makespan("gpipe", shape), 78);
  EXPECT_EQ(Makespan("1f1b", shape), 78);
  EXPECT_EQ(FindPipelineSchedule("gpipe")->in_flight(shape, 0), 32u);
  EXPECT_EQ(FindPipelineSchedule("1f1b")->in_flight(shape, 0), 8u);
}

// HB-072: 2 m v + 2(p-1) = 256 + 14 chunk times, and Megatron's warm-up
// 2(p-1) + (v-1)p = 10 for p=4 v=2, on which one more forward follows.
TEST(Interleaved, ShrinksTheBubbleByTheNumberOfChunks) {
  EXPECT_EQ(Makespan("interleaved", {.stages = 8, .microbatches = 32, .chunks = 4}), 270);
  const PipelineShape small{.stages = 4, .microbatches = 8, .chunks = 2};
  EXPECT_EQ(FindPipelineSchedule("interleaved")->in_flight(small, 0), 10u + 1);
}

// HB-053, the counts of it: p=8 m=32. Interleaved counts quarters of a stage:
// 39/4 = 9.75 on the first stage, 25/4 = 6.25 on the last.
TEST(PipelineSchedule, HoldsAsManyMicroBatchesInFlightAsTheClosedFormsSay) {
  const PipelineShape whole{.stages = 8, .microbatches = 32};
  const PipelineShape quarters{.stages = 8, .microbatches = 32, .chunks = 4};
  EXPECT_EQ(FindPipelineSchedule("1f1b")->in_flight(whole, 7), 1u);
  EXPECT_EQ(FindPipelineSchedule("gpipe")->in_flight(whole, 7), 32u);
  EXPECT_EQ(FindPipelineSchedule("interleaved")->in_flight(quarters, 0), 39u);
  EXPECT_EQ(FindPipelineSchedule("interleaved")->in_flight(quarters, 7), 25u);
  EXPECT_EQ(FindPipelineSchedule("1f1b")->in_flight({.stages = 8, .microbatches = 4}, 0), 4u);
}

TEST(PipelineSchedule, IsFoundByItsNameAlone) {
  ASSERT_EQ(PipelineSchedules().size(), 11u);
  for (const PipelineSchedule* schedule : PipelineSchedules()) {
    EXPECT_EQ(FindPipelineSchedule(schedule->name), schedule);
    EXPECT_FALSE(schedule->summary.empty() || schedule->needs.empty()) << schedule->name;
  }
  EXPECT_EQ(FindPipelineSchedule("1F1B"), nullptr);
  EXPECT_EQ(FindPipelineSchedule(""), nullptr);
}

TEST(PipelineStepText, NamesChunksOnlyWhereThereAreSeveral) {
  const PipelineStep steps[] = {{PipelineStep::Kind::kForward, 12, 0}, {PipelineStep::Kind::kBackward, 3, 1}};
  EXPECT_EQ(ToText(steps, 2), "F12.0 B3.1");
  EXPECT_EQ(ToText(std::span(steps).first(1)), "F12");
  EXPECT_EQ(ToText(std::span<const PipelineStep>()), "");
  const PipelineStep more[] = {{PipelineStep::Kind::kForward, 4, 0, 1, true},
                               {PipelineStep::Kind::kBackward, 0, 1, 0},
                               {PipelineStep::Kind::kBackwardInput, 1, 0, 0},
                               {PipelineStep::Kind::kBackwardWeight, 1, 0, 0}};
  EXPECT_EQ(ToText(more, 2, 2), "F4.0-1&B0.1-0 I1.0-0 W1.0-0");
}

}  // namespace
}  // namespace sim
