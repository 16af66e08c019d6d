// A run that is told to stop.

#include <gtest/gtest.h>

#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "sim/program/program_builder.h"

namespace sim {
namespace {

using namespace literals;

// Two ranks that work 1 ns a task and end a step after every `tasks`.
Program Steps(int steps, int tasks) {
  ProgramBuilder builder(2, {});
  const Label label{builder.Name("work")};
  for (int rank = 0; rank < 2; ++rank) {
    const StreamId stream = builder.AddStream(Rank(rank), StreamKind::kCompute);
    const WorkId work = builder.AddWork({1_ns, 1_ns});
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < tasks; ++i) builder.Work(stream, work, TaskClass::kForward, label);
      builder.Mark(stream, TaskClass::kStepEnd, {label.name, -1, step});
    }
  }
  return std::move(builder).Build().value();
}

TEST(Stop, GivesWhatEndedUntilThenAsInAWholeRun) {
  const Program program = Steps(10, 20'000);
  int questions = 0;
  std::uint64_t ended = 0;
  const Timeline part = Simulate(program, {.go_on =
                                               [&](const SimulationProgress& progress) {
                                                 EXPECT_EQ(progress.tasks, program.tasks());
                                                 ended = progress.tasks_ended;
                                                 return ++questions < 3;
                                               }})
                            .value();
  EXPECT_TRUE(part.stopped);
  EXPECT_EQ(part.digest, "");
  // Each work is one wakeup; both ranks end theirs together, and a mark every 20,000.
  EXPECT_EQ(part.events, 2 * kWakeupsBetweenQuestions);
  EXPECT_EQ(part.ended, ended);
  EXPECT_GE(ended, 2 * kWakeupsBetweenQuestions);
  const Timeline whole = Simulate(program).value();
  std::uint64_t found = 0;
  for (std::size_t t = 0; t < program.tasks(); ++t) {
    if (part.end[t] == Time::Never()) continue;
    ++found;
    EXPECT_EQ(part.start[t], whole.start[t]);
    EXPECT_EQ(part.end[t], whole.end[t]);
  }
  EXPECT_EQ(found, ended);
  // 131,072 wakeups are 65,536 tasks a rank: three steps and a bit, 20 us each.
  const std::vector<Time> steps = EndedSteps(program, part);
  ASSERT_EQ(steps.size(), 3u);
  for (std::size_t step = 0; step < 3; ++step)
    EXPECT_EQ(steps[step], Time::Start() + Duration::Microseconds(20 * (1 + static_cast<int>(step))));
}

TEST(Stop, BeforeTheFirstWakeupEndsNothing) {
  const Program program = Steps(1, 10);
  const Timeline timeline =
      Simulate(program, {.go_on = [](const SimulationProgress&) { return false; }}).value();
  EXPECT_TRUE(timeline.stopped);
  EXPECT_EQ(timeline.ended, 0u);
  EXPECT_TRUE(EndedSteps(program, timeline).empty());
}

TEST(Stop, QuestionsThatAreAnsweredYesChangeNothing) {
  const Program program = Steps(5, 20'000);
  int questions = 0;
  const Timeline asked = Simulate(program, {.go_on =
                                                [&](const SimulationProgress&) {
                                                  ++questions;
                                                  return true;
                                                }})
                             .value();
  EXPECT_EQ(questions, 4);  // at the start, and after each 65,536 of 200,000 wakeups
  EXPECT_FALSE(asked.stopped);
  const Timeline whole = Simulate(program).value();
  EXPECT_EQ(asked.digest, whole.digest);
  EXPECT_EQ(asked.ended, program.tasks());
  EXPECT_EQ(EndedSteps(program, whole).size(), 5u);
}

}  // namespace
}  // namespace sim
