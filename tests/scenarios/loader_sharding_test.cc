// Sharding and recomputation as scenario files give them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::Contains;
using testing::HasSubstr;

// kScenario without its pipeline: tensor 4, data 4.
Loading LoadFlat(Sets sets) {
  sets.emplace_back("layout.pipeline", "1");
  return Load(sets);
}

TEST(LoadSharding, DefaultsAreThoseOfTheFrameworks) {
  const Sharding zero1 = Load().scenario.value().training.sharding;
  EXPECT_TRUE(zero1.no_sync);
  const Scenario zero3 = LoadFlat({{"training.optimizer_sharding", "ZERO_3"}}).scenario.value();
  EXPECT_EQ(zero3.training.optimizer_sharding, OptimizerSharding::kZero3);
  const Sharding& sharding = zero3.training.sharding;
  EXPECT_FALSE(sharding.no_sync);
  EXPECT_TRUE(sharding.reshard_after_forward);
  EXPECT_FALSE(sharding.reshard_last_unit);
  EXPECT_EQ(sharding.prefetch, 1);
  EXPECT_EQ(sharding.ranks, 0);
}

TEST(LoadSharding, TakesEveryOption) {
  const Scenario s = LoadFlat({{"training.optimizer_sharding", "ZERO_3"},
                               {"training.sharding.ranks", "2"},
                               {"training.sharding.no_sync", "true"},
                               {"training.sharding.reshard_last_unit", "true"},
                               {"training.sharding.prefetch", "5"},
                               {"training.sharding.rate_limit", "3"}})
                         .scenario.value();
  EXPECT_EQ(s.training.sharding.ranks, 2);
  EXPECT_TRUE(s.training.sharding.no_sync);
  EXPECT_TRUE(s.training.sharding.reshard_last_unit);
  EXPECT_EQ(s.training.sharding.prefetch, 2);  // the one that runs and two more
}

TEST(LoadSharding, SaysWhatDoesNotGoTogether) {
  const struct {
    Sets sets;
    const char* error;
  } cases[] = {
      {{{"training.optimizer_sharding", "ZERO_3"}, {"training.sharding.ranks", "3"}},
       "--set 2: training.sharding.ranks: 3 does not divide the 4 data ranks; 1, 2 and 4 do"},
      {{{"training.optimizer_sharding", "NONE"}, {"training.sharding.ranks", "2"}},
       "--set 2: training.sharding.ranks: needs optimizer_sharding ZERO_1, ZERO_2 or ZERO_3"},
      {{{"training.optimizer_sharding", "ZERO_2"}, {"training.sharding.prefetch", "2"}},
       "--set 2: training.sharding.prefetch: needs optimizer_sharding ZERO_3"},
      {{{"training.optimizer_sharding", "ZERO_3"}, {"training.bucket_mb", "25"}},
       "--set 2: training.bucket_mb: has no meaning with ZERO_3"},
      {{{"training.optimizer_sharding", "ZERO_3"}, {"training.overlap_parameter_gather", "false"}},
       "--set 2: training.overlap_parameter_gather: is for ZERO_1 and ZERO_2"},
      {{{"training.optimizer_sharding", "ZERO_3"},
        {"training.sharding.reshard_after_forward", "false"},
        {"training.sharding.reshard_last_unit", "true"}},
       "--set 3: training.sharding.reshard_last_unit: true needs reshard_after_forward true"},
      {{{"training.optimizer_sharding", "ZERO_3"}, {"training.sharding.rate_limit", "0"}},
       "--set 2: training.sharding.rate_limit: 0 is out of range"},
  };
  for (const auto& c : cases) {
    const Loading loading = LoadFlat(c.sets);
    EXPECT_FALSE(loading.scenario.has_value()) << c.error;
    EXPECT_EQ(loading.errors().size(), 1u) << c.error;
    EXPECT_THAT(loading.errors(), Contains(HasSubstr(c.error)));
  }
}

TEST(LoadSharding, UnderAPipelineGradientsWaitForTheLastMicroBatch) {
  for (const char* kind : {"ZERO_2", "ZERO_3"}) {
    EXPECT_TRUE(Load({{"training.optimizer_sharding", kind}}).scenario.value().training.sharding.no_sync);
    EXPECT_THAT(Load({{"training.optimizer_sharding", kind}, {"model.tied_embedding", "true"}}).errors(),
                testing::ElementsAre(
                    HasSubstr("--set 1: training.optimizer_sharding: ZERO_2 and ZERO_3 are not "
                              "simulated with an embedding that is tied over the 2 pipeline stages")));
    EXPECT_THAT(Load({{"training.optimizer_sharding", kind},
                      {"pipeline.schedule", "DUALPIPE"},
                      {"layout.virtual", "2"}})
                    .errors(),
                Contains(HasSubstr(
                    "--set 1: training.optimizer_sharding: more than ZERO_1 is not simulated where two "
                    "stages hold the same pieces")));
  }
  EXPECT_THAT(
      Load({{"training.sharding.no_sync", "false"}}).errors(),
      Contains(HasSubstr("--set 1: training.sharding.no_sync: false needs layout.pipeline 1, not 2")));
}

