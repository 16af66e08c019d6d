#include "scenarios/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LoadScenario, FillsEveryField) {
  const Loading loading =
      Load({{"training.bucket_mb", "25"},
            {"training.recompute", "SELECTIVE"},
            {"training.format", "FP16"},
            {"training.optimizer_sharding", "NONE"},
            {"training.dropout", "true"},
            {"training.gradient_norm", "false"},
            {"training.vocabulary_divisor", "64"},
            {"layout.rank_order", "pp-tp-cp-dp"},
            {"layout.sequence", "true"},
            {"fidelity", "CHUNK"},
            {"description", "two nodes"},
            {"steps", "5"},
            {"price", "{ usd_per_device_hour: 2.5 source { title: \"list\" } }"},
            {"published", "{ step_time_s: 1.5 source { title: \"t\" note: \"n\" url: \"u\" } }"}});
  ASSERT_THAT(loading.errors(), IsEmpty());
  const Scenario& s = *loading.scenario;
  EXPECT_EQ(s.name, "small");
  EXPECT_EQ(s.file, "small.textproto");
  EXPECT_EQ(s.source, "made for the tests");
  EXPECT_EQ(s.description, "two nodes");
  EXPECT_EQ(s.model.name, "llama_7b");
  EXPECT_EQ(s.device.name, "h100_sxm");
  EXPECT_EQ(s.fabric.devices.size(), 16u);
  EXPECT_EQ(s.devices, 16);
  EXPECT_EQ(s.layout.data, 2);  // 16 / (4 x 2)
  EXPECT_EQ(s.layout.order[0], Dimension::kPipeline);
  EXPECT_EQ(s.batch.micro_batches, 8);  // 16 / (1 x 2)
  EXPECT_EQ(s.training.bucket, sim::Bytes(25'000'000));
  EXPECT_EQ(s.training.recompute, Recompute::kSelective);
  EXPECT_EQ(s.training.format, sim::NumberFormat::kFp16);
  EXPECT_EQ(s.training.gradient_format, sim::NumberFormat::kFp32);
  EXPECT_EQ(s.training.optimizer_sharding, OptimizerSharding::kReplicated);
  EXPECT_FALSE(s.training.overlap_parameter_gather);  // nothing is gathered
  EXPECT_TRUE(s.training.overlap_gradient_reduce);
  EXPECT_TRUE(s.training.dropout);
  EXPECT_FALSE(s.training.gradient_norm);
  EXPECT_EQ(s.pipeline.schedule->name, "1f1b");
  EXPECT_EQ(s.pipeline.shape.stages, 2u);
  EXPECT_EQ(s.pipeline.shape.microbatches, 8u);
  EXPECT_THAT(s.pipeline.layers_of_piece, ElementsAre(16, 16));
  EXPECT_EQ(s.fidelity, Fidelity::kChunk);
  EXPECT_EQ(s.steps, 5);
  EXPECT_EQ(s.price_usd_per_device_hour, 2.5);
  EXPECT_EQ(s.published->step_time_s, 1.5);
  EXPECT_EQ(s.published->source, "t, n (u)");
  const models::Execution execution = ExecutionOf(s);
  EXPECT_EQ(execution.tensor, 4);
  EXPECT_TRUE(execution.sequence_parallel);
  EXPECT_EQ(execution.sequence_length, 2048);
  EXPECT_EQ(execution.vocabulary_divisor, 64);
  EXPECT_TRUE(execution.gradient_fp32);
}

// Megatron-LM: 40 million numbers, or a million a data rank; here 2 data ranks.
TEST(LoadScenario, TakesMegatronsBucketByDefault) {
  EXPECT_EQ(Load().scenario->training.bucket, sim::Bytes(160'000'000));
  EXPECT_EQ(Load({{"training.gradient_type", "BF16"}}).scenario->training.bucket, sim::Bytes(80'000'000));
}

