#include "scenarios/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "scenarios/loader.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Scenario LoadLegal(std::string_view name) {
  proto::Diagnostics diagnostics;
  auto scenario = LoadScenario(std::string(name), {}, &diagnostics);
  EXPECT_THAT(diagnostics.errors(), IsEmpty()) << name;
  EXPECT_TRUE(scenario.has_value()) << name;
  return scenario.value_or(Scenario());
}

TEST(ScenarioCatalogue, EveryEntryIsLegalAndCalledAsItsFile) {
  for (const proto::CatalogueFile& entry : Catalogue()) {
    const Scenario scenario = LoadLegal(entry.name);
    EXPECT_EQ(scenario.name, entry.name);
    // Experts farther than a node, and figures that are missing, are what these jobs are like.
    const bool spread = scenario.model.experts.routed > 0;
    for (const std::string& warning : scenario.warnings) {
      EXPECT_TRUE(spread && (warning.starts_with("layout.expert") ||
                             warning.starts_with("training.attention") || warning.starts_with("model")))
          << entry.name << ": " << warning;
    }
  }
}

TEST(ScenarioCatalogue, HasWhatIsPromised) {
  std::vector<std::string> names;
  for (const proto::CatalogueFile& entry : Catalogue()) names.emplace_back(entry.name);
  EXPECT_THAT(
      names,
      ElementsAre(
          "checkpoint_backlog", "deepseek_v2_256xh800", "deepseek_v2_l4_8xb200", "deepseek_v2_l4_8xb200_pp2",
          "deepseek_v3_2048xh800", "gpt3_175b_64xa100", "gpt3_175b_768xh100", "gpt_oss_120b_64xb200",
          "gpt_oss_120b_64xh100", "llama3_405b_16384xh100", "llama3_70b_64xh100_fp8", "llama3_8b_8xh100",
          "llama_70b_64xh800_a", "llama_70b_64xh800_b", "llama_70b_64xh800_c", "llama_70b_64xh800_checkpoint",
          "llama_70b_64xh800_pp2", "llama_70b_64xh800_pp4", "llama_7b_256xh800", "mcore_gpt_16b_192xh100",
          "mcore_gpt_1_7b_48xh100", "mcore_gpt_7_1b_96xh100", "megatron_22b_8xa100_full",
          "megatron_22b_8xa100_sp_selective", "mixtral_8x7b_64xh100", "moe_1_8t_1024xh800", "mpt_13b_16xh100",
          "mpt_13b_64xh100", "mpt_13b_8xa100", "mpt_30b_32xh100", "mpt_7b_8xa100", "qwen3_30b_a3b_16xh100",
          "sc21_gpt_18b_256xa100", "sc21_gpt_1_7b_32xa100", "sc21_gpt_3_6b_64xa100", "sc21_gpt_7_5b_128xa100",
          "seed27_example", "zero_bubble_1_5b_8xa100", "zero_bubble_6_2b_8xa100"));
}

// Textbook, 17.7.2: 1,024 sequences of 4,096 tokens are 4.19 million tokens a step.
TEST(ScenarioCatalogue, TheDefaultStepHas4194304Tokens) {
  const Scenario scenario = LoadLegal(kDefaultScenario);
  EXPECT_EQ(scenario.batch.global * scenario.batch.sequence_length, 4'194'304);
  EXPECT_EQ(scenario.layout.data, 256);
  EXPECT_EQ(scenario.batch.micro_batches, 1);
}

// Textbook, table 17-64 and its example: A has 128 micro-batches.
TEST(ScenarioCatalogue, LayoutAHas128MicroBatches) {
  EXPECT_EQ(LoadLegal("llama_70b_64xh800_a").batch.micro_batches, 128);
  EXPECT_EQ(LoadLegal("llama_70b_64xh800_b").batch.micro_batches, 128);
  EXPECT_EQ(LoadLegal("llama_70b_64xh800_c").batch.micro_batches, 64);
}

// Textbook, 17.6.8: tensor 4, pipeline 2, data 8 with 16 micro-batches, and its first example:
// tensor 4, pipeline 4, data 4 with 8.
TEST(ScenarioCatalogue, HasBothLayoutsOfSection1768) {
  for (const auto& [name, pipeline, data, micro_batches] :
       {std::tuple("llama_70b_64xh800_pp2", 2, 8, 16), std::tuple("llama_70b_64xh800_pp4", 4, 4, 8)}) {
    const Scenario s = LoadLegal(name);
    EXPECT_EQ(s.layout.tensor, 4) << name;
    EXPECT_EQ(s.layout.pipeline, pipeline) << name;
    EXPECT_EQ(s.layout.data, data) << name;
    EXPECT_EQ(s.batch.micro_batches, micro_batches) << name;
  }
}

// The sources' own figures: TFLOP/s per GPU, and the formula that counts them.
// SC 2021, equation 3: F = 96 B s l h^2 (1 + s/(6h) + V/(16 l h)).
TEST(ScenarioCatalogue, PublishedTimesOfSc21FollowFromTheirTeraflops) {
  const struct {
    const char* name;
    double tflops_per_gpu;
  } kRows[] = {{"sc21_gpt_1_7b_32xa100", 137},
               {"sc21_gpt_3_6b_64xa100", 138},
               {"sc21_gpt_7_5b_128xa100", 142},
               {"sc21_gpt_18b_256xa100", 135}};
  for (const auto& row : kRows) {
    const Scenario s = LoadLegal(row.name);
    const auto d = [](std::int64_t n) { return static_cast<double>(n); };
    const double l = d(s.model.layers), h = d(s.model.hidden), length = d(s.batch.sequence_length);
    const double flops = 96 * d(s.batch.global) * length * l * h * h *
                         (1 + length / (6 * h) + d(s.model.vocabulary) / (16 * l * h));
    const double seconds = flops / (row.tflops_per_gpu * 1e12 * d(s.devices));
    EXPECT_NEAR(s.published->step_time_s / seconds, 1, 1e-3) << row.name;
  }
}

// Megatron-LM's formula of the README table: 72 B s l h^2 (1 + s/(6h) + V/(12 l h)), no recomputation.
TEST(ScenarioCatalogue, PublishedTimesOfMegatronCoreFollowFromTheirTeraflops) {
  const struct {
    const char* name;
    double tflops_per_gpu;
  } kRows[] = {{"mcore_gpt_1_7b_48xh100", 408.8},
               {"mcore_gpt_7_1b_96xh100", 465.9},
               {"mcore_gpt_16b_192xh100", 489.1}};
  for (const auto& row : kRows) {
    const Scenario s = LoadLegal(row.name);
    const auto d = [](std::int64_t n) { return static_cast<double>(n); };
    const double l = d(s.model.layers), h = d(s.model.hidden), length = d(s.batch.sequence_length);
    const double flops = 72 * d(s.batch.global) * length * l * h * h *
                         (1 + length / (6 * h) + d(s.model.vocabulary) / (12 * l * h));
    const double seconds = flops / (row.tflops_per_gpu * 1e12 * d(s.devices));
    EXPECT_NEAR(s.published->step_time_s / seconds, 1, 1e-3) << row.name;
  }
}

}  // namespace
}  // namespace scenarios
