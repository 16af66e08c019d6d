// orrery import, as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;

std::string Config(const std::string& name) {
  return std::string(ORRERY_SOURCE_DIR) + "/tests/models/hf/" + name + ".json";
}

std::string Content(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Import : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "import_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

// 46,702,792,704 and 12,879,925,248 are Mixtral's published figures.
TEST_F(Import, PrintsTheModelAndCountsItOnStderr) {
  const Result result = RunWords({"import", "hf", Config("mixtral_8x7b"), "--name", "my_mixtral"});
  EXPECT_EQ(result.status, kExitDone);
  EXPECT_THAT(result.out, HasSubstr("name: \"my_mixtral\"\nsource {\n"));
  EXPECT_THAT(result.out, HasSubstr("\nexperts {\n  routed: 8\n  per_token: 2\n  ffn: 14336\n}\n"));
  EXPECT_EQ(result.err, "import: my_mixtral, mixtral: 46,702,792,704 parameters, 12,879,925,248 active\n");
}

TEST_F(Import, WritesAFileThatAScenarioCanName) {
  const std::string path = folder_ + "/tiny.textproto";
  const Result result = RunWords({"import", "hf", Config("gpt2"), "--output", path});
  EXPECT_EQ(result.status, kExitDone);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "import: tiny, gpt2: 124,439,808 parameters\n");
  EXPECT_THAT(Content(path), HasSubstr("name: \"tiny\""));
  const Result check =
      RunWords({"check", "seed27_example", "--set", "model=" + path, "--set", "batch.sequence_length=1024"});
  EXPECT_EQ(check.status, kExitDone) << check.err;
  EXPECT_THAT(check.out, HasSubstr("legal: tiny on"));
}

TEST_F(Import, CountsKeysThatItIgnoresAndListsThemWhenAsked) {
  EXPECT_THAT(RunWords({"import", "hf", Config("deepseek_v3")}).err,
              HasSubstr("import: 1 key ignored; --verbose lists it\n"));
  const Result verbose = RunWords({"import", "hf", Config("deepseek_v3"), "--verbose"});
  EXPECT_THAT(verbose.err, HasSubstr("import: key ignored: quantization_config\n"));
  EXPECT_THAT(verbose.err, HasSubstr("prediction modules beside them: 11,610,068,224"));
  EXPECT_THAT(RunWords({"import", "hf", Config("gemma3_4b")}).err,
              HasSubstr("import: the language model alone; what surrounds it is left out\n"));
}

TEST_F(Import, WritesNothingWhenThereIsAMistake) {
  const std::string config = folder_ + "/config.json", path = folder_ + "/out.textproto";
  std::ofstream(config) << "{\"model_type\": \"mamba\"}\n";
  const Result result = RunWords({"import", "hf", config, "--output", path});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("config.json:1:2: model_type: \"mamba\" is no family that can be read"));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(RunWords({"import", "hf", Config("gpt2"), "--output", folder_ + "/no/x.textproto"}).status,
            kExitUsage);
}

// A file in .json is read as JSON, and what is written is textproto.
TEST_F(Import, RefusesToWriteTextprotoUnderANameInJson) {
  const std::string path = folder_ + "/model.json";
  const Result result = RunWords({"import", "hf", Config("gpt2"), "--output", path});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("one in .textproto is wanted"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Import, NeverWritesOverAFile) {
  const std::string path = folder_ + "/mine.textproto";
  std::ofstream(path) << "mine";
  const Result result = RunWords({"import", "hf", Config("gpt2"), "--output", path});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("mine.textproto is there already; it is not written over"));
  EXPECT_EQ(Content(path), "mine");
}

