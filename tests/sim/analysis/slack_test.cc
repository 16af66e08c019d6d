#include "sim/analysis/slack.h"

#include <gtest/gtest.h>

#include "sim/analysis/critical_path.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/sim/analysis/hand_made.h"
#include "tests/sim/analysis/random_program.h"

namespace sim {
namespace {

// Durations that do not depend on when tasks run: no links are shared, no work is slowed down.
Program RigidProgram(std::uint64_t seed, int steps) {
  Program program = RandomProgram(seed, steps);
  for (WorkTimes& times : program.works) times = WorkTimes(times.alone, times.alone);
  for (Traffic& traffic : program.traffics) {
    traffic.latency = traffic.latency + Duration::Picoseconds(traffic.flows > 0 ? 7 : 0);
    traffic.flows = 0;
    traffic.taken = {};
  }
  return program;
}

// The same with one task longer; a seat's communication takes longer.
Program Lengthened(Program program, TaskId task, Duration more) {
  const Place at = program.PlaceOf(task);
  CHECK(at.script->players == 1);
  TaskRow& row = program.rows[at.script->first_row + at.row];
  if (row.kind == TaskKind::kSeat) {
    Communication& c = program.communications[program.communication_of(at).pos()];
    Traffic longer = program.traffics[c.traffic.pos()];
    longer.latency = longer.latency + more;
    c.traffic = TrafficId(program.traffics.size());
    program.traffics.push_back(longer);
  } else {
    const Duration alone = program.works[row.amount].alone + more;
    row.amount = static_cast<std::uint32_t>(program.works.size());
    program.works.push_back(WorkTimes(alone, alone));
  }
  return program;
}

Time LastEnd(const Program& program) { return FindSteps(program, Simulate(program).value()).end.back(); }

// Each task by itself: the step does not grow by its slack, and by a picosecond more it does.
TEST(Slack, IsWhatATaskCanTakeLongerBeforeTheStepGrows) {
  int tight = 0, loose = 0, free = 0;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = RigidProgram(seed, 2);
    const Timeline timeline = Simulate(program).value();
    const Time end = FindSteps(program, timeline).end.back();
    const Slack slack = SlackOf(program, timeline, FindPredecessors(program), end);
    for (std::size_t t = 0; t < program.tasks(); ++t) {
      if (program.row(TaskId(t)).kind == TaskKind::kMark) continue;
      const Duration of = slack.of(timeline, TaskId(t));
      if (of == kNoLimit) {
        ++free;
        ASSERT_EQ(LastEnd(Lengthened(program, TaskId(t), Duration::Nanoseconds(1))), end) << "task " << t;
        continue;
      }
      ++(of == Duration() ? tight : loose);
      ASSERT_EQ(LastEnd(Lengthened(program, TaskId(t), of)), end) << "task " << t;
      ASSERT_EQ(LastEnd(Lengthened(program, TaskId(t), of + Duration::Picoseconds(1))),
                end + Duration::Picoseconds(1))
          << "task " << t;
    }
  }
  EXPECT_GT(tight, 100);
  EXPECT_GT(loose, 100);
  EXPECT_GT(free, 10);
}

// Also where links are shared: the walk is over the timeline as it was.
TEST(Slack, OfTheCriticalPathIsNone) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = RandomProgram(seed, 3);
    const Timeline timeline = Simulate(program).value();
    const Predecessors predecessors = FindPredecessors(program);
    const Interval all{Time::Start(), FindSteps(program, timeline).end.back()};
    const Slack slack = SlackOf(program, timeline, predecessors, all.to);
    for (const CriticalPath::Piece& piece : CriticalPathOf(program, timeline, predecessors, all).pieces) {
      ASSERT_EQ(slack.of(timeline, piece.task), Duration());
    }
    for (std::size_t t = 0; t < program.tasks(); ++t) {
      ASSERT_GE(slack.of(timeline, TaskId(t)), Duration());
    }
  }
}

// Rank 0 works 10, rank 1 works 30, then both meet for 7, then rank 0 works 13 and rank 1 works 10: rank 0's
// first work has 20, rank 1's last work 3, all else none.
TEST(Slack, SeatsWaitForTheTightestPartner) {
  ProgramBuilder builder(2, {});
  const Label label{builder.Name("task"), -1, -1};
  const CommunicationId c = builder.AddCommunication(builder.AddTraffic(Latency("move")));
  const WorkId work = builder.AddWork({Duration::Picoseconds(10), Duration::Picoseconds(10)});
  for (int r = 0; r < 2; ++r) {
    const StreamId stream = builder.AddStream(Rank(r), StreamKind::kCompute);
    builder.Work(stream, work, TaskClass::kForward, label);
    builder.Seat(stream, c, TaskClass::kData, label);
    builder.Work(stream, work, TaskClass::kOptimizer, label);
  }
  const Program program = std::move(builder).Build().value();
  const Timeline timeline =
      HandMade(program, {{0, 10}, {10, 37}, {37, 50}, {0, 30}, {30, 37}, {37, 47}}, {30});
  const Slack slack = SlackOf(program, timeline, FindPredecessors(program), sim::At(50));
  std::vector<std::int64_t> ps;
  for (std::size_t t = 0; t < program.tasks(); ++t) ps.push_back(slack.of(timeline, TaskId(t)).ps());
  EXPECT_EQ(ps, (std::vector<std::int64_t>{20, 0, 0, 0, 0, 3}));
  EXPECT_EQ(slack.latest_begin[0], sim::At(30));
}

}  // namespace
}  // namespace sim