TEST(LoadRecompute, TakesMegatronsMethods) {
  const auto full = [](const Sets& more) {
    Sets sets = {{"training.recompute", "FULL"}};
    sets.insert(sets.end(), more.begin(), more.end());
    return Load(sets).scenario.value().training.full_recompute;
  };
  EXPECT_FALSE(full({}).first_layers_only);
  EXPECT_EQ(full({}).layers, 1);
  EXPECT_EQ(full({{"training.recompute_layers", "4"}}).layers, 4);
  EXPECT_TRUE(
      full({{"training.recompute_method", "BLOCK"}, {"training.recompute_layers", "4"}}).first_layers_only);
}

TEST(LoadRecompute, TakesModulesByName) {
  const std::string text = std::string(kScenario) +
                           "training { recompute: SELECTIVE recompute_modules: [LAYERNORM, NONLINEARITY] }\n";
  const models::SelectiveModules modules = Load({}, text).scenario.value().training.selective;
  EXPECT_FALSE(modules.attention_core);
  EXPECT_TRUE(modules.norm_output);
  EXPECT_TRUE(modules.nonlinearity);
  EXPECT_TRUE(Load({{"training.recompute", "SELECTIVE"}}).scenario.value().training.selective.attention_core);
  EXPECT_THAT(Load({{"training.recompute", "FULL"}}, text).errors(),
              Contains(HasSubstr("training.recompute_modules: needs recompute SELECTIVE")));
}

TEST(LoadRecompute, TakesTorchtitansOptions) {
  const Scenario operations =
      Load({{"training.recompute", "OPERATIONS"}, {"layout.sequence", "true"}}).scenario.value();
  EXPECT_EQ(operations.training.recompute, Recompute::kSelective);
  EXPECT_TRUE(operations.training.selective.operations);
  EXPECT_FALSE(operations.training.selective.attention_core);
  const Scenario every = Load({{"training.recompute", "FULL"},
                               {"training.recompute_method", "EVERY"},
                               {"training.recompute_layers", "3"}})
                             .scenario.value();
  EXPECT_EQ(every.training.full_recompute.every, 3);
  EXPECT_EQ(every.training.full_recompute.layers, 1);
}

TEST(LoadRecompute, RefusesModulesThatTheModelDoesNotHave) {
  const auto error = [](const std::string& module, const std::string& model) {
    const std::string text =
        std::string(kScenario) + "training { recompute: SELECTIVE recompute_modules: [" + module + "] }\n";
    return Load({{"model", model}}, text).errors();
  };
  const std::string field = "training.recompute_modules: ";
  EXPECT_THAT(error("MLA_UP_PROJ", "llama_7b"),
              Contains(HasSubstr(field + "MLA_UP_PROJ: \"llama_7b\" has no latent attention")));
  EXPECT_THAT(error("MOE", "llama_7b"), Contains(HasSubstr(field + "MOE: \"llama_7b\" has no experts")));
  EXPECT_THAT(error("SHARED_EXPERTS", "mixtral_8x7b"), Contains(HasSubstr("has no shared experts")));
  EXPECT_THAT(error("MLP", "mixtral_8x7b"),
              Contains(HasSubstr("has no layer without experts; MOE would do")));
  EXPECT_THAT(error("MLP", "palm_540b"), Contains(HasSubstr("lie side by side")));
  EXPECT_THAT(Load({{"training.recompute", "OPERATIONS"}}).errors(),
              Contains(HasSubstr("training.recompute: OPERATIONS is not simulated with tensor ranks without "
                                 "layout.sequence; SELECTIVE or FULL would do")));
}

TEST(LoadRecompute, SaysWhatDoesNotGoTogether) {
  EXPECT_THAT(Load({{"training.recompute", "SELECTIVE"}, {"training.recompute_layers", "4"}}).errors(),
              Contains(HasSubstr("--set 2: training.recompute_layers: needs recompute FULL")));
  EXPECT_THAT(Load({{"training.recompute", "FULL"}, {"training.recompute_method", "BLOCK"}}).errors(),
              Contains(HasSubstr("training.recompute_layers: missing; BLOCK recomputes so many layers")));
  EXPECT_THAT(LoadFlat({{"training.recompute", "FULL"},
                        {"training.optimizer_sharding", "ZERO_3"},
                        {"training.recompute_layers", "2"}})
                  .errors(),
              Contains(HasSubstr(
                  "--set 3: training.recompute_layers: 2 layers together are not simulated with ZERO_3")));
}

}  // namespace
}  // namespace scenarios
