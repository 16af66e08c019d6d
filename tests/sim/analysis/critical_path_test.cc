#include "sim/analysis/critical_path.h"

#include <gtest/gtest.h>

#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "sim/program/program_builder.h"
#include "tests/sim/analysis/hand_made.h"
#include "tests/sim/analysis/random_program.h"

namespace sim {
namespace {

Duration Ps(std::int64_t n) { return Duration::Picoseconds(n); }
constexpr std::size_t At(TaskClass c) { return static_cast<std::size_t>(c); }

// Two ranks, one all-reduce with a latency of 2 ps. Rank 1 is late: its forward
// takes 30, so the path is rank 1's forward, the all-reduce, and rank 0's
// optimizer, which is the longer one.
TEST(CriticalPath, GoesThroughTheSeatThatArrivedLast) {
  ProgramBuilder builder(2, {});
  const std::uint16_t name = builder.Name("task");
  const Label label{name, -1, -1};
  const TrafficId traffic = builder.AddTraffic(Latency("all-reduce", Ps(2)));
  const CommunicationId c = builder.AddCommunication(traffic);
  const WorkId work = builder.AddWork({Ps(10), Ps(10)});
  for (int r = 0; r < 2; ++r) {
    const StreamId compute = builder.AddStream(Rank(r), StreamKind::kCompute);
    const StreamId data = builder.AddStream(Rank(r), StreamKind::kData);
    const TaskId forward = builder.Work(compute, work, TaskClass::kForward, label);
    const TaskId seat = builder.Seat(data, c, TaskClass::kData, label);
    const TaskId optimizer = builder.Work(compute, work, TaskClass::kOptimizer, label);
    builder.After(seat, forward);
    builder.After(optimizer, seat);
  }
  const Program program = std::move(builder).Build().value();
  const Timeline timeline =
      HandMade(program, {{0, 10}, {10, 37}, {37, 50}, {0, 30}, {30, 37}, {37, 47}}, {30});
  const CriticalPath path =
      CriticalPathOf(program, timeline, FindPredecessors(program), {Time::Start(), sim::At(50)});
  EXPECT_EQ(path.work[At(TaskClass::kForward)], Ps(30));
  EXPECT_EQ(path.latency[At(TaskClass::kData)], Ps(2));
  EXPECT_EQ(path.transfer[At(TaskClass::kData)], Ps(5));
  EXPECT_EQ(path.work[At(TaskClass::kOptimizer)], Ps(13));
  EXPECT_EQ(path.total(), Ps(50));
  // Alone the works take 10: the path holds 20 and 3 of slow-down.
  EXPECT_EQ(path.slowed, Ps(23));
  ASSERT_EQ(path.pieces.size(), 3u);
  EXPECT_EQ(path.pieces[0].task, TaskId(3));
  EXPECT_EQ(path.pieces[1].task, TaskId(1));
  EXPECT_EQ(path.pieces[2].task, TaskId(2));
}

TEST(CriticalPath, IsCutAtTheStartOfThePeriod) {
  ProgramBuilder builder(1, {});
  const Label label{builder.Name("task"), -1, -1};
  const StreamId compute = builder.AddStream(Rank(0), StreamKind::kCompute);
  const WorkId work = builder.AddWork({Ps(10), Ps(10)});
  builder.Work(compute, work, TaskClass::kForward, label);
  builder.Work(compute, work, TaskClass::kBackward, label);
  const Program program = std::move(builder).Build().value();
  const CriticalPath path = CriticalPathOf(program, HandMade(program, {{0, 10}, {10, 20}}),
                                           FindPredecessors(program), {sim::At(4), sim::At(20)});
  EXPECT_EQ(path.work[At(TaskClass::kForward)], Ps(6));
  EXPECT_EQ(path.total(), Ps(16));
}

TEST(CriticalPath, AddsUpToThePeriodAndHasNoHole) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = RandomProgram(seed, 3);
    const Timeline timeline = Simulate(program).value();
    const Interval period = FindSteps(program, timeline).period;
    const CriticalPath path = CriticalPathOf(program, timeline, FindPredecessors(program), period);
    ASSERT_EQ(path.total(), period.length());
    Time at = period.from;
    for (const CriticalPath::Piece& piece : path.pieces) {
      ASSERT_EQ(piece.time.from, at);
      ASSERT_LT(piece.time.from, piece.time.to);
      at = piece.time.to;
    }
    ASSERT_EQ(at, period.to);
  }
}

// Symmetry: with one rank and one stream the path is the stream.
TEST(CriticalPath, OfOneStreamIsTheStream) {
  ProgramBuilder builder(1, {});
  const StreamId compute = builder.AddStream(Rank(0), StreamKind::kCompute);
  const Label label{builder.Name("task"), -1, -1};
  for (int i = 1; i <= 20; ++i) {
    builder.Work(compute, builder.AddWork({Ps(i), Ps(i)}),
                 i % 2 == 0 ? TaskClass::kForward : TaskClass::kBackward, label);
  }
  const Program program = std::move(builder).Build().value();
  const Timeline timeline = Simulate(program).value();
  const CriticalPath path =
      CriticalPathOf(program, timeline, FindPredecessors(program), {Time::Start(), timeline.finish});
  EXPECT_EQ(path.work[At(TaskClass::kForward)], Ps(110));   // 2 + 4 + ... + 20
  EXPECT_EQ(path.work[At(TaskClass::kBackward)], Ps(100));  // 1 + 3 + ... + 19
  EXPECT_EQ(path.slowed, Ps(0));
}

}  // namespace
}  // namespace sim