TEST(LoadScenario, ReportsEveryMistakeOfAllFilesInOneRun) {
  const Loading loading = Load({{"layout.tensor", "12"},
                                {"model.layers", "0"},
                                {"hardware.memory.usable_gib", "-1"},
                                {"topology.nam", "x"},
                                {"steps", "1"},
                                {"batch.micro", "-3"},
                                {"layout.context", "0"},
                                {"training.bucket_mb", "0"},
                                {"batch.sequence_lengt", "5"}});
  EXPECT_FALSE(loading.scenario.has_value());
  EXPECT_THAT(loading.errors(), Contains(HasSubstr("--set 2: model.layers: 0 is out of range")));
  EXPECT_THAT(loading.errors(), Contains(HasSubstr("--set 3: hardware.memory.usable_gib: ")));
  EXPECT_THAT(loading.errors(),
              Contains(HasSubstr("--set 4: topology.nam: unknown field; did you mean name?")));
  EXPECT_THAT(loading.errors(),
              Contains("--set 5: steps: 1 is out of range; a number from 2 to 1,000 is wanted"));
  EXPECT_THAT(loading.errors(),
              Contains("--set 6: batch.micro: -3 is out of range; a number from 1 to 1,000,000 is wanted"));
  EXPECT_THAT(loading.errors(),
              Contains("--set 7: layout.context: 0 is out of range; a number from 1 to 4,096 is wanted"));
  EXPECT_THAT(loading.errors(), Contains(HasSubstr("--set 8: training.bucket_mb: 0 is out of range")));
  EXPECT_THAT(loading.errors(),
              Contains("--set 9: batch.sequence_lengt: unknown field; did you mean batch.sequence_length?"));
}

TEST(LoadScenario, SaysWhatIsMissingAndWhere) {
  const Loading loading = Load({}, "name: \"x\"\nlayout {\n  tensor: 1\n}\n");
  for (const char* line : {
           "small.textproto:1:1: source.title: missing; say where the figures come from: document and year",
           "small.textproto:1:1: model: missing; give a name, as \"llama_7b\"",
           "small.textproto:1:1: hardware: missing; give a name, as \"h100_sxm\"",
           "small.textproto:1:1: topology: missing; give a name, as \"rail_optimised_ndr\"",
           "small.textproto:1:1: devices: missing; a number from 1 to 1,048,576 is wanted",
           "small.textproto:2:1: layout.sequence: missing; give true or false",
           "small.textproto:2:1: layout.context: missing; a number from 1 to 4,096 is wanted",
           "small.textproto:2:1: layout.pipeline: missing; a number from 1 to 4,096 is wanted",
           "small.textproto:2:1: layout.virtual: missing; a number from 1 to 1,024 is wanted",
           "small.textproto:2:1: layout.expert: missing; a number from 1 to 4,096 is wanted",
           "small.textproto:2:1: layout.expert_tensor: missing; a number from 1 to 4,096 is wanted",
           "small.textproto:1:1: batch.global: missing; a number from 1 to 1,000,000,000 is wanted",
           "small.textproto:1:1: batch.micro: missing; a number from 1 to 1,000,000 is wanted",
           "small.textproto:1:1: batch.sequence_length: missing; a number from 1 to 16,777,216 is wanted",
       }) {
    EXPECT_THAT(loading.errors(), Contains(line));
  }
  EXPECT_EQ(loading.errors().size(), 14u);
}

TEST(LoadScenario, RefusesTensorGroupsThatDoNotDivideTheModel) {
  // 48 devices, so that only the model objects.
  EXPECT_THAT(
      Load({{"layout.tensor", "12"}, {"devices", "48"}, {"batch.global", "16"}}).errors(),
      ElementsAre("--set 1: layout.tensor: 12 does not divide the 32 attention heads of model \"llama_7b\"; "
                  "1, 2, 4, 8, 16 and 32 do"));
  EXPECT_THAT(Load({{"layout.tensor", "8"}, {"model.ffn", "11012"}}).errors(),
              ElementsAre(HasSubstr(
                  "8 does not divide the 11012 feed-forward channels of model \"llama_7b\"; 1, 2, 4")));
  EXPECT_THAT(
      Load({{"model.heads", "24"}, {"model.kv_heads", "6"}, {"model.ffn", "12288"}}).errors(),
      ElementsAre("small.textproto:8:3: layout.tensor: 4 neither divides the 6 key/value heads of model "
                  "\"llama_7b\" nor is a multiple of them; 1, 2, 3 and 6 would do"));
}

TEST(LoadScenario, WarnsWhereKeyValueHeadsAreReplicated) {
  const Loading loading = Load({{"layout.tensor", "8"}, {"model.kv_heads", "2"}});
  EXPECT_THAT(loading.errors(), IsEmpty());
  EXPECT_THAT(loading.warnings(), ElementsAre("--set 1: layout.tensor: 8 ranks share 2 key/value heads, so "
                                              "each head is held and computed 4 times"));
  EXPECT_THAT(loading.scenario->warnings,
              ElementsAre(HasSubstr("layout.tensor: 8 ranks share 2 key/value heads")));
}

