#include "scenarios/checkpoint_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "models/parameters.h"
#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

// Llama-3-70B, whose 128,256 rows divide by 128: nothing is padded.
Scenario Llama70B(std::int64_t data, const Sets& more = {}) {
  Sets sets = {{"model", "llama3_70b"},
               {"devices", std::to_string(8 * data)},
               {"layout.tensor", "8"},
               {"layout.pipeline", "1"},
               {"layout.data", std::to_string(data)},
               {"batch.global", std::to_string(data)},
               {"training.vocabulary_divisor", "1"},
               {"checkpoint.every_steps", "100"},
               {"checkpoint.path", "NIC"},
               {"checkpoint.source.title", "a test"},
               {"checkpoint.storage.servers", "4"},
               {"checkpoint.storage.write_gb_per_s", "40"},
               {"checkpoint.storage.read_gb_per_s", "50"},
               {"checkpoint.storage.source.title", "a test"}};
  sets.insert(sets.end(), more.begin(), more.end());
  const Loading loading = Load(sets);
  EXPECT_TRUE(loading.scenario.has_value()) << testing::PrintToString(loading.errors());
  return loading.scenario.value();
}

sim::Bytes SumOf(const std::vector<sim::Bytes>& parts) {
  return std::accumulate(parts.begin(), parts.end(), sim::Bytes());
}

