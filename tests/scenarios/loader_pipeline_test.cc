// What a scenario may say about its pipeline: schedules, orders from files, layouts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "scenarios/run.h"
#include "sim/schedule/order_text.h"
#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LoadPipeline, EveryScheduleIsCalledByItsName) {
  const struct {
    const char *kind, *name, *chunks;
  } kKinds[] = {
      {"GPIPE", "gpipe", "1"},        {"ONE_F_ONE_B", "1f1b", "1"}, {"INTERLEAVED", "interleaved", "2"},
      {"ZB1P", "zb1p", "1"},          {"ZB2P", "zb2p", "1"},        {"ZBV", "zbv", "2"},
      {"VHALF", "vhalf", "2"},        {"VMIN", "vmin", "2"},        {"DUALPIPE", "dualpipe", "2"},
      {"DUALPIPEV", "dualpipev", "2"}};
  for (const auto& kind : kKinds) {
    const Loading loading = Load({{"pipeline.schedule", kind.kind}, {"layout.virtual", kind.chunks}});
    EXPECT_THAT(loading.errors(), IsEmpty());
    ASSERT_TRUE(loading.scenario.has_value());
    EXPECT_EQ(loading.scenario->pipeline.name(), kind.name);
  }
}

// 32 layers on 2 stages: 4 pieces of 8 in a V, 2 of 16 from both ends. A list by stage
// follows the pieces down and up again.
TEST(LoadPipeline, LayersFollowThePlacement) {
  const auto layers = [](const Sets& sets) { return Load(sets).scenario.value().pipeline.layers_of_piece; };
  EXPECT_THAT(layers({{"pipeline.schedule", "ZBV"}, {"layout.virtual", "2"}}), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(layers({{"pipeline.schedule", "DUALPIPE"}, {"layout.virtual", "2"}}), ElementsAre(16, 16));
  EXPECT_THAT(
      layers({{"pipeline.schedule", "ZBV"}, {"layout.virtual", "2"}, {"pipeline.stage_layers", "[12, 20]"}}),
      ElementsAre(6, 10, 10, 6));
  EXPECT_THAT(layers({{"layout.virtual", "2"}, {"pipeline.stage_layers", "[12, 20]"}}),
              ElementsAre(6, 10, 6, 10));
  EXPECT_THAT(layers({{"layout.virtual", "2"}, {"pipeline.piece_layout", "\"Et*7|(t*9|)*2t*7L\""}}),
              ElementsAre(7, 9, 9, 7));
}

TEST(LoadPipeline, RefusesWhatIsNotSimulatedInOneLine) {
  const struct {
    Sets sets;
    const char* error;
  } kCases[] = {
      {{{"pipeline.schedule", "ZBV"}}, "--set 1: pipeline.schedule: zbv: 1 chunk a stage; it has 2"},
      {{{"pipeline.schedule", "DUALPIPE"}, {"layout.virtual", "2"}, {"training.sharding.ranks", "2"}},
       "--set 3: training.sharding.ranks: a part of the data ranks is not simulated where two stages hold "
       "the same pieces (dualpipe); leave it out"},
      {{{"pipeline.schedule", "ZB1P"}, {"layout.pipeline", "1"}, {"training.optimizer_sharding", "ZERO_2"}},
       "--set 3: training.optimizer_sharding: ZERO_2 and ZERO_3 do not go with zb1p, which makes weight "
       "gradients apart from the rest; ZERO_1 or NONE"},
      {{{"pipeline.schedule", "ZB1P"}, {"layout.pipeline", "1"}, {"training.sharding.no_sync", "false"}},
       "--set 3: training.sharding.no_sync: false does not go with zb1p, which makes weight gradients apart "
       "from the rest; leave it out"},
      {{{"pipeline.schedule", "ZB1P"}, {"layout.pipeline", "4"}, {"batch.global", "16777220"}},
       "--set 1: pipeline.schedule: 16777220 pieces of work a stage (micro-batches times chunks); at most "
       "1048576 would do"},
      {{{"pipeline.schedule", "ZB1P"},
        {"devices", "128"},
        {"layout.pipeline", "32"},
        {"batch.global", "1000000"}},
       "--set 1: pipeline.schedule: zb1p: 32000000 stages x chunks x micro-batches; 16777216 at most are "
       "simulated"},
      {{{"pipeline.piece_layout", "\"Et*16|t*15x\""}},
       "--set 1: pipeline.piece_layout: character 11, \"x\": E, t, m or L, \"|\", \"(...)*n\" or \"*n\" is "
       "wanted"},
      {{{"pipeline.piece_layout", "\"Et*16|t*16L\""}, {"pipeline.loss_counts_as_layer", "true"}},
       "--set 1: pipeline.piece_layout: given beside another way to share the layers; one is wanted"},
  };
  for (const auto& c : kCases) EXPECT_THAT(Load(c.sets).errors(), ElementsAre(c.error));
}

// 16 devices, experts of DeepSeek-V2-Lite over 8 of them.
const Sets kExperts = {{"model", "deepseek_v2_lite"}, {"layout.tensor", "1"}, {"layout.expert", "8"},
                       {"layout.virtual", "2"},       {"model.layers", "8"},  {"batch.global", "64"}};

Loading LoadExperts(const Sets& more) {
  Sets sets = kExperts;
  sets.insert(sets.end(), more.begin(), more.end());
  return Load(sets);
}

TEST(LoadPipeline, StepsTakeTurnsWhereTheyAreJoinedAndTokensTravel) {
  const auto pipeline = [](const Sets& sets) { return LoadExperts(sets).scenario.value().pipeline; };
  const Pipeline plain = pipeline({});
  EXPECT_FALSE(plain.overlaps_experts || plain.shape.joined || plain.delays_weight_gradients);
  const Pipeline combined = pipeline({{"pipeline.overlap_experts", "true"}});
  EXPECT_TRUE(combined.overlaps_experts && combined.shape.joined && !combined.delays_weight_gradients);
  EXPECT_EQ(combined.name(), "joined interleaved");
  const Pipeline dual = pipeline({{"pipeline.schedule", "DUALPIPE"}});
  EXPECT_TRUE(dual.overlaps_experts && !dual.shape.joined && dual.delays_weight_gradients);
  const Pipeline apart = pipeline({{"pipeline.schedule", "DUALPIPE"}, {"pipeline.overlap_experts", "false"}});
  EXPECT_FALSE(apart.overlaps_experts || apart.delays_weight_gradients);
  const Pipeline dense =
      Load({{"pipeline.schedule", "DUALPIPE"}, {"layout.virtual", "2"}}).scenario.value().pipeline;
  EXPECT_FALSE(dense.overlaps_experts || dense.delays_weight_gradients);
}

// The limits of Megatron-LM's overlap-moe-expert-parallel-comm and delay-wgrad-compute, and ours.
TEST(LoadPipeline, RefusesWhatDoesNotGoWithStepsInTurns) {
  const std::string flag = "--set 7: pipeline.overlap_experts: ",
                    whose = " does not go with pipeline.overlap_experts; ";
  const struct {
    Sets more;
    std::string error;
  } kCases[] = {
      {{{"layout.virtual", "1"}},
       flag + "1f1b: 2 stages do not join forwards and backwards; 1 stage, or schedule \"interleaved\", "
              "would do"},
      {{{"pipeline.schedule", "ZBV"}},
       flag + "zbv: cannot be asked to join forwards and backwards; schedule \"interleaved\", or \"1f1b\" of "
              "one "
              "stage, would do"},
      {{{"layout.expert", "1"}},
       flag + "true, but no token leaves its tensor group; leave it out, or give layout.expert above 1"},
      {{{"training.recompute", "FULL"}},
       "--set 8: training.recompute: FULL" + whose + "SELECTIVE or NONE is wanted"},
      {{{"training.format", "TF32"}, {"training.attention", "UNFUSED"}},
       "--set 8: training.format: of 4 bytes a number" + whose + "BF16 or FP16 is wanted"},
      {{{"experts.dispatcher", "ALLGATHER"}},
       "--set 8: experts.dispatcher: ALLGATHER" + whose + "ALLTOALL or DEEPEP is wanted"},
      {{{"experts.overlap_shared", "true"}},
       "--set 8: experts.overlap_shared: true" + whose + "leave it out"},
      {{{"training.offload.activation_layers", "1"}},
       "--set 8: training.offload.activation_layers: offload is not simulated beside joined steps; "
       "pipeline.overlap_experts: false is wanted"},
      {{{"training.optimizer_sharding", "ZERO_2"}, {"layout.pipeline", "1"}, {"layout.virtual", "1"}},
       "--set 8: training.optimizer_sharding: ZERO_2 and ZERO_3 are not simulated beside joined steps whose "
       "tokens travel; pipeline.overlap_experts false, or ZERO_1"},
  };
  for (const auto& c : kCases) {
    Sets sets = {{"pipeline.overlap_experts", "true"}};
    sets.insert(sets.end(), c.more.begin(), c.more.end());
    EXPECT_THAT(LoadExperts(sets).errors(), ElementsAre(c.error));
  }
  EXPECT_THAT(
      LoadExperts({{"pipeline.delay_weight_gradients", "true"}}).errors(),
      ElementsAre("--set 7: pipeline.delay_weight_gradients: true needs overlap_experts: they wait until "
                  "tokens travel"));
}

TEST(LoadPipeline, WarnsWhereNoStepIsJoined) {
  const Loading loading = LoadExperts({{"pipeline.overlap_experts", "true"},
                                       {"batch.global", "16"},
                                       {"layout.pipeline", "1"},
                                       {"layout.virtual", "1"}});
  EXPECT_THAT(loading.errors(), IsEmpty());
  EXPECT_THAT(
      loading.warnings(),
      testing::Contains("--set 7: pipeline.overlap_experts: has no effect: the step has one micro-batch, "
                        "and none beside it"));
}

class OrderFile : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(testing::TempDir()) / ("orrery_order_" + name);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A scenario beside a file "order.txt" of that text.
  Loading LoadWith(const std::string& order, Sets sets = {}) {
    std::ofstream(folder_ / "order.txt") << order;
    sets.emplace_back("pipeline.order_file", "order.txt");
    return Load(sets, kScenario, (folder_ / "small.textproto").string());
  }
  std::string file() const { return (folder_ / "order.txt").string(); }

  std::filesystem::path folder_;
};

