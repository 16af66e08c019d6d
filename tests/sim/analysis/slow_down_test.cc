#include "sim/analysis/slow_down.h"

#include <gtest/gtest.h>

#include "sim/program/program_builder.h"
#include "tests/sim/analysis/hand_made.h"

namespace sim {
namespace {

Duration Ps(std::int64_t n) { return Duration::Picoseconds(n); }
constexpr std::size_t ClassAt(TaskClass c) { return static_cast<std::size_t>(c); }

// Work of 10 ps alone that takes 15, then 12, on rank 0; rank 1's takes 30 and is not asked for. Of the first
// piece the window holds 6 of 15 ps, so 2 of the 5 by which it was stretched.
TEST(SlowDown, CountsTheShareOfWhatTheWindowHolds) {
  ProgramBuilder builder(2, {});
  const Label label{builder.Name("task"), -1, -1};
  const WorkId work = builder.AddWork({Ps(10), Ps(40)});
  const StreamId first = builder.AddStream(Rank(0), StreamKind::kCompute);
  builder.Work(first, work, TaskClass::kForward, label);
  builder.Work(first, work, TaskClass::kRecompute, label);
  const StreamId second = builder.AddStream(Rank(1), StreamKind::kCompute);
  builder.Work(second, work, TaskClass::kForward, label);
  const Program program = std::move(builder).Build().value();
  const Timeline timeline = HandMade(program, {{0, 15}, {15, 27}, {0, 30}});
  const auto slowed = SlowDownOf(program, timeline, Rank(0), {sim::At(9), sim::At(27)});
  EXPECT_EQ(slowed[ClassAt(TaskClass::kForward)], Ps(2));
  EXPECT_EQ(slowed[ClassAt(TaskClass::kRecompute)], Ps(2));
  EXPECT_EQ(slowed[ClassAt(TaskClass::kBackward)], Ps(0));
}

}  // namespace
}  // namespace sim
