#include "sim/analysis/step.h"

#include <gtest/gtest.h>

#include "sim/program/executor.h"
#include "sim/program/program_builder.h"
#include "tests/sim/analysis/hand_made.h"

namespace sim {
namespace {

// One mark a rank and step; mark i of a rank ends at ends[rank][i].
struct Marked {
  Program program;
  Timeline timeline;
};
Marked MarksAt(const std::vector<std::vector<std::int64_t>>& ends) {
  ProgramBuilder builder(static_cast<std::uint32_t>(ends.size()), {});
  const std::uint16_t name = builder.Name("step");
  std::vector<Span> spans;
  for (std::size_t r = 0; r < ends.size(); ++r) {
    const StreamId stream = builder.AddStream(Rank(r), StreamKind::kCompute);
    for (std::size_t i = 0; i < ends[r].size(); ++i) {
      builder.Mark(stream, TaskClass::kStepEnd, {name, -1, static_cast<std::int32_t>(i)});
      spans.push_back({ends[r][i], ends[r][i]});
    }
  }
  Program program = std::move(builder).Build().value();
  Timeline timeline = HandMade(program, spans);
  return {std::move(program), std::move(timeline)};
}

TEST(Steps, EndWhenTheirLastRankDoesAndTheLastPeriodIsTheStepTime) {
  const Marked m = MarksAt({{10, 17, 27}, {12, 16, 24}});
  const StepTimes steps = FindSteps(m.program, m.timeline);
  EXPECT_EQ(steps.end, (std::vector<Time>{At(12), At(17), At(27)}));
  EXPECT_EQ(steps.period, (Interval{At(17), At(27)}));
  EXPECT_EQ(steps.step_time(), Duration::Picoseconds(10));  // not 27 / 3
  EXPECT_FALSE(steps.steady);                               // 5, then 10
  EXPECT_EQ(steps.WindowOf(Rank(1)), steps.period);
}

TEST(Steps, AreSteadyWhenTheLastTwoPeriodsAreEqual) {
  const Marked m = MarksAt({{10, 17, 24}, {9, 16, 23}});
  const StepTimes steps = FindSteps(m.program, m.timeline);
  EXPECT_TRUE(steps.steady);
  // Rank 1 ended its steps at 16 and 23: its own last step.
  EXPECT_EQ(steps.WindowOf(Rank(1)), (Interval{At(16), At(23)}));
  EXPECT_EQ(steps.WindowOf(Rank(0)), (Interval{At(17), At(24)}));
}

TEST(Steps, OfOneStepProgramsLastFromStartToEndAndAreNotSteady) {
  const Marked m = MarksAt({{40}, {50}});
  const StepTimes steps = FindSteps(m.program, m.timeline);
  EXPECT_EQ(steps.step_time(), Duration::Picoseconds(50));
  EXPECT_FALSE(steps.steady);
}

TEST(Steps, TwoStepsHaveOnePeriodAndAreNotCalledSteady) {
  const Marked m = MarksAt({{10, 20}});
  EXPECT_FALSE(FindSteps(m.program, m.timeline).steady);
}

TEST(Steps, WithoutMarksAreOneStepToTheFinish) {
  ProgramBuilder builder(1, {});
  const StreamId stream = builder.AddStream(Rank(0), StreamKind::kCompute);
  builder.Work(stream, builder.AddWork({Duration::Picoseconds(7), Duration::Picoseconds(7)}),
               TaskClass::kForward, {builder.Name("work"), -1, -1});
  const Program program = std::move(builder).Build().value();
  EXPECT_EQ(FindSteps(program, HandMade(program, {{0, 7}})).step_time(), Duration::Picoseconds(7));
}

// HB-187: a workload with nothing to run is an error, not a run of 0 cycles.
TEST(EmptyProgram, IsRefused) {
  const Result<Program> built = ProgramBuilder(1, {}).Build();
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().message, "nothing to run: the program has no tasks");
}

// HB-185: two tasks of 10 us, the second after the first, take 20 us, not 10; a
// dependency on a task that does not exist (id 4) stops the run, it is not lost.
TEST(Dependencies, AllCountAndNoneIsLost) {
  ProgramBuilder builder(1, {});
  const WorkId work = builder.AddWork({Duration::Microseconds(10), Duration::Microseconds(10)});
  const Label label{builder.Name("work"), -1, -1};
  const TaskId first =
      builder.Work(builder.AddStream(Rank(0), StreamKind::kCompute), work, TaskClass::kForward, label);
  const TaskId second =
      builder.Work(builder.AddStream(Rank(0), StreamKind::kHost), work, TaskClass::kLoad, label);
  builder.After(second, first);
  EXPECT_EXIT(builder.After(second, TaskId(4)), testing::ExitedWithCode(kExitBug), "CHECK");
  const Program program = std::move(builder).Build().value();
  EXPECT_EQ(FindSteps(program, Simulate(program).value()).step_time(), Duration::Microseconds(20));
}

}  // namespace
}  // namespace sim