// HB-108 (zxypro1/algolocal#93; vllm-project/vllm#732): legal, with the group, its domain and the slowest
// link. 48 GB/s is what collectives achieve of an H100's 50 GB/s NIC (hardware/h100_sxm.textproto).
TEST(LoadScenario, WarnsOfTensorGroupsBeyondTheNode) {
  const Loading loading = Load({{"layout.tensor", "16"}, {"layout.pipeline", "1"}});
  EXPECT_THAT(loading.errors(), IsEmpty());
  EXPECT_THAT(
      loading.warnings(),
      ElementsAre(HasSubstr("layout.tensor: a tensor group of 16 reaches beyond one NVLink domain of 8; its "
                            "all-reduce of every layer crosses the network (NIC, 48 GB/s): ")));
  // Tensor 4 inside nodes of 8, but spread over them by the order of ranks.
  EXPECT_THAT(Load({{"layout.rank_order", "dp-pp-cp-tp"}}).warnings(),
              ElementsAre(HasSubstr("a tensor group of 4 reaches beyond one NVLink domain")));
}

// HB-120 (aliyun/SimAI#142): 24 ranks on three nodes want 24 to divide the heads, and are slow.
TEST(LoadScenario, TakesTensorGroupsOf24WhereTheyDivideTheHeads) {
  const Sets over_three_nodes = {{"devices", "24"},        {"layout.tensor", "24"},
                                 {"layout.pipeline", "1"}, {"model.hidden", "9216"},
                                 {"model.ffn", "24576"},   {"model.vocabulary", "30720"}};
  const auto with_heads = [&](const char* heads) {
    Sets sets = over_three_nodes;
    for (const char* field : {"model.heads", "model.kv_heads"}) sets.emplace_back(field, heads);
    return Load(sets);
  };
  EXPECT_THAT(with_heads("40").errors(),
              testing::Contains(HasSubstr("layout.tensor: 24 does not divide the 40 attention heads")));
  const Loading accepted = with_heads("96");
  EXPECT_THAT(accepted.errors(), IsEmpty());
  EXPECT_THAT(accepted.warnings(),
              testing::Contains(HasSubstr("a tensor group of 24 reaches beyond one NVLink domain of 8;")));
}

TEST(LoadScenario, WarnsOfPipelinesThatCannotFill) {
  EXPECT_THAT(
      Load({{"batch.global", "2"}}).warnings(),
      ElementsAre("small.textproto:11:3: layout.pipeline: 1 micro-batch cannot fill 2 stages; most of the "
                  "step is bubble"));
  EXPECT_THAT(Load().warnings(), IsEmpty());
}

// HB-210: world size and degrees.
TEST(LoadScenario, RefusesDegreesThatDoNotMultiplyToTheDevices) {
  EXPECT_THAT(Load({{"devices", "8"}, {"layout.pipeline", "4"}}).errors(),
              ElementsAre(HasSubstr("devices: tensor 4 x context 1 x pipeline 4 > 8 devices")));
  EXPECT_THAT(Load({{"layout.data", "3"}, {"batch.global", "3"}}).errors(),
              ElementsAre("--set 1: layout.data: data 3 x tensor 4 x context 1 x pipeline 2 = 24 != 16 "
                          "devices; 2 is wanted"));
  EXPECT_THAT(Load({{"layout.data", "2"}}).errors(), IsEmpty());
}

// HB-203: 256 != 2*18*7 = 252, with 7 data ranks of 56 devices.
TEST(LoadScenario, RefusesBatchesThatDoNotMultiply) {
  EXPECT_THAT(
      Load({{"devices", "56"}, {"batch.global", "256"}, {"batch.micro", "2"}, {"batch.accumulation", "18"}})
          .errors(),
      ElementsAre(
          "--set 4: batch.accumulation: 256 != 2*18*7 = 252; wanted global = micro x accumulation x data"));
  EXPECT_THAT(Load({{"batch.global", "17"}}).errors(),
              ElementsAre(HasSubstr("--set 1: batch.global: 17 % (1*2) = 1")));
}

// HB-218: world 1472, tp 8, pp 8, gbs 32, mbs 1; 40 layers over 8 stages are 5 each.
TEST(LoadScenario, RefusesTheGlobalBatchOf1472Devices) {
  EXPECT_THAT(
      Load({{"devices", "1472"},
            {"layout.tensor", "8"},
            {"layout.pipeline", "8"},
            {"batch.global", "32"},
            {"model.layers", "40"}})
          .errors(),
      ElementsAre(
          "--set 4: batch.global: 32 % (1*23) = 9: not a multiple of micro 1 x data 23 = 23; 23 and 46 are"));
}

