// What holds for every schedule and every small shape.

#include <gtest/gtest.h>

#include <functional>

#include "sim/schedule/bubble.h"
#include "sim/schedule/check_order.h"
#include "sim/schedule/order_text.h"
#include "sim/schedule/play_order.h"
#include "tests/sim/schedule/play_schedule.h"
#include "tests/sim/schedule/relax_order.h"

namespace sim {
namespace {

using Check = std::function<void(const PipelineSchedule&, const PipelineShape&)>;

// Calls `check` for every schedule and shape that it takes: p 1..8, m 1..most,
// v 1..4, k 1..4, and for interleaved all group sizes that Megatron takes; those that can be asked to
// join their steps come once more, joined.
void ForAll(std::uint32_t most, const Check& check) {
  for (const PipelineSchedule* schedule : PipelineSchedules()) {
    int shapes = 0;
    for (std::uint32_t stages = 1; stages <= 8; ++stages) {
      for (std::uint32_t microbatches = 1; microbatches <= most; ++microbatches) {
        for (std::uint32_t chunks = 1; chunks <= 4; ++chunks) {
          for (std::uint32_t parts = 1; parts <= 4; ++parts) {
            for (std::uint32_t group = 0; group <= microbatches; ++group) {
              for (const bool joined : {false, true}) {
                const PipelineShape shape{stages, microbatches, chunks, group, parts, joined};
                if (schedule->refuse(shape)) continue;
                SCOPED_TRACE(testing::Message()
                             << schedule->name << ": p " << stages << " m " << microbatches << " v " << chunks
                             << " k " << parts << " group " << group << (joined ? " joined" : ""));
                check(*schedule, shape);
                ++shapes;
              }
            }
          }
        }
      }
    }
    EXPECT_GE(shapes, most < 16 ? 2 : 16) << schedule->name;
  }
}

PassTimes Times(std::int64_t f, std::int64_t b, std::int64_t w, std::int64_t joined) {
  return {Duration::Picoseconds(f), Duration::Picoseconds(b), Duration::Picoseconds(w),
          Duration::Picoseconds(joined)};
}

// Equal and unequal times, with joined steps that hide nothing or something.
std::vector<PassTimes> TimesGrid() {
  return {Times(1, 1, 1, 3), Times(4, 4, 4, 10), Times(4, 4, 3, 9),          Times(4, 4, 1, 9),
          Times(2, 1, 1, 4), Times(1, 2, 1, 3),  Times(3, 2, 2, 7),          Times(10, 11, 7, 28),
          Times(1, 1, 2, 4), Times(3, 1, 2, 5),  Times(500, 1000, 300, 1500)};
}

TEST(EverySchedule, IsLegal) {
  ForAll(16, [](const PipelineSchedule& schedule, const PipelineShape& shape) {
    const PipelineOrder order = OrderOf(schedule, shape);
    for (const OrderMistake& mistake : CheckOrder(order)) ADD_FAILURE() << ToText(mistake, order);
  });
}

TEST(EverySchedule, GivesEachStageAloneTheOrderThatItHasAmongAll) {
  ForAll(16, [](const PipelineSchedule& schedule, const PipelineShape& shape) {
    const PipelineOrder order = OrderOf(schedule, shape);
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      ASSERT_EQ(schedule.order(shape, stage), order.stages[stage]) << stage;
    }
  });
}

// Groups are played below, with all their sizes.
TEST(EverySchedule, IdlesAsLongAsTheClosedFormSays) {
  ForAll(20, [](const PipelineSchedule& schedule, const PipelineShape& shape) {
    if (shape.group_size != 0 || shape.microbatches * shape.parts > 40) return;
    const PipelineOrder order = OrderOf(schedule, shape);
    for (const PassTimes& times : TimesGrid()) {
      const std::optional<Duration> bubble = schedule.bubble(shape, times);
      if (!bubble) continue;
      ASSERT_EQ(BubbleOf(PlayOrder(order, times), schedule.bypasses_optimizer), *bubble)
          << times.forward.ps() << " " << times.backward_input.ps() << " " << times.backward_weight.ps()
          << " " << times.joined.ps();
    }
  });
}

// A closed form that never applies would pass the test above.
TEST(EverySchedule, HasAClosedFormForEqualTimesAndEnoughMicroBatches) {
  for (const PipelineSchedule* schedule : PipelineSchedules()) {
    const PipelineShape shape{4, 8, schedule->chunks, 0, schedule->parts};
    EXPECT_TRUE(schedule->bubble(shape, Times(1, 1, 1, 3)).has_value()) << schedule->name;
  }
}

TEST(EverySchedule, HoldsAtItsPeakWhatTheClosedFormSays) {
  ForAll(20, [](const PipelineSchedule& schedule, const PipelineShape& shape) {
    const PipelineOrder order = OrderOf(schedule, shape);
    std::uint32_t most = 0;
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      const std::uint32_t held = MostInFlight(order.stages[stage], HeldUntil::kBackwardWeight);
      ASSERT_LE(MostInFlight(order.stages[stage], HeldUntil::kBackwardInput), held);
      ASSERT_LE(held, schedule.in_flight(shape, stage)) << "stage " << stage;
      if (!schedule.in_flight_is_the_most) {
        ASSERT_EQ(held, schedule.in_flight(shape, stage)) << "stage " << stage;
      }
      most = std::max(most, held);
    }
    if (schedule.in_flight_is_the_most) {
      ASSERT_EQ(most, schedule.in_flight(shape, 0));
    }
  });
}