std::string TextOf(const Scenario& scenario) { return sim::ToText(OrderOf(scenario.pipeline)); }

// What a schedule writes, read back as a user's order, is the same job to the last event.
TEST_F(OrderFile, GivesTheStepOfTheScheduleThatWroteIt) {
  for (const auto& [kind, chunks] : {std::pair("ONE_F_ONE_B", "1"), std::pair("ZB2P", "1"),
                                     std::pair("VHALF", "2"), std::pair("DUALPIPE", "2")}) {
    const Sets sets = {{"model.layers", "4"}, {"layout.virtual", chunks}};
    Sets named = sets;
    named.emplace_back("pipeline.schedule", kind);
    const Scenario by_name = Load(named).scenario.value();
    const Loading by_file = LoadWith(TextOf(by_name), sets);
    EXPECT_THAT(by_file.errors(), IsEmpty());
    ASSERT_TRUE(by_file.scenario.has_value());
    EXPECT_EQ(by_file.scenario->pipeline.name(), "order of order.txt");
    EXPECT_EQ(scenarios::Run(*by_file.scenario).value().report.digest,
              scenarios::Run(by_name).value().report.digest)
        << kind;
  }
}

// In DualPipe's own order steps take turns as they do by its name, but weight gradients wait only if told to.
TEST_F(OrderFile, JoinsStepsByItself) {
  Sets sets = kExperts;
  sets.emplace_back("steps", "2");
  Sets named = sets;
  named.emplace_back("pipeline.schedule", "DUALPIPE");
  const Scenario by_name = Load(named).scenario.value();
  sets.emplace_back("pipeline.delay_weight_gradients", "true");
  const Loading by_file = LoadWith(TextOf(by_name), sets);
  EXPECT_THAT(by_file.errors(), IsEmpty());
  EXPECT_EQ(scenarios::Run(by_file.scenario.value()).value().report.digest,
            scenarios::Run(by_name).value().report.digest);
  sets = kExperts;
  sets.emplace_back("pipeline.overlap_experts", "true");
  EXPECT_THAT(LoadWith(TextOf(LoadExperts({}).scenario.value()), sets).errors(),
              ElementsAre("--set 7: pipeline.overlap_experts: true, but no steps of order.txt are joined "
                          "(\"F4&B0\"); they are wanted"));
}