// HB-134 (argonne-lcf/dlio_benchmark#247): N = 70,553,706,496; 14 N whatever the number of data ranks,
// 12 N without the BF16 copy.
TEST(CheckpointPlan, ASaveIs14BytesAParameterWhateverTheDataRanks) {
  for (const std::int64_t data : {1, 3, 8, 64}) {
    const CheckpointPlan plan = PlanCheckpoint(Llama70B(data));
    EXPECT_EQ(plan.total, sim::Bytes(987'751'890'944)) << data;
    EXPECT_EQ(SumOf(plan.rank_bytes), plan.total);
    EXPECT_EQ(plan.bytes_per_parameter, 14);
    const CheckpointPlan without = PlanCheckpoint(Llama70B(data, {{"checkpoint.contents.weights", "false"}}));
    EXPECT_EQ(without.total, sim::Bytes(846'644'477'952)) << data;
  }
}

// Each number goes to one rank; shares differ by a number or two: one of the tensor group's, one of the
// data group's.
TEST(CheckpointPlan, RanksShareASaveEvenly) {
  for (const char* sharding : {"ZERO_1", "NONE"}) {
    const CheckpointPlan plan = PlanCheckpoint(Llama70B(7, {{"training.optimizer_sharding", sharding}}));
    const auto [least, most] = std::minmax_element(plan.rank_bytes.begin(), plan.rank_bytes.end());
    EXPECT_LE(*most - *least, sim::Bytes(2 * 14)) << sharding;
    EXPECT_EQ(plan.total, sim::Bytes(987'751'890'944)) << sharding;
  }
}

TEST(CheckpointPlan, TheFirstDataRankCanWriteWhatAllHold) {
  const std::int64_t n = models::ParametersOf(Llama70B(4).model).total();
  const Sets first = {{"checkpoint.replicas_write", "FIRST"}};
  const CheckpointPlan cut = PlanCheckpoint(Llama70B(4, first));
  EXPECT_EQ(cut.total, sim::Bytes(14 * n));
  // Of an eighth of the model the first data rank writes the weights and a quarter of the rest.
  EXPECT_EQ(cut.rank_bytes[0], sim::Bytes(n / 8 * 2 + n / 8 / 4 * 12));
  EXPECT_EQ(cut.rank_bytes[8], sim::Bytes(n / 8 / 4 * 12));
  Sets none = first;
  none.push_back({"training.optimizer_sharding", "NONE"});
  const CheckpointPlan whole = PlanCheckpoint(Llama70B(4, none));
  EXPECT_EQ(whole.rank_bytes[0], sim::Bytes(n / 8 * 14));
  EXPECT_EQ(whole.rank_bytes[8], sim::Bytes());
}

// Key/value heads that two ranks hold, norms that all hold, a table at both ends of the pipeline: once each.
TEST(CheckpointPlan, WhatSeveralRanksHoldIsWrittenOnce) {
  const CheckpointPlan shared = PlanCheckpoint(
      Llama70B(2, {{"layout.tensor", "16"}, {"layout.data", "1"}, {"layout.sequence", "true"}}));
  EXPECT_EQ(shared.total, sim::Bytes(987'751'890'944));
  const Scenario tied = Llama70B(2, {{"model", "gpt2"},
                                     {"layout.tensor", "1"},
                                     {"layout.pipeline", "4"},
                                     {"layout.data", "4"},
                                     {"batch.global", "16"},
                                     {"batch.sequence_length", "1024"}});
  EXPECT_EQ(PlanCheckpoint(tied).total, sim::Bytes(14 * models::ParametersOf(tied.model).total()));
}

// Layers differ from stage to stage: the first of DeepSeek-V2-Lite's is dense, the others have experts.
TEST(CheckpointPlan, AllExpertsAreSavedNotTheActiveOnes) {
  const Scenario scenario = Llama70B(2, {{"model", "deepseek_v2_lite"},
                                         {"layout.tensor", "1"},
                                         {"layout.pipeline", "3"},
                                         {"devices", "6"},
                                         {"topology", "single_node"},
                                         {"checkpoint.path", "FRONTEND"},
                                         {"checkpoint.frontend_gb_per_s", "25"}});
  EXPECT_EQ(PlanCheckpoint(scenario).total, sim::Bytes(14 * models::ParametersOf(scenario.model).total()));
}

// Rows are padded to a multiple of 128 x 8: 129,024 of 128,256, in two matrices of 8,192 columns.
TEST(CheckpointPlan, PaddedRowsAreSavedAsTheyAreHeld) {
  const CheckpointPlan plan = PlanCheckpoint(Llama70B(2, {{"training.vocabulary_divisor", "128"}}));
  EXPECT_EQ(plan.total - sim::Bytes(987'751'890'944), sim::Bytes(14 * 2 * 768 * 8192));
}

TEST(CheckpointPlan, ADeltaIsItsFractionAndIsReadBackOverAWholeSave) {
  const CheckpointPlan plan =
      PlanCheckpoint(Llama70B(2, {{"checkpoint.format", "DELTA"}, {"checkpoint.delta_fraction", "0.01"}}));
  // Rounded up by each of 16 ranks.
  EXPECT_NEAR(static_cast<double>(plan.total.count()), 9'877'518'909.44, 16);
  EXPECT_EQ(SumOf(plan.restart_read), plan.total + sim::Bytes(987'751'890'944));
}

// Without ZeRO-1 each of four data ranks holds all 14 bytes of its eighth, and no step would gather them.
// With it, each reads its quarter, whoever wrote it: weights are gathered before they are used.
TEST(CheckpointPlan, ARestartGivesEveryRankWhatItHolds) {
  const std::int64_t n = models::ParametersOf(Llama70B(4).model).total();
  for (const char* format : {"SHARDED", "CONSOLIDATED"}) {
    for (const char* writes : {"FIRST", "SPREAD"}) {
      Sets sets = {{"checkpoint.format", format}, {"checkpoint.replicas_write", writes}};
      const CheckpointPlan cut = PlanCheckpoint(Llama70B(4, sets));
      EXPECT_EQ(cut.restart_read, std::vector<sim::Bytes>(32, sim::Bytes(n / 32 * 14))) << format << writes;
      sets.push_back({"training.optimizer_sharding", "NONE"});
      const CheckpointPlan whole = PlanCheckpoint(Llama70B(4, sets));
      EXPECT_EQ(whole.total, sim::Bytes(14 * n));
      EXPECT_EQ(whole.restart_read, std::vector<sim::Bytes>(32, sim::Bytes(n / 8 * 14))) << format << writes;
    }
  }
}

// However it is cut over eight data ranks, a save has each number once. Two copies of
// four ranks each (HSDP) hold twice as much, and read it back twice.
TEST(CheckpointPlan, HoldsEachNumberOnceHoweverTheDataRanksAreCut) {
  for (const char* sharding : {"ZERO_1", "ZERO_2", "ZERO_3"}) {
    for (const std::int64_t copies : {1, 2, 8}) {
      const CheckpointPlan plan =
          PlanCheckpoint(Llama70B(8, {{"layout.pipeline", "1"},
                                      {"devices", "64"},
                                      {"training.optimizer_sharding", sharding},
                                      {"training.sharding.ranks", std::to_string(8 / copies)}}));
      EXPECT_EQ(plan.total, sim::Bytes(987'751'890'944)) << sharding << copies;
      EXPECT_EQ(SumOf(plan.rank_bytes), plan.total) << sharding << copies;
      EXPECT_EQ(SumOf(plan.restart_read), copies * plan.total) << sharding << copies;
    }
  }
}

TEST(CheckpointPlan, StagingHoldsWholeSavesOfTheNode) {
  // 987.75 GB over two nodes are 493.9 GB; the default is exactly that.
  const CheckpointPlan one = PlanCheckpoint(Llama70B(2));
  EXPECT_EQ(one.staging_per_node, one.largest_node);
  EXPECT_EQ(one.slots, std::vector<std::int64_t>(16, 1));
  const CheckpointPlan four = PlanCheckpoint(Llama70B(2, {{"checkpoint.staging_gb_per_node", "2000"}}));
  EXPECT_EQ(four.slots, std::vector<std::int64_t>(16, 4));  // 4 x 493.9 = 1,975.5
}

// Shards stage where they are: 405.85e9 parameters over 2,048 nodes are 2.77 GB a node at 14 bytes, 3.17
// at the 16 that include gradients; no host needs room for the whole.
TEST(CheckpointPlan, A405BSaveStagesThreeGigabytesANodeOn2048) {
  const Scenario scenario = Llama70B(2048, {{"model", "llama3_1_405b"},
                                            {"layout.pipeline", "16"},
                                            {"layout.data", "128"},
                                            {"layout.virtual", "8"},
                                            {"pipeline.embedding_counts_as_layer", "true"},
                                            {"pipeline.loss_counts_as_layer", "true"},
                                            {"batch.global", "2048"}});
  const CheckpointPlan plan = PlanCheckpoint(scenario);
  EXPECT_EQ(plan.total, sim::Bytes(14 * models::ParametersOf(scenario.model).total()));
  const double mean_gb = static_cast<double>(plan.total.count()) / 2048e9;
  EXPECT_NEAR(mean_gb, 2.774, 0.001);
  EXPECT_NEAR(mean_gb * 16 / 14, 3.17, 0.01);
  // Stages differ: seven layers and the table of the first against eight layers.
  EXPECT_LT(static_cast<double>(plan.largest_node.count()), 1.05 * mean_gb * 1e9);
}

}  // namespace
}  // namespace scenarios
