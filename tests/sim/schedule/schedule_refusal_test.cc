// What the schedules refuse, and in which words: value found, value wanted.

#include <gtest/gtest.h>

#include <string>

#include "sim/schedule/pipeline_schedule.h"

namespace sim {
namespace {

std::string Refusal(std::string_view name, const PipelineShape& shape) {
  const std::optional<Error> error = FindPipelineSchedule(name)->refuse(shape);
  return error ? error->message : "";
}

TEST(EverySchedule, RefusesAShapeWithAZeroInIt) {
  for (const PipelineSchedule* schedule : PipelineSchedules()) {
    EXPECT_EQ(Refusal(schedule->name, {.stages = 0}), "0 pipeline stages; 1 means no pipeline");
    EXPECT_EQ(Refusal(schedule->name, {.microbatches = 0}), "0 micro-batches; a step needs at least 1");
    EXPECT_EQ(Refusal(schedule->name, {.chunks = 0}), "0 chunks a stage; 1 means the stage is not cut");
    EXPECT_EQ(Refusal(schedule->name, {.parts = 0}), "0 parts of a sequence; 1 means it is not cut");
  }
}

TEST(EverySchedule, RefusesMoreThanTheCountsCanHold) {
  for (const PipelineSchedule* schedule : PipelineSchedules()) {
    EXPECT_EQ(Refusal(schedule->name, {.stages = 65'537}), "65537 pipeline stages; at most 65536 would do");
    // 2^31 * 2^31 pieces do not wrap round to 0.
    EXPECT_EQ(
        Refusal(schedule->name, {.stages = 2, .microbatches = 1u << 31, .chunks = 1u << 31}),
        "4611686018427387904 pieces of work a stage (micro-batches times chunks); at most 1048576 would do");
  }
}

TEST(EverySchedule, RefusesAShapeThatIsNotItsOwn) {
  for (const PipelineSchedule* schedule : PipelineSchedules()) {
    const PipelineShape own{4, 8, schedule->chunks, 0, schedule->parts};
    EXPECT_EQ(Refusal(schedule->name, own), "");
    PipelineShape other = own;
    other.parts = own.parts == 1 ? 3 : 1;
    EXPECT_NE(Refusal(schedule->name, other), "") << schedule->name;
    other = own;
    other.chunks = own.chunks == 1 ? 2 : 1;
    EXPECT_NE(Refusal(schedule->name, other), "") << schedule->name;
  }
}

TEST(SchedulesInAV, RefuseAnythingButTwoChunks) {
  EXPECT_EQ(Refusal("zbv", {.stages = 4, .microbatches = 8}), "zbv: 1 chunk a stage; it has 2");
  EXPECT_EQ(Refusal("vmin", {.stages = 4, .microbatches = 8, .chunks = 3}),
            "vmin: 3 chunks a stage; it has 2");
  EXPECT_EQ(Refusal("vhalf", {.stages = 256, .microbatches = 1024, .chunks = 2}),
            "vhalf: 256 stages and 1024 micro-batches; at most 256 stages, and stages times micro-batches at "
            "most 131072");
}

// deepseek-ai/DualPipe asserts the same.
TEST(DualPipe, RefusesOddNumbersAndFewMicroBatches) {
  EXPECT_EQ(Refusal("dualpipe", {.stages = 3, .microbatches = 8, .chunks = 2}),
            "dualpipe: 3 stages; an even number, as they meet in the middle");
  EXPECT_EQ(Refusal("dualpipe", {.stages = 4, .microbatches = 9, .chunks = 2}),
            "dualpipe: 9 micro-batches on 4 stages; an even number from 8 on would do");
  EXPECT_EQ(Refusal("dualpipe", {.stages = 4, .microbatches = 6, .chunks = 2}),
            "dualpipe: 6 micro-batches on 4 stages; an even number from 8 on would do");
  EXPECT_EQ(Refusal("dualpipev", {.stages = 3, .microbatches = 5, .chunks = 2}),
            "dualpipev: 5 micro-batches on 3 stages; 6 or more would do");
  EXPECT_EQ(Refusal("dualpipev", {.stages = 3, .microbatches = 7, .chunks = 2}), "");
}

TEST(Sequence, RefusesASequenceThatIsNotCut) {
  EXPECT_EQ(Refusal("seq1f1b", {.stages = 4, .microbatches = 8}),
            "seq1f1b: a sequence in 1 part is not cut; 2 or more, or schedule \"1f1b\"");
  EXPECT_EQ(Refusal("zb1p", {.stages = 4, .microbatches = 8, .parts = 2}),
            "zb1p: a sequence in 2 parts; only schedule \"seq1f1b\" cuts sequences");
}

TEST(SchedulesWithoutChunks, RefuseChunksAndGroupsThatTheyWouldIgnore) {
  EXPECT_EQ(Refusal("1f1b", {.stages = 4, .microbatches = 8, .chunks = 2}),
            "1f1b: 2 chunks a stage; 1, or schedule \"interleaved\"");
  EXPECT_EQ(Refusal("gpipe", {.stages = 4, .microbatches = 8, .chunks = 1, .group_size = 4}),
            "gpipe: group size 4; only schedule \"interleaved\" has groups");
}

TEST(Interleaved, RefusesWhatIsNothingToInterleave) {
  EXPECT_EQ(Refusal("interleaved", {.stages = 4, .microbatches = 8, .chunks = 1}),
            "interleaved: 1 chunk a stage is nothing to interleave; 2 or more, or schedule \"1f1b\"");
  EXPECT_EQ(Refusal("interleaved", {.stages = 1, .microbatches = 8, .chunks = 2}),
            "interleaved: 1 stage has no bubble to shrink; 2 or more stages, or schedule \"1f1b\"");
}

TEST(Interleaved, RefusesMicroBatchesThatAreNoMultipleOfTheStages) {
  EXPECT_EQ(
      Refusal("interleaved", {.stages = 4, .microbatches = 10, .chunks = 2}),
      "interleaved: 10 micro-batches are not a multiple of the 4 stages; 8 and 12 would do, or a group size");
  EXPECT_EQ(Refusal("interleaved", {.stages = 4, .microbatches = 3, .chunks = 2}),
            "interleaved: 3 micro-batches are not a multiple of the 4 stages; 4 would do, or a group size");
  EXPECT_EQ(Refusal("interleaved", {.stages = 4, .microbatches = 8, .chunks = 2}), "");
}

// The bounds are Megatron-LM's: group size in [p, m]; last group 0 or >= p.
TEST(Interleaved, RefusesGroupSizesThatStallThePipeline) {
  EXPECT_EQ(Refusal("interleaved", {.stages = 4, .microbatches = 8, .chunks = 2, .group_size = 3}),
            "interleaved: group size 3 is not between the 4 stages and the 8 micro-batches; 4 to 8 would do");
  EXPECT_EQ(Refusal("interleaved", {.stages = 4, .microbatches = 8, .chunks = 2, .group_size = 9}),
            "interleaved: group size 9 is not between the 4 stages and the 8 micro-batches; 4 to 8 would do");
  EXPECT_EQ(
      Refusal("interleaved", {.stages = 4, .microbatches = 3, .chunks = 2, .group_size = 4}),
      "interleaved: group size 4 is not between the 4 stages and the 3 micro-batches; it needs at least as "
      "many micro-batches as stages");
  EXPECT_EQ(Refusal("interleaved", {.stages = 4, .microbatches = 11, .chunks = 2, .group_size = 4}),
            "interleaved: group size 4 leaves 3 of 11 micro-batches for the last group; 0, or at least the 4 "
            "stages, would do, else the pipeline stalls");
  // 10 = 5 + 5 and 9 = 5 + 4: no group below 4.
  EXPECT_EQ(Refusal("interleaved", {.stages = 4, .microbatches = 10, .chunks = 2, .group_size = 5}), "");
  EXPECT_EQ(Refusal("interleaved", {.stages = 4, .microbatches = 9, .chunks = 2, .group_size = 5}), "");
}

TEST(JoinedSteps, AreForInterleavedAndForOneStageOf1F1B) {
  EXPECT_EQ(Refusal("1f1b", {.stages = 1, .microbatches = 8, .joined = true}), "");
  EXPECT_EQ(Refusal("interleaved", {.stages = 4, .microbatches = 8, .chunks = 2, .joined = true}), "");
  EXPECT_EQ(
      Refusal("1f1b", {.stages = 4, .microbatches = 8, .joined = true}),
      "1f1b: 4 stages do not join forwards and backwards; 1 stage, or schedule \"interleaved\", would do");
  for (const char* name : {"gpipe", "zb1p", "zb2p"}) {
    EXPECT_EQ(Refusal(name, {.stages = 4, .microbatches = 8, .joined = true}),
              std::string(name) +
                  ": cannot be asked to join forwards and backwards; schedule \"interleaved\", or "
                  "\"1f1b\" of one stage, would do");
  }
  for (const char* name : {"zbv", "vhalf", "vmin", "dualpipe", "dualpipev"}) {
    EXPECT_NE(Refusal(name, {.stages = 4, .microbatches = 8, .chunks = 2, .joined = true}), "") << name;
  }
  EXPECT_NE(Refusal("seq1f1b", {.stages = 4, .microbatches = 8, .parts = 2, .joined = true}), "");
}

TEST(ScheduleDeathTest, OrderOfARefusedShapeIsOurBug) {
  for (const PipelineSchedule* schedule : PipelineSchedules()) {
    EXPECT_EXIT(schedule->order({.stages = 0}, 0), testing::ExitedWithCode(70), "bug");
    EXPECT_EXIT(schedule->in_flight({.stages = 4, .microbatches = 8, .chunks = 2}, 4),
                testing::ExitedWithCode(70), "bug");
  }
}

}  // namespace
}  // namespace sim