// HB-075, HB-079: layers over stages; see also layer_split_test.cc.
TEST(LoadScenario, PlacesErrorsOfTheLayerSplit) {
  EXPECT_THAT(Load({{"model.layers", "33"}}).errors(),
              ElementsAre(HasSubstr(
                  "small.textproto:11:3: layout.pipeline: 33 layers do not share evenly over 2 stages")));
  EXPECT_THAT(
      Load({{"layout.virtual", "3"}}).errors(),
      ElementsAre(HasSubstr("--set 1: layout.virtual: 32 layers over 2 stages are 16 layers a stage")));
  EXPECT_THAT(Load({{"pipeline.stage_layers", "[20, 13]"}}).errors(),
              ElementsAre("--set 1: pipeline.stage_layers: adds up to 33 layers; the model has 32"));
  EXPECT_THAT(Load({{"pipeline.stage_layers", "[-1, 33]"}}).errors(),
              ElementsAre(HasSubstr("--set 1: pipeline.stage_layers[0]: -1 is out of range"),
                          HasSubstr("--set 1: pipeline.stage_layers[1]: 33 is out of range")));
  EXPECT_THAT(Load({{"pipeline.stage_layers", "[20, 12]"}}).scenario->pipeline.layers_of_piece,
              ElementsAre(20, 12));
}

TEST(LoadScenario, ChoosesAndChecksTheSchedule) {
  EXPECT_EQ(Load({{"layout.virtual", "2"}}).scenario->pipeline.schedule->name, "interleaved");
  EXPECT_EQ(Load({{"pipeline.schedule", "GPIPE"}}).scenario->pipeline.schedule->name, "gpipe");
  EXPECT_THAT(Load({{"pipeline.schedule", "ONE_F_ONE_B"}, {"layout.virtual", "2"}}).errors(),
              ElementsAre(HasSubstr("--set 1: pipeline.schedule: ")));
  EXPECT_THAT(Load({{"layout.virtual", "2"}, {"layout.pipeline", "1"}}).errors(),
              ElementsAre(HasSubstr("--set 1: layout.virtual: ")));
}

TEST(LoadScenario, RefusesSequenceParallelismThatCutsNothingOrUnevenly) {
  EXPECT_THAT(Load({{"layout.sequence", "true"}, {"layout.tensor", "1"}}).errors(),
              ElementsAre(HasSubstr("--set 1: layout.sequence: true needs layout.tensor above 1")));
  EXPECT_THAT(Load({{"layout.sequence", "true"}, {"batch.sequence_length", "2050"}}).errors(),
              ElementsAre(HasSubstr(
                  "batch.sequence_length: 2050 tokens are not a multiple of 4 ranks; 2048 and 2052 are")));
}

TEST(LoadScenario, RefusesSequencesBeyondLearnedPositions) {
  EXPECT_THAT(
      Load({{"model", "gpt2"}, {"layout.pipeline", "1"}}).errors(),
      ElementsAre(HasSubstr(
          "batch.sequence_length: 2048 tokens are more than the 1024 learned positions of model \"gpt2\"")));
}

// HB-213: BF16 needs compute capability 8.0; FP16 does not.
TEST(LoadScenario, RefusesFormatsThatTheDeviceLacks) {
  EXPECT_THAT(
      Load({{"hardware", "a100_80_sxm"}, {"hardware.capability", "70"}}).errors(),
      ElementsAre(HasSubstr("training.format: BF16 needs compute capability 8.0 or more, and \"a100_80_sxm\" "
                            "has 7.0; use FP16")));
  EXPECT_THAT(Load({{"hardware", "a100_80_sxm"}, {"hardware.capability", "70"}, {"training.format", "FP16"}})
                  .errors(),
              IsEmpty());
  EXPECT_THAT(Load({{"training.format", "FP8"}}).errors(),
              ElementsAre(HasSubstr("format BF16 and a recipe in matmul are wanted")));
  EXPECT_THAT(
      Load({{"training.gradient_type", "FP16"}}).errors(),
      ElementsAre("--set 1: training.gradient_type: FP16 gradients of BF16 weights; FP32 or BF16 is wanted"));
}

TEST(LoadScenario, RefusesAttentionWithoutFigures) {
  EXPECT_THAT(Load({{"hardware", "a100_80_sxm"}, {"training.attention", "FLASH3"}}).errors(),
              ElementsAre(HasSubstr("--set 2: training.attention: FLASH3 has no figures for device "
                                    "\"a100_80_sxm\"; one of UNFUSED, ")));
}

