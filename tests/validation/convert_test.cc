// Rows of published step times as scenarios: which build, which are refused and why, and
// particular rows cell by cell.

#include "scenarios/published/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "models/parameters.h"
#include "scenarios/loader.h"
#include "scenarios/run.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<StepRow> AllRows() {
  proto::Diagnostics diagnostics;
  const std::string file = ORRERY_SOURCE_DIR "/tests/validation/published_steps.csv";
  std::string text;
  EXPECT_TRUE(proto::ReadFile(file, &text, &diagnostics));
  const auto table = ReadCsv(file, text, &diagnostics);
  auto rows = table ? ReadStepRows(*table, {}, &diagnostics) : std::vector<StepRow>();
  EXPECT_THAT(diagnostics.errors(), IsEmpty());
  return rows;
}

StepRow RowOf(const std::string& id) {
  for (const StepRow& row : AllRows()) {
    if (row.id == id) return row;
  }
  ADD_FAILURE() << id;
  return {};
}

// Where the files of a test lie; tests run side by side.
std::string Folder(const std::string& name) {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string folder = testing::TempDir() + name + '_' + test;
  std::filesystem::create_directories(folder);
  return folder;
}

std::optional<Scenario> LoadFiles(const Conversion& conversion, const std::string& folder,
                                  proto::Diagnostics* diagnostics) {
  EXPECT_THAT(conversion.refused, IsEmpty()) << conversion.name;
  for (const RowFile& file : conversion.files) {
    std::ofstream(folder + '/' + file.name + ".textproto") << file.text;
  }
  return LoadScenario(folder + '/' + conversion.name + ".textproto", {}, diagnostics);
}

Scenario Loaded(const StepRow& row) {
  proto::Diagnostics diagnostics;
  const auto scenario = LoadFiles(Convert(row), Folder("one_row"), &diagnostics);
  EXPECT_THAT(diagnostics.errors(), IsEmpty()) << row.id;
  return scenario.value();
}

// Each row is written to files of its id: a second one would take the first one's place.
TEST(PublishedSteps, RowsOfOneIdAndConditionsWithoutRowsAreMistakes) {
  const std::string file = ORRERY_SOURCE_DIR "/tests/validation/published_steps.csv";
  proto::Diagnostics diagnostics;
  std::string text;
  ASSERT_TRUE(proto::ReadFile(file, &text, &diagnostics));
  auto table = ReadCsv("t.csv", text, &diagnostics);
  ASSERT_TRUE(table);
  table->rows.resize(2);
  table->rows.push_back(table->rows[0]);
  table->rows[2].line = 9;
  ReadStepRows(*table, {}, &diagnostics);
  const std::string id = table->rows[0].cells[*table->Find("id")];
  const std::string line = std::to_string(table->rows[0].line);
  EXPECT_THAT(diagnostics.errors(), ElementsAre("t.csv:9: id: \"" + id + "\" is that of line " + line +
                                                " too; each row is written to files of its id"));
  proto::Diagnostics none;
  EXPECT_THAT(ReadStepRows(*table, {{"gpu", "abacus"}, {"pp", "2"}}, &none), IsEmpty());
  EXPECT_THAT(none.errors(), ElementsAre("t.csv: there is no row with gpu=abacus and pp=2"));
}

TEST(PublishedSteps, EveryRowIsAScenarioOrRefusedForAListedReason) {
  const std::vector<StepRow> rows = AllRows();
  ASSERT_THAT(rows, SizeIs(375));
  const std::string folder = Folder("all_rows");
  std::map<std::string, int> refused;
  int built = 0;
  for (const StepRow& row : rows) {
    const Conversion conversion = Convert(row);
    for (const std::string& reason : conversion.refused) ++refused[reason];
    if (!conversion.refused.empty()) continue;
    proto::Diagnostics diagnostics;
    const auto scenario = LoadFiles(conversion, folder, &diagnostics);
    EXPECT_THAT(diagnostics.errors(), IsEmpty()) << row.id;
    if (!scenario) continue;
    ++built;
    // What the row says beside what follows from it. Sources round, and nanotron counts a tied table on the
    // first and the last stage: 6.1 % of its largest model.
    EXPECT_EQ(scenario->layout.data, row.dp) << row.id;
    EXPECT_DOUBLE_EQ(scenario->published->step_time_s, row.step_time_s);
    const double billions = 1e-9 * static_cast<double>(models::ParametersOf(scenario->model).total());
    EXPECT_NEAR(billions / row.params_b, 1, 0.062) << row.id << ' ' << row.model_name << ' ' << billions;
  }
  EXPECT_EQ(built, 367);  // of 375: 97 %
  const std::map<std::string, int> reasons = {{"precision: FP8 with a scale a row is not simulated yet", 2},
                                              {"precision: NVFP4 is not simulated yet", 1},
                                              {"training: fine-tuning by LoRA is not simulated", 5}};
  EXPECT_EQ(refused, reasons);
}

