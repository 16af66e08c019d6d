// What holds for every schedule and every small shape.

#include <gtest/gtest.h>

#include <functional>

#include "sim/schedule/bubble.h"
#include "sim/schedule/pipeline_schedule.h"
#include "tests/sim/schedule/play_schedule.h"

namespace sim {
namespace {

// Calls `check` for every schedule and shape that it takes: p 1..8, m 1..16,
// v 1..4, and for interleaved all group sizes that Megatron takes.
void ForAll(const std::function<void(const PipelineSchedule&, const PipelineShape&)>& check) {
  for (const PipelineSchedule& schedule : PipelineSchedules()) {
    int shapes = 0;
    for (std::uint32_t stages = 1; stages <= 8; ++stages) {
      for (std::uint32_t microbatches = 1; microbatches <= 16; ++microbatches) {
        for (std::uint32_t chunks = 1; chunks <= 4; ++chunks) {
          for (std::uint32_t group = 0; group <= microbatches; ++group) {
            const PipelineShape shape{stages, microbatches, chunks, group};
            if (schedule.refuse(shape)) continue;
            SCOPED_TRACE(testing::Message() << schedule.name << ": p " << stages << " m " << microbatches
                                            << " v " << chunks << " group " << group);
            check(schedule, shape);
            ++shapes;
          }
        }
      }
    }
    EXPECT_GE(shapes, 128) << schedule.name;
  }
}

TEST(EverySchedule, RunsEachPieceOnceForwardAndThenOnceBackward) {
  ForAll([](const PipelineSchedule& schedule, const PipelineShape& shape) {
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      std::vector<int> seen(std::size_t{shape.microbatches} * shape.chunks, 0);  // 0, then F: 1, then B: 2
      for (const PipelineStep& step : schedule.order(shape, stage)) {
        ASSERT_LT(step.microbatch, shape.microbatches);
        ASSERT_LT(step.chunk, shape.chunks);
        int& state = seen[std::size_t{step.microbatch} * shape.chunks + step.chunk];
        ASSERT_EQ(state, step.kind == PipelineStep::Kind::kForward ? 0 : 1) << "stage " << stage;
        ++state;
      }
      for (const int state : seen) ASSERT_EQ(state, 2) << "stage " << stage;
    }
  });
}

// (m v + p - 1)(f + b) in chunk times, so no deadlock either. Interleaved
// reaches it for every group size that is not refused, not only for p | m.
TEST(EverySchedule, TakesTheIdealTimePlusTheBubbleOfTheClosedForm) {
  ForAll([](const PipelineSchedule& schedule, const PipelineShape& shape) {
    for (const auto& [f, b] : {std::pair{1, 1}, {1, 2}, {3, 1}, {1000, 2137}}) {
      const PlayedSchedule played = PlaySchedule(schedule, shape, f, b);
      ASSERT_TRUE(played.makespan.has_value()) << "deadlock";
      const std::int64_t work = std::int64_t{shape.microbatches} * shape.chunks;
      ASSERT_EQ(*played.makespan, (work + shape.stages - 1) * (f + b)) << f << " " << b;
      // The same as a share of the total, on each stage.
      const BubbleShare share = BubbleOfTotal(shape);
      for (const std::int64_t idle : played.idle)
        ASSERT_EQ(idle * share.whole, *played.makespan * share.idle);
    }
  });
}

TEST(EverySchedule, HoldsAtItsPeakWhatTheClosedFormSays) {
  ForAll([](const PipelineSchedule& schedule, const PipelineShape& shape) {
    const PlayedSchedule played = PlaySchedule(schedule, shape, 1, 2);
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      ASSERT_EQ(played.in_flight[stage], schedule.in_flight(shape, stage)) << "stage " << stage;
    }
  });
}

}  // namespace
}  // namespace sim
