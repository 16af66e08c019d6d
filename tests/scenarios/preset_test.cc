#include "scenarios/preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Preset, EveryOneOfTheCatalogueIsLegalCalledAsItsFileAndRuns) {
  proto::Diagnostics diagnostics;
  const std::vector<Preset> all = ReadPresets(&diagnostics);
  EXPECT_THAT(diagnostics.errors(), IsEmpty());
  ASSERT_EQ(all.size(), presets::Catalogue().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].name, presets::Catalogue()[i].name);
    EXPECT_FALSE(all[i].source.empty());
    // Tensor 4 and pipeline 2 of `kScenario`, which what some presets say of sharding refuses.
    EXPECT_THAT(Load({{"preset", all[i].name}, {"layout.pipeline", "1"}}).errors(), IsEmpty()) << all[i].name;
  }
}

TEST(Preset, GivesWhatTheScenarioDoesNotSayAndNothingElse) {
  const Loading plain = Load();
  const Loading preset = Load({{"preset", "megatron_lm_sc21"}, {"training.dropout", "false"}});
  ASSERT_TRUE(preset.scenario.has_value());
  const Training& training = preset.scenario->training;
  EXPECT_EQ(training.format, sim::NumberFormat::kFp16);
  EXPECT_EQ(training.optimizer_sharding, OptimizerSharding::kReplicated);
  EXPECT_EQ(training.bucket, sim::Bytes(26'214'400));  // 25 MiB
  EXPECT_EQ(training.attention, sim::AttentionKind::kUnfused);
  EXPECT_FALSE(training.dropout);  // the preset's is true
  EXPECT_THAT(preset.scenario->preset->fields,
              AllOf(Contains("training.attention=UNFUSED"), Not(Contains(HasSubstr("dropout")))));
  EXPECT_EQ(training.recompute, plain.scenario->training.recompute);
  EXPECT_FALSE(plain.scenario->preset.has_value());
}

// What the loader refuses beside the scenario's own choice is not taken.
TEST(Preset, LeavesFieldsThatHaveNoMeaningBesideTheScenariosOwnSharding) {
  const Loading none = Load({{"preset", "megatron_core_0_8"}, {"training.optimizer_sharding", "NONE"}});
  EXPECT_THAT(none.errors(), IsEmpty());
  const Loading cut =
      Load({{"preset", "nanotron"}, {"training.optimizer_sharding", "ZERO_3"}, {"layout.pipeline", "1"}});
  EXPECT_THAT(cut.errors(), IsEmpty());
  EXPECT_THAT(cut.scenario->preset->fields, Not(Contains(HasSubstr("bucket_mb"))));
}

TEST(Preset, GradientsInTheFormatOfTheWeightsFollowThem) {
  const Loading loading = Load({{"preset", "megatron_lm_sc21"}, {"training.format", "BF16"}});
  EXPECT_EQ(loading.scenario.value().training.gradient_format, sim::NumberFormat::kBf16);
  const Loading wide = Load({{"preset", "megatron_lm_2022"}, {"training.format", "BF16"}});
  EXPECT_EQ(wide.scenario.value().training.gradient_format, sim::NumberFormat::kFp32);
}

TEST(Preset, AnUnknownNameNamesTheNearest) {
  EXPECT_THAT(Load({{"preset", "nanotrom"}}).errors(),
              ElementsAre("--set 1: preset: there is no preset \"nanotrom\"; did you mean nanotron?"));
}

TEST(Preset, AMistakeInWhatAPresetGaveIsExplained) {
  const Loading loading = Load({{"preset", "megatron_lm_sc21"}, {"training.gradient_type", "BF16"}});
  EXPECT_THAT(loading.errors(), Contains(HasSubstr("BF16 gradients of FP16 weights")));
  EXPECT_THAT(loading.warnings(), Contains(HasSubstr("\"megatron_lm_sc21\" gives training.format=FP16")));
}

TEST(Preset, FusedKernelsAndLossReachTheExecution) {
  const models::Execution usual = ExecutionOf(Load().scenario.value());
  EXPECT_TRUE(usual.fused);
  EXPECT_FALSE(usual.fused_loss);
  const models::Execution eager = ExecutionOf(
      Load({{"training.fused_kernels", "false"}, {"training.fused_loss", "true"}}).scenario.value());
  EXPECT_FALSE(eager.fused);
  EXPECT_TRUE(eager.fused_loss);
}

}  // namespace
}  // namespace scenarios