// MB-0236 offloads 20 of its 80 layers, and gathers weights of Megatron's FSDP in eight bits.
TEST(PublishedSteps, ActivationsOfTheFirstLayersAreOffloadedWhereARowSaysSo) {
  StepRow row = RowOf("MB-0236");
  const Scenario scenario = Loaded(row);
  EXPECT_EQ(scenario.training.offload.activation_layers, 20);
  EXPECT_EQ(scenario.training.optimizer_sharding, OptimizerSharding::kZero3);
  EXPECT_TRUE(scenario.training.matmul.parameter_gather);
  EXPECT_FALSE(scenario.training.matmul.cast_each_gather);
  EXPECT_EQ(scenario.training.recompute, Recompute::kNone);
  row.recompute = "CPU offload";
  EXPECT_THAT(Convert(row).refused, ElementsAre("recompute: not understood"));
}

// vTrain's first row on one node: 2 A100, tensor 1, data 2, 16 sequences of 1,024 in micro-batches of 4;
// 16 layers of 1,024 with 16 heads, 51,200 words.
TEST(PublishedSteps, ARowOfVTrainIsWhatItsCellsSay) {
  const Scenario s = Loaded(RowOf("VTRAIN-0111"));
  EXPECT_EQ(s.name, "vtrain_0111");
  EXPECT_EQ(s.device.name, "a100_80_sxm");
  EXPECT_EQ(s.devices, 2);
  EXPECT_EQ(s.layout.tensor * s.layout.pipeline, 1);
  EXPECT_EQ(s.batch.global, 16);
  EXPECT_EQ(s.batch.micro, 4);
  EXPECT_EQ(s.batch.micro_batches, 2);  // 16 / (4 x 2)
  EXPECT_EQ(s.batch.sequence_length, 1024);
  EXPECT_EQ(s.model.layers, 16);
  EXPECT_EQ(s.model.head_dim, 64);
  EXPECT_EQ(s.model.learned_positions, 1024);
  EXPECT_TRUE(s.model.tied_embedding);
  EXPECT_EQ(s.training.format, sim::NumberFormat::kFp16);
  EXPECT_EQ(s.training.gradient_format, sim::NumberFormat::kFp16);
  EXPECT_EQ(s.training.recompute, Recompute::kFull);
  EXPECT_EQ(s.training.attention, sim::AttentionKind::kUnfused);
  EXPECT_EQ(s.training.optimizer_sharding, OptimizerSharding::kReplicated);
  EXPECT_FALSE(s.training.overlap_gradient_reduce);
  EXPECT_EQ(s.preset->name, "megatron_deepspeed_fp16");
  EXPECT_EQ(s.published->step_time_s, 0.20534);
}