TEST_F(OrderFile, MistakesHaveItsFileAndLine) {
  // Stage 1 ends a micro-batch before its forward, stage 0 lacks a backward.
  EXPECT_THAT(LoadWith("# two stages\nF0 F1 B0\nF0 B1 F1 B0\n").errors(),
              ElementsAre(file() + ":2:9: stage 0: has no backward of 1",
                          file() + ":3:4: stage 1, step 1 (B1): comes before its forward"));
  EXPECT_THAT(LoadWith("F0 X\nF0 B0\n").errors(), ElementsAre(testing::StartsWith(file() + ":1:4: \"X\"")));
}

TEST_F(OrderFile, MustBeOfTheJobsShape) {
  const auto error = [&](const std::string& what) {
    return "--set 1: pipeline.order_file: " + file() + " has " + what;
  };
  EXPECT_THAT(LoadWith("F0 B0\n").errors(), ElementsAre(error("1 stages; layout.pipeline says 2")));
  EXPECT_THAT(LoadWith("F0 B0\nF0 B0\n").errors(), ElementsAre(error("1 micro-batches; the batch has 8")));
  EXPECT_THAT(LoadWith("F0 F0.1 B0.1 B0\nF0 F0.1 B0.1 B0\n").errors(),
              ElementsAre(error("2 chunks a stage; layout.virtual says 1")));
  EXPECT_THAT(LoadWith("F0-0 F0-1 B0-1 B0-0\nF0-0 F0-1 B0-1 B0-0\n", {{"batch.global", "2"}}).errors(),
              ElementsAre("--set 2: pipeline.order_file: " + file() +
                          " has a sequence in 2 parts, which is not simulated yet"));
}

