#include "scenarios/explain/sensitivity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/checkpoint_report.h"
#include "tests/scenarios/explain/explaining.h"

namespace scenarios {
namespace {

// What a hundredth of the step and more hangs on, within 5 % of the job played again with a per cent more of
// it, wherever the step stays on its path. A per cent more of a rate is 1 % less than its slope by itself.
void ExpectSlopesAgree(const Scenario& scenario, int at_least) {
  SCOPED_TRACE(scenario.name);
  const Explanation e = Explained(scenario, 0.01);
  int compared = 0;
  for (const Sensitivity& row : e.sensitivities) {
    ASSERT_TRUE(row.checked.has_value()) << IdOf(row.parameter) << ": " << row.unchecked;
    if (!row.checked->same_path) continue;
    const double step = e.report.step_time.seconds(), measured = row.checked->slope_s;
    if (std::abs(measured) < 0.01 * step) {
      EXPECT_LT(std::abs(row.slope_s - measured), 0.002 * step) << IdOf(row.parameter);
      continue;
    }
    EXPECT_NEAR(row.slope_s / measured, 1, 0.05) << IdOf(row.parameter);
    ++compared;
  }
  EXPECT_GE(compared, at_least);
}

TEST(Sensitivity, AgreesWithPlayingShippedScenariosAgain) {
  ExpectSlopesAgree(LoadNamed("seed27_example"), 3);
  ExpectSlopesAgree(LoadNamed("deepseek_v2_l4_8xb200"), 4);      // experts over NVLink
  ExpectSlopesAgree(LoadNamed("deepseek_v2_l4_8xb200_pp2"), 4);  // not steady
  ExpectSlopesAgree(LoadNamed("mpt_7b_8xa100"), 3);              // ZeRO-3
  ExpectSlopesAgree(LoadNamed("mpt_13b_16xh100"), 3);            // products at half their speed beside it
  ExpectSlopesAgree(LoadNamed("megatron_22b_8xa100_sp_selective"), 4);
  ExpectSlopesAgree(LoadNamed("zero_bubble_1_5b_8xa100"), 2);
}

TEST(Sensitivity, AgreesWhereHostsLaunchAndNicsCount) {
  ExpectSlopesAgree(
      FourLayers({{"training.launches", "EAGER"}, {"layout.tensor", "8"}, {"batch.sequence_length", "256"}}),
      1);
  // Tensor groups over two nodes.
  ExpectSlopesAgree(FourLayers({{"layout.tensor", "16"}, {"layout.pipeline", "1"}}), 4);
  ExpectSlopesAgree(FourLayers({{"hardware", "\"l40s\""}}), 3);
}

// Faster by one factor in all rates, and shorter in all that is a time, the job is shorter by that factor.
// What is no parameter (L2's way into SMs, rates of copies) is little.
TEST(Sensitivity, OfEverythingTogetherIsTheStep) {
  const Sets jobs[] = {{},
                       {{"training.optimizer_sharding", "ZERO_3"}, {"layout.pipeline", "1"}},
                       {{"training.launches", "EAGER"}, {"batch.sequence_length", "128"}}};
  for (const Sets& sets : jobs) {
    SCOPED_TRACE(testing::PrintToString(sets));
    const Explanation e = Explained(FourLayers(sets));
    double all = 0;
    for (const Sensitivity& row : e.sensitivities) {
      const bool time = row.parameter == Parameter::kKernelStart || row.parameter == Parameter::kLaunch ||
                        row.parameter == Parameter::kLatency;
      all += time ? row.slope_s : -row.slope_s;
    }
    EXPECT_GT(all, 0.93 * e.report.step_time.seconds());
    EXPECT_LT(all, 1.02 * e.report.step_time.seconds());
  }
}

TEST(PlayAgain, WithNothingChangedIsTheSameAndLeavesTheProgram) {
  const Scenario s = FourLayers();
  RunResult run = scenarios::Run(s).value();
  const sim::StepTimes steps = SteadySteps(s, run.steps.program, run.timeline);
  const std::string before = sim::ToText(run.steps.program);
  const sim::CriticalPath path = sim::CriticalPathOf(run.steps.program, run.timeline,
                                                     sim::FindPredecessors(run.steps.program), steps.period);
  for (int p = 0; p < kParameters; ++p) {
    SCOPED_TRACE(IdOf(static_cast<Parameter>(p)));
    const auto again = PlayAgain(s, &run, path, static_cast<Parameter>(p), 1, {});
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.value().step, steps.step_time());
    EXPECT_TRUE(again.value().same_path);
  }
  EXPECT_EQ(sim::ToText(run.steps.program), before);
}

}  // namespace
}  // namespace scenarios