// HB-222: zero, negative and huge numbers for every numeric field.
TEST(LoadScenario, NamesTheRangeOfEveryNumber) {
  for (const char* path : {"devices", "steps", "layout.tensor", "layout.context", "layout.pipeline",
                           "layout.virtual", "layout.expert", "layout.expert_tensor", "layout.data",
                           "batch.global", "batch.micro", "batch.sequence_length", "batch.accumulation",
                           "pipeline.first_stage_layers", "pipeline.last_stage_layers", "pipeline.group_size",
                           "training.bucket_mb", "training.vocabulary_divisor"}) {
    for (const char* value : {"0", "-1", "9223372036854775807"}) {
      const Loading loading = Load({{path, value}});
      EXPECT_FALSE(loading.scenario.has_value()) << path << '=' << value;
      EXPECT_THAT(loading.errors(), Contains(testing::AllOf(HasSubstr(std::string("--set 1: ") + path),
                                                            HasSubstr(" is out of range; a number from "))))
          << path << '=' << value;
    }
  }
  EXPECT_THAT(Load({{"batch.micro", "1.5"}}).errors(),
              ElementsAre(HasSubstr("--set 1: batch.micro: 1.5 is not whole")));
  EXPECT_THAT(Load({{"training.bucket_mb", "1e400"}}).errors(),
              ElementsAre(HasSubstr("1e400 is out of range")));
}

TEST(LoadScenario, SurvivesTheLargestNumbersTogether) {
  const Loading loading = Load({{"devices", "1048576"},
                                {"layout.tensor", "4096"},
                                {"layout.pipeline", "4096"},
                                {"layout.virtual", "1024"},
                                {"batch.global", "1000000000"},
                                {"batch.micro", "1000000"},
                                {"batch.sequence_length", "16777216"}});
  EXPECT_FALSE(loading.scenario.has_value());
}

TEST(LoadScenario, RefusesStepsWhoseKernelsDoNotFit63Bits) {
  // 4 n^2 h per sequence and layer of attention alone: 4 x (2^24)^2 x 4096 / 4 ranks = 1.2e18; 16 of them do
  // not fit.
  EXPECT_THAT(
      Load({{"batch.sequence_length", "16777216"}, {"batch.micro", "16"}, {"batch.global", "32"}}).errors(),
      ElementsAre(HasSubstr("batch.micro: one kernel would execute more than 9.2e18 operations")));
}

TEST(LoadScenario, RefusesPartlyFilledNodes) {
  EXPECT_THAT(Load({{"devices", "20"}, {"layout.pipeline", "1"}, {"batch.global", "5"}}).errors(),
              ElementsAre(HasSubstr("--set 1: devices: ")));
}

TEST(LoadScenario, ReadsJson) {
  const Loading loading = Load({}, R"({
    "name": "small", "source": {"title": "made for the tests"},
    "model": "llama_7b", "hardware": "h100_sxm", "topology": "rail_optimised_ndr", "devices": 16,
    "layout": {"tensor": 4, "sequence": false, "context": 1, "pipeline": 2, "virtual": 1, "expert": 1,
               "expert_tensor": 1},
    "batch": {"global": 16, "micro": 1, "sequence_length": 2048},
    "training": {"format": "BF16", "recompute": "FULL"}
  })",
                               "small.json");
  EXPECT_THAT(loading.errors(), IsEmpty());
  EXPECT_EQ(loading.scenario->layout.data, 2);
}

TEST(LoadScenario, SuggestsNamesAndRefusesFilesThatAreNotThere) {
  proto::Diagnostics diagnostics;
  EXPECT_FALSE(LoadScenario("llama_7b_256xh80", {}, &diagnostics).has_value());
  EXPECT_FALSE(LoadScenario("no/such.textproto", {}, &diagnostics).has_value());
  EXPECT_FALSE(LoadScenario("wombat", {}, &diagnostics).has_value());
  EXPECT_THAT(
      diagnostics.errors(),
      ElementsAre(
          HasSubstr(
              "llama_7b_256xh80: there is no scenario or file of this name; did you mean llama_7b_256xh800"),
          "no/such.textproto: there is no such file",
          "wombat: there is no scenario or file of this name; `orrery list scenarios` shows all"));
}

TEST(LoadScenario, AFileBesideTheScenarioWinsOverTheCatalogue) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "orrery_beside";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "small.textproto") << kScenario;
  std::ifstream original(std::string(ORRERY_SOURCE_DIR) + "/models/llama_13b.textproto");
  std::ofstream(folder / "llama_7b.textproto") << original.rdbuf();
  proto::Diagnostics diagnostics;
  const auto scenario =
      LoadScenario((folder / "small.textproto").string(), {{1, "layout.tensor", "8"}}, &diagnostics);
  EXPECT_THAT(diagnostics.errors(), IsEmpty());
  ASSERT_TRUE(scenario.has_value());
  EXPECT_EQ(scenario->model.name, "llama_13b");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace scenarios