TEST_F(OrderFile, StagesOfTheSamePiecesEndThemInTheSameOrder) {
  // Both stages end chunk 0 last, which is piece 0 on the first and piece 1 on the second.
  const std::string order = "placement: both-ends\nF0.0 F1.1 B1.1 B0.0\nF1.1 F0.0 B0.0 I1.1 W1.1\n";
  EXPECT_THAT(LoadWith(order, {{"batch.global", "4"}, {"layout.virtual", "2"}}).errors(), IsEmpty());
  const std::string other = "placement: both-ends\nF0.0 F1.1 I1.1 B0.0 W1.1\nF1.1 F0.0 B0.0 I1.1 W1.1\n";
  EXPECT_THAT(LoadWith(other, {{"batch.global", "4"}, {"layout.virtual", "2"}}).errors(),
              ElementsAre("--set 3: pipeline.order_file: " + file() +
                          " has stages 0 and 1 hold the same two pieces and end their backwards in "
                          "different orders; the same is wanted"));
}

TEST_F(OrderFile, StandsInForASchedule) {
  EXPECT_THAT(LoadWith("F0 B0\nF0 B0\n", {{"batch.global", "2"}, {"pipeline.schedule", "GPIPE"}}).errors(),
              ElementsAre("--set 3: pipeline.order_file: given beside a schedule; one of the two is wanted"));
  EXPECT_THAT(Load({{"pipeline.order_file", "nowhere.txt"}}).errors(),
              ElementsAre("nowhere.txt: there is no such file"));
}

}  // namespace
}  // namespace scenarios
