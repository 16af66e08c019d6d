#include "scenarios/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/device_cost_model.h"
#include "scenarios/catalogue.h"
#include "scenarios/loader.h"
#include "scenarios/run.h"
#include "tests/scenarios/playing.h"

namespace scenarios {
namespace {

using testing::HasSubstr;

TEST(Estimate, IsAtMost15PerCentMoreThanTheTasksThatAreBuilt) {
  for (const std::string name : {"llama_7b_256xh800", "sc21_gpt_7_5b_128xa100", "megatron_22b_8xa100_full",
                                 "megatron_22b_8xa100_sp_selective", "mcore_gpt_7_1b_96xh100"}) {
    const Scenario scenario = LoadNamed(name);
    const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
    const double built = static_cast<double>(steps.program.tasks());
    EXPECT_GE(EstimateOf(scenario, steps.stages).tasks / built, 0.98) << name;
    EXPECT_LE(EstimateOf(scenario, steps.stages).tasks / built, 1.15) << name;
  }
}

TEST(Estimate, CountsSplitBackwards) {
  const std::vector<proto::Override> alone = {{1, "pipeline.schedule", "ZB1P"}},
                                     beside = {{1, "pipeline.schedule", "ZB1P"},
                                               {2, "layout.tensor", "2"},
                                               {3, "layout.pipeline", "4"},
                                               {4, "batch.global", "24"}};
  for (const auto& sets : {alone, beside}) {
    const Scenario scenario = LoadNamed("zero_bubble_6_2b_8xa100", sets);
    const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
    const double built = static_cast<double>(steps.program.tasks());
    EXPECT_GE(EstimateOf(scenario, steps.stages).tasks / built, 0.98);
    EXPECT_LE(EstimateOf(scenario, steps.stages).tasks / built, 1.15);
  }
}

TEST(Estimate, CountsWeightGradientsThatWait) {
  const Scenario scenario =
      LoadNamed("qwen3_30b_a3b_16xh100", {{1, "model.layers", "8"},
                                          {2, "pipeline.overlap_experts", "true"},
                                          {3, "pipeline.delay_weight_gradients", "true"}});
  const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
  const double built = static_cast<double>(steps.program.tasks());
  EXPECT_GE(EstimateOf(scenario, steps.stages).tasks / built, 0.98);
  EXPECT_LE(EstimateOf(scenario, steps.stages).tasks / built, 1.15);
}

TEST(Estimate, CountsTheTransfersOfChunks) {
  for (const std::string name : {"megatron_22b_8xa100_full", "seed27_example"}) {
    const Scenario scenario = LoadNamed(name, {{1, "fidelity", "CHUNK"}, {2, "model.layers", "4"}});
    const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
    const double built = static_cast<double>(steps.program.tasks());
    EXPECT_GE(EstimateOf(scenario, steps.stages).tasks / built, 0.95) << name;
    EXPECT_LE(EstimateOf(scenario, steps.stages).tasks / built, 1.3) << name;
  }
}

TEST(Estimate, TheDefaultScenarioInChunksIsRefusedNotTried) {
  const auto run =
      scenarios::Run(LoadNamed("llama_7b_256xh800", {{1, "fidelity", "CHUNK"}}), {.memory_limit = 8e9});
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("too large to simulate"));
}

TEST(Estimate, WorkOfMoreThanADayIsRefused) {
  const auto run =
      scenarios::Run(LoadNamed("seed27_example", {{1, "hardware.attention[1].forward.causal_tflops", "0.001"},
                                                  {2, "hardware.attention[0].forward.causal_tflops", "0.001"},
                                                  {3, "hardware.attention[2].forward.causal_tflops", "0.001"},
                                                  {4, "batch.sequence_length", "262144"}}));
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("more than a day"));
}

// 100,000 devices, 128 layers, 320,000 micro-batches: even one rank a stage has too many tasks.
TEST(Estimate, AJobTooLargeToSimulateIsRefusedWithItsFigures) {  // HB-230
  const Scenario scenario = LoadNamed("llama_70b_64xh800_a", {{1, "devices", "100000"},
                                                              {2, "model.layers", "128"},
                                                              {3, "layout.pipeline", "4"},
                                                              {4, "batch.global", "1000000000"},
                                                              {5, "topology", "single_switch_ndr"},
                                                              {6, "layout.data", "3125"}});
  EXPECT_EQ(scenario.batch.micro_batches, 320'000);
  const auto run = scenarios::Run(scenario);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("too large to simulate rank by rank: about "));
  EXPECT_THAT(run.error().message, HasSubstr(" GiB of memory"));
}

}  // namespace
}  // namespace scenarios