// 80 layers on 10 stages, tensor 8, data 4: 512 micro-batches of 1. Four NICs of 100 Gbit/s a node.
TEST(PublishedSteps, ARowOfBigScienceHasItsNodes) {
  const Scenario s = Loaded(RowOf("BIGSCI-0011"));
  EXPECT_EQ(s.device.name, "bigsci_0011_device");
  EXPECT_EQ(s.device.node.devices, 8);
  EXPECT_EQ(s.device.node.nics, 4);
  EXPECT_EQ(s.device.nic.wire, sim::ByteRate::BytesPerSecond(12'500'000'000));
  EXPECT_EQ(s.devices, 320);
  EXPECT_EQ(s.batch.micro_batches, 512);
  EXPECT_EQ(s.model.hidden, 14400);
  EXPECT_EQ(s.model.head_dim, 225);
  EXPECT_TRUE(s.model.alibi);
  EXPECT_EQ(s.training.optimizer_sharding, OptimizerSharding::kZero1);
}

// Delayed scaling on 8 H100: 2 ranks a sequence, so 4 data ranks of the ring's 8.
TEST(PublishedSteps, ARowOfNeMoHasItsRecipeAndItsRing) {
  const Scenario s = Loaded(RowOf("NEMO2407-0011"));
  EXPECT_EQ(s.layout.context, 2);
  EXPECT_EQ(s.layout.data, 4);
  EXPECT_EQ(s.training.format, sim::NumberFormat::kBf16);
  EXPECT_EQ(s.training.matmul.recipe, models::Recipe::kTensorDelayed);
}

// "FP8" alone: what the framework does unless told otherwise, and a row says so.
TEST(PublishedSteps, ARecipeThatIsNotStatedIsListed) {
  StepRow row = RowOf("NEMO2407-0011");
  row.precision = "FP8";
  EXPECT_THAT(Convert(row).assumed, testing::Contains("the recipe of FP8 is not stated: delayed scaling"));
}

// 78 layers on 12 stages: six of 7 layers and six of 6.
TEST(PublishedSteps, LayersThatDoNotShareOutEvenlyComeFirst) {
  StepRow row = RowOf("BIGSCI-0011");
  row.layers = 78, row.pp = 12, row.dp = 4, row.n_gpu = 384;
  EXPECT_THAT(Loaded(row).pipeline.layers_of_piece, ElementsAre(7, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6, 6));
}

// 16 layers of 4 x 2,048^2 + 3 x 8,192 x 2,048 each and a head of 131,072 x 2,048, which is 4 such layers: a
// share of 5 a stage. The 6th layer passes 5, the 11th 10, the 16th 15; the head is alone.
TEST(PublishedSteps, StagesOfNanotronShareOutLayersAndHeadByCost) {
  EXPECT_THAT(Loaded(RowOf("HFBENCH-0033")).pipeline.layers_of_piece, ElementsAre(6, 5, 5, 0));
}

TEST(PublishedSteps, ARowOfExpertsHasTheirLayout) {
  const Scenario s = Loaded(RowOf("SIMUMAX-0013"));
  EXPECT_EQ(s.device.name, "b200_sxm");
  EXPECT_EQ(s.model.experts.routed, 160);
  EXPECT_EQ(s.model.experts.per_token, 6);
  EXPECT_EQ(s.model.experts.shared_ffn, 1536);  // two in 3,072
  EXPECT_EQ(s.model.experts.first_dense_layers, 1);
  EXPECT_EQ(s.layout.expert_tensor, 1);
  EXPECT_EQ(s.experts.capacity_factor, 1);
  EXPECT_FALSE(s.training.overlap_gradient_reduce);
  EXPECT_TRUE(s.training.fused_loss);
}

// 22 layers, the embedding and the loss on 8 stages: 3 chunks of one each; the first and last have none.
TEST(PublishedSteps, ChunksOfOneLayerCountTheEnds) {
  StepRow row = RowOf("ZB-0025");
  row.vpp = "max (1 layer per chunk)";
  const Scenario s = Loaded(row);
  EXPECT_EQ(s.layout.virtual_stages, 3);
  EXPECT_THAT(s.pipeline.layers_of_piece, SizeIs(24));
  EXPECT_EQ(s.pipeline.layers_of_piece.front(), 0);
  EXPECT_EQ(s.pipeline.layers_of_piece.back(), 0);
}

TEST(PublishedSteps, NetworksAreReadInTheWaysThatRowsSayThem) {
  struct Case {
    const char* network;
    int nics;
    double gb_per_s;
    const char* topology;
  };
  for (const Case& c : {Case{"8x200Gb/s HDR IB per node", 8, 25, "rail_optimised_hdr"},
                        {"4x100Gb RoCE per node", 4, 12.5, "non_blocking"},
                        {"1600Gb/s RoCE per node", 8, 25, "non_blocking"},
                        {"400Gb/s RDMA per GPU", 8, 50, "non_blocking"},
                        {"EFA 3.2Tb/s per node", 8, 50, "non_blocking"}}) {
    StepRow row = RowOf("VTRAIN-0001");
    row.network = c.network;
    const Scenario s = Loaded(row);
    EXPECT_EQ(s.device.node.nics, c.nics) << c.network;
    EXPECT_DOUBLE_EQ(s.device.nic.wire.bytes_per_second(), 1e9 * c.gb_per_s) << c.network;
    EXPECT_EQ(s.fabric.name, c.topology) << c.network;
  }
}

TEST(PublishedSteps, WhatIsNotUnderstoodIsRefusedAllAtOnce) {
  StepRow row = RowOf("VTRAIN-0001");
  row.gpu = "A1000";
  row.model_name = "unheard of";
  row.precision = "posit";
  row.attention = "linear";
  row.recompute = "sometimes";
  row.sharding = "ZeRO-infinity";
  const Conversion conversion = Convert(row);
  EXPECT_THAT(conversion.files, IsEmpty());
  EXPECT_THAT(conversion.refused, ElementsAre("model: no family is known for this name",
                                              "gpu: not in the catalogue under this name",
                                              "precision: not understood", "attention: not understood",
                                              "recompute: not understood", "sharding: not understood"));
}

TEST(PublishedSteps, WhatARowDoesNotSayIsListed) {
  EXPECT_THAT(Convert(RowOf("VTRAIN-0001")).assumed,
              ElementsAre("switches are not stated: a network that never blocks",
                          "optimizer state is whole on each rank, which is not stated"));
  EXPECT_THAT(Convert(RowOf("FATTN-0001")).left_out,
              ElementsAre("FlashAttention before 2, whose kernels are slower: FLASH2"));
}

// Bounds that only a wrong unit or a lost dimension would leave: within a factor of 3.
TEST(PublishedSteps, SmallRowsComeOutInTheRightOrderOfMagnitude) {
  for (const char* id : {"VTRAIN-0111", "FATTN-0001", "KORTH-0001", "MLMREADME-0020", "INTERN-0001"}) {
    const Scenario scenario = Loaded(RowOf(id));
    const double ratio =
        scenarios::Run(scenario).value().report.step_time.seconds() / scenario.published->step_time_s;
    EXPECT_GT(ratio, 1.0 / 3) << id;
    EXPECT_LT(ratio, 3) << id;
  }
}

// Its launch script sets CUDA_LAUNCH_BLOCKING=1.
TEST(PublishedSteps, OfBigScienceWaitForEachLaunch) {
  EXPECT_EQ(Loaded(RowOf("BIGSCI-0013")).training.launches, Launches::kBlocking);
  EXPECT_EQ(Loaded(RowOf("VTRAIN-0111")).training.launches, Launches::kEager);
}

}  // namespace
}  // namespace scenarios
