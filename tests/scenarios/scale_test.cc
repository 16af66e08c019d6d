// The largest scenario, cut down: as it is, it takes most of a minute and 4 GiB.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/device_cost_model.h"
#include "scenarios/loader.h"
#include "scenarios/output/interruption.h"
#include "scenarios/run.h"
#include "sim/analysis/step.h"

namespace scenarios {
namespace {

using testing::HasSubstr;

// llama3_405b_16384xh100 with two data ranks instead of 128.
Scenario Cut405b() {
  proto::Diagnostics diagnostics;
  return LoadScenario("llama3_405b_16384xh100",
                      {{1, "devices", "256"}, {2, "layout.data", "2"}, {3, "batch.global", "32"}},
                      &diagnostics)
      .value();
}

// 126 layers, and the embedding and the loss in the place of one each: a piece a layer.
TEST(Scale, The405bScenarioIsAsThePaperSays) {
  proto::Diagnostics diagnostics;
  const Scenario scenario = LoadScenario("llama3_405b_16384xh100", {}, &diagnostics).value();
  EXPECT_EQ(scenario.layout.ranks(), 16'384);
  EXPECT_EQ(scenario.layout.data, 128);
  EXPECT_EQ(scenario.batch.micro_batches, 16);
  EXPECT_EQ(scenario.batch.global * scenario.batch.sequence_length, 16'777'216);  // "16M" tokens, table 4
  ASSERT_EQ(scenario.pipeline.layers_of_piece.size(), 128u);
  for (std::size_t piece = 0; piece < 128; ++piece)
    EXPECT_EQ(scenario.pipeline.layers_of_piece[piece], piece == 0 || piece == 127 ? 0 : 1) << piece;
}

TEST(Scale, EveryRankHasItsTasksThoughEachStageIsKeptOnce) {
  const Scenario scenario = Cut405b();
  const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
  const sim::Program& program = steps.program;
  EXPECT_EQ(program.scripts.size(), 16u);
  std::vector<std::size_t> tasks(program.ranks), of_script(program.ranks);
  program.ForEachTask([&](sim::TaskId, const sim::Place& at) {
    const std::size_t rank = program.rank_of(at).pos();
    ++tasks[rank];
    of_script[rank] = at.script->rows;
  });
  EXPECT_EQ(tasks, of_script);
  EXPECT_EQ(program.tasks(), [&] {
    std::size_t sum = 0;
    for (const std::size_t n : tasks) sum += n;
    return sum;
  }());
  // What the program keeps, in bytes a task: rows are 1/16 of the tasks here, 1/1,024 at full size.
  const std::size_t bytes = program.rows.size() * sizeof(sim::TaskRow) + 4 * program.successor.size() +
                            4 * program.seat_communication.size() + 4 * program.seats.size() +
                            program.communications.size() * sizeof(sim::Communication);
  EXPECT_LT(static_cast<double>(bytes) / static_cast<double>(program.tasks()), 60);
}

TEST(Scale, ARunThatIsStoppedWhileItIsBuiltSaysSo) {
  std::uint64_t ranks = 0;
  const RunResult run = scenarios::Run(Cut405b(), {.fold = false,
                                                   .go_on =
                                                       [&](const RunProgress& progress) {
                                                         EXPECT_EQ(progress.of, 256u);
                                                         ranks = progress.done;
                                                         return progress.done < 100;
                                                       }})
                            .value();
  EXPECT_EQ(ranks, 100u);
  ASSERT_TRUE(run.interruption.has_value());
  EXPECT_EQ(InterruptionText(*run.interruption),
            "interrupted after 100 of 256 ranks were built; nothing was simulated\n");
}

TEST(Scale, ARunThatIsStoppedWhileItIsSimulatedNamesTheStepsThatEnded) {
  proto::Diagnostics diagnostics;
  const Scenario scenario =
      LoadScenario("llama_7b_256xh800", {{1, "steps", "8"}, {2, "batch.global", "1024"}}, &diagnostics)
          .value();
  const RunResult whole = scenarios::Run(scenario, {.fold = false}).value();
  EXPECT_FALSE(whole.interruption.has_value());
  const std::vector<sim::Time> ends = sim::EndedSteps(whole.steps.program, whole.timeline);
  ASSERT_EQ(ends.size(), 8u);
  const RunResult run = scenarios::Run(scenario, {.fold = false,
                                                  .go_on =
                                                      [&](const RunProgress& progress) {
                                                        return progress.phase == RunProgress::Phase::kBuild ||
                                                               progress.now <= ends[1];
                                                      }})
                            .value();
  ASSERT_TRUE(run.interruption.has_value());
  const std::vector<sim::Time>& ended = run.interruption->step_ends;
  ASSERT_GE(ended.size(), 2u);
  ASSERT_LT(ended.size(), 8u);
  EXPECT_TRUE(std::equal(ended.begin(), ended.end(), ends.begin()));
  const std::string text = InterruptionText(*run.interruption);
  EXPECT_THAT(text, HasSubstr("interrupted after "));
  EXPECT_THAT(text, HasSubstr(" tasks, at "));
  EXPECT_THAT(text, HasSubstr("\n  step 1 ended at "));
}

TEST(Interruption, NamesTasksTimesAndSteps) {
  const auto at = [](std::int64_t ms) { return sim::Time::Start() + sim::Duration::Milliseconds(ms); };
  const Interruption interruption{{RunProgress::Phase::kSimulate, 1'234'567, 9'000'000, at(3500)},
                                  {at(1500), at(2750)}};
  EXPECT_EQ(InterruptionText(interruption),
            "interrupted after 1,234,567 of 9,000,000 tasks, at 3.5000 s of simulated time\n"
            "  step 0 ended at 1.5000 s, 1.5000 s after the start\n"
            "  step 1 ended at 2.7500 s, 1.2500 s after the one before\n");
  EXPECT_THAT(InterruptionJson(interruption), HasSubstr("\"tasks_done\": 1234567"));
}

}  // namespace
}  // namespace scenarios