// Somebody meant it to lead somewhere.
TEST_F(Import, WritesThroughNoLinkThatLeadsNowhere) {
  const std::string path = folder_ + "/link.textproto";
  std::filesystem::create_symlink(folder_ + "/nowhere.textproto", path);
  const Result result = RunWords({"import", "hf", Config("gpt2"), "--output", path});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("link.textproto is there already; it is not written over"));
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST_F(Import, TakesNamesOfLettersDigitsAndThreeSigns) {
  for (const char* name : {"", "a b", ".hidden", "a/b", "a\"b", "\xc3\xa9"}) {
    const Result result = RunWords({"import", "hf", Config("gpt2"), "--name", name});
    EXPECT_EQ(result.status, kExitUsage) << name;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("--name \"" + std::string(name) + "\": a name of letters"));
  }
  EXPECT_EQ(RunWords({"import", "hf", Config("gpt2"), "--name", "GPT-2.small_1"}).status, kExitDone);
}

TEST_F(Import, SaysThatANameIsEmpty) {
  EXPECT_EQ(RunWords({"import", "hf", ""}).err,
            "orrery: error: \"\": the name of a file is empty; one is wanted\n");
  EXPECT_THAT(RunWords({"check", ""}).err, HasSubstr("\"\": there is no scenario or file of this name"));
}

TEST_F(Import, SaysWhatItWants) {
  EXPECT_EQ(RunWords({"import"}).err,
            "orrery: error: no format is given; hf, megatron, deepspeed, nanotron, nemo, torchtitan, "
            "nccl_topo, nvidia_smi, ibnetdiscover are known, "
            "as in `orrery import hf config.json`\n");
  EXPECT_EQ(RunWords({"import", "gguf", "x"}).err,
            "orrery: error: unknown format gguf; hf, megatron, deepspeed, nanotron, nemo, torchtitan, "
            "nccl_topo, nvidia_smi, ibnetdiscover are known, "
            "as in `orrery import hf config.json`\n");
  EXPECT_EQ(RunWords({"import", "hf"}).err,
            "orrery: error: no file is given; wanted `orrery import hf config.json`\n");
  EXPECT_EQ(RunWords({"import", "hf", "no/such.json"}).err,
            "orrery: error: no/such.json: there is no such file\n");
  EXPECT_EQ(RunWords({"import", "hf", Config("gpt2"), "--output", "-"}).status, kExitUsage);
}

std::string FabricSample(const std::string& name) {
  return std::string(ORRERY_SOURCE_DIR) + "/tests/topologies/import/samples/" + name;
}

TEST_F(Import, WritesAFabricThatLoadsAsATopology) {
  const std::string path = folder_ + "/node.textproto";
  const Result result =
      RunWords({"import", "nccl_topo", FabricSample("nccl_topo_4xh100.xml"), "--output", path});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.err, HasSubstr("import: node: 4 devices, 12 elements, 14 links\n"));
  EXPECT_THAT(Content(path), HasSubstr("name: \"node\"\n"));
  const Result run = RunWords({"check", "llama3_8b_8xh100", "--set", "topology=" + path, "--set", "devices=4",
                               "--set", "layout.context=4"});
  EXPECT_EQ(run.err.find("topology"), std::string::npos) << run.err;
}

TEST_F(Import, WantsADeviceWhereAFabricHasNoRates) {
  const std::string file = FabricSample("nvidia_smi_4xh100.txt");
  const Result none = RunWords({"import", "nvidia_smi", file});
  EXPECT_EQ(none.status, kExitUsage);
  EXPECT_THAT(none.err, HasSubstr("so --hardware NAME is wanted"));
  const Result named = RunWords({"import", "nvidia_smi", file, "--hardware", "h100_sxm"});
  EXPECT_EQ(named.status, kExitDone) << named.err;
  EXPECT_THAT(named.out,
              HasSubstr("from: \"node0/gpu0\" to: \"node0/nvswitch\" bandwidth_gb_per_s_each_way: "));
}

TEST_F(Import, WritesNothingOfABrokenFabric) {
  const std::string file = folder_ + "/net.txt", path = folder_ + "/net.textproto";
  std::ofstream(file) << "Ca 1 \"H-1\"\n[1] \"S-1\"[1] # 4xNDR\n";
  const Result result = RunWords({"import", "ibnetdiscover", file, "--output", path});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("net.txt:2: \"S-1\" is no element of this file"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tools