TEST(PlayOrder, AgreesWithTheSlowVersionOnEverySchedule) {
  ForAll(9, [](const PipelineSchedule& schedule, const PipelineShape& shape) {
    if (shape.stages * shape.microbatches * shape.chunks * shape.parts > 60) return;
    const PipelineOrder order = OrderOf(schedule, shape);
    for (const PassTimes& times : {Times(1, 1, 1, 3), Times(10, 11, 7, 25)}) {
      const auto slow = RelaxOrder(order, times);
      const PlayedOrder played = PlayOrder(order, times);
      ASSERT_TRUE(played.finished);
      for (std::size_t s = 0; s < slow.size(); ++s) {
        for (std::size_t i = 0; i < slow[s].size(); ++i) {
          ASSERT_EQ(played.spans[s][i].start, slow[s][i].start) << s << " " << i;
          ASSERT_EQ(played.spans[s][i].end, slow[s][i].end) << s << " " << i;
        }
      }
    }
  });
}

// (m v + p - 1)(f + b) in chunk times. Interleaved reaches it for every group
// size that is not refused, not only for p | m.
TEST(SchedulesOfWholeBackwards, TakeTheIdealTimePlusTheBubbleOfTheClosedForm) {
  ForAll(16, [](const PipelineSchedule& schedule, const PipelineShape& shape) {
    if (schedule.splits_backward || shape.parts > 1 || shape.joined) return;
    for (const auto& [f, b] : {std::pair{1, 1}, {1, 2}, {3, 1}, {1000, 2137}}) {
      const PlayedSchedule played = PlaySchedule(schedule, shape, f, b);
      ASSERT_TRUE(played.makespan.has_value()) << "deadlock";
      const std::int64_t work = std::int64_t{shape.microbatches} * shape.chunks;
      ASSERT_EQ(*played.makespan, (work + shape.stages - 1) * (f + b)) << f << " " << b;
      ASSERT_EQ(PlayOrder(OrderOf(schedule, shape), Times(f, b, 0, f + b)).length.ps(), *played.makespan);
      // The same as a share of the total, on each stage.
      const BubbleShare share = BubbleOfTotal(shape);
      for (const std::int64_t idle : played.idle)
        ASSERT_EQ(idle * share.whole, *played.makespan * share.idle);
    }
  });
}

// A text that a user may change and give back.
TEST(EverySchedule, ReadsBackFromItsText) {
  ForAll(8, [](const PipelineSchedule& schedule, const PipelineShape& shape) {
    const PipelineOrder order = OrderOf(schedule, shape);
    const ParsedOrder parsed = ParseOrder(ToText(order), "text");
    for (const std::string& error : parsed.errors) ADD_FAILURE() << error;
    ASSERT_EQ(parsed.order.stages, order.stages);
    ASSERT_EQ(parsed.order.placement, order.placement);
  });
}

}  // namespace
}  // namespace sim
