#include "models/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "models/flops.h"
#include "models/model_reader.h"
#include "models/parameters.h"
#include "models/transformer.h"

namespace models {
namespace {

using testing::Contains;
using testing::HasSubstr;

Model Load(const std::string& name, const std::vector<proto::Override>& overrides = {}) {
  proto::Diagnostics diagnostics;
  const std::optional<Model> model = ReadModel(name, overrides, "", &diagnostics);
  for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
  return model.value_or(Model());
}

struct Totals {
  std::int64_t total = 0;
  std::int64_t active = 0;  // 0 = all
};

// Published totals, or the sum of the published shapes where only "1.7B" is printed.
std::map<std::string, Totals> CatalogueTotals() {
  return {
      // 12 L h^2 + 13 L h + 250,880 h + 2 x 2 h: two layer norms at the ends
      {"bloom_176b", {176'247'271'424}},
      {"bloom_7b1", {7'069'016'064}},
      // L (13 h^2 + 9 h + 2 h) + 32,000 h + h: four matrices of attention, two of 4 h, one for
      // positions; biases of all but the last; RMS norms
      {"chinchilla_70b", {70'062'579'712}},
      {"deepseek_v2", {235'741'434'880, 21'375'800'320}},
      // as deepseek_v2, less 56 layers of 3,972,116,480 (338,800,640 active): attention 149,227,520, 162
      // experts of 3 x 5,120 x 1,536, a router of 160 x 5,120, two norms
      {"deepseek_v2_l4", {13'302'912'000, 2'402'964'480}},
      {"deepseek_v2_lite", {15'706'484'224, 2'661'150'208}},
      {"deepseek_v3", {671'026'419'200, 37'552'297'472}},
      {"gemma2_27b", {27'227'128'320}},
      {"gpt2", {124'439'808}},
      {"gpt3_175b", {174'604'259'328}},
      // 12 L h^2 + 13 L h + 51,200 h + 2,048 h + 2 h
      {"gpt_18b_sc21", {18'449'756'160}},
      {"gpt_1_7b_sc21", {1'652'230'656}},
      {"gpt_3_6b_sc21", {3'562'168'320}},
      {"gpt_7_5b_sc21", {7'467'786'240}},
      // A layer: queries, output 2 x 2,880 x 4,096 + 4,096 + 2,880; keys, values 2 x 2,881 x 512; 64
      // sinks; norms 2 x 2,880; router 2,881 E; E experts of 3 x 2,880^2 + 3 x 2,880 with biases.
      // Tables 2 x 201,088 x 2,880, last norm 2,880. The model card says 20.91e9 and 116.83e9.
      // 12 L h^2 + 13 L h + 50,304 h + 1,024 h + 2 h
      {"gpt_1_5b_zero_bubble", {1'520'345'088}},
      {"gpt_6_2b_zero_bubble", {6'251'642'880}},
      {"gpt_oss_120b", {116'829'156'672, 5'711'982'912}},
      {"gpt_oss_20b", {20'914'757'184, 4'187'440'704}},
      // llama_7b with 2 x 71,168 x 4,096 more of vocabulary, and four biases of 4,096 in 32 layers
      {"internlm_7b", {7'321'948'160}},
      {"llama2_13b", {13'015'864'320}},
      {"llama2_70b", {68'976'648'192}},
      {"llama2_7b", {6'738'415'616}},
      {"llama3_1_405b", {405'853'388'800}},
      {"llama3_70b", {70'553'706'496}},
      {"llama3_8b", {8'030'261'248}},
      {"llama_13b", {13'015'864'320}},
      {"llama_65b", {65'285'660'672}},
      {"llama_68m", {68'030'208}},  // 2 (4 x 768^2 + 3 x 768 x 3,072 + 2 x 768) + 768 + 2 x 32,000 x 768
      {"llama_7b", {6'738'415'616}},
      // 12 L h^2 + 13 L h + 2 x 131,072 h + 4,096 h + 2 h
      {"mcore_gpt_16b", {16'133'861'376}},
      {"mcore_gpt_1_7b", {1'753'862'144}},
      {"mcore_gpt_7_1b", {7'131'922'432}},
      // 12 L h^2 + 13 L h + 51,200 h + 2,048 h + 2 h
      {"megatron_175b", {174'615'846'912}},
      {"megatron_1t", {1'008'038'758'400}},
      {"megatron_22b", {22'074'273'792}},
      {"megatron_530b", {529'600'819'200}},
      {"mistral_7b", {7'241'732'096}},
      {"mixtral_8x22b", {140'630'071'296, 39'161'468'928}},  // HB-004
      {"mixtral_8x7b", {46'702'792'704, 12'879'925'248}},    // HB-013
      // L (2 h^2 + 2 h 1,024 + 16 h + E 3 h 18,432 + 2 h) + 2 x 100,256 h + h, with E = 16 and 2
      {"moe_1_8t", {1'811'233'390'592, 289'204'355'072}},
      // L (2 h 48 x 256 + 2 h 256 + 3 h 4 h + h) + 256,000 h + h; the paper prints 540.35B
      // 12 L h^2 + 13 L h + 50,368 h + 2,048 h + 2 h, the totals of llm-foundry's tables
      {"mpt_13b", {12'853'954'560}},
      {"mpt_30b", {29'975'214'080}},
      {"mpt_7b", {6'658'859'008}},
      // L (2 h^2 + 2 x 1,024 h + 2 x 24,576 h + 4 h) + 2 x 256,000 h + 2 h
      {"nemotron4_15b", {15'628'775'424}},
      {"palm_540b", {540'356'474'880}},
      {"qwen2_5_72b", {72'706'203'648}},  // HB-002
      {"qwen2_5_7b", {7'615'616'512}},
      // L (2 h (64 + 4) 128 + 2 x 128 + 128 h + E 3 h 1,536 + 2 h) + 2 x 151,936 h + h, with E = 128
      // and 8; the 30B likewise with 32 heads and 768
      {"qwen3_235b_a22b", {235'093'634'560, 22'190'763'520}},
      {"qwen3_30b_a3b", {30'532'122'624, 3'353'032'704}},
      {"qwen3_4b", {4'022'468'096}},  // HB-001
      {"seed27_example", {168'059'904}},
      {"xglm_7_5b", {7'492'771'840}},  // 12 L h^2 + 13 L h + 256,008 h + 2 h
  };
}

TEST(Catalogue, EveryModelHasItsPublishedNumberOfParameters) {
  const std::map<std::string, Totals> totals = CatalogueTotals();
  std::size_t found = 0;
  for (const proto::CatalogueFile& entry : Catalogue()) {
    const auto want = totals.find(std::string(entry.name));
    if (want == totals.end()) {
      ADD_FAILURE() << entry.file << " has no total in this test";
      continue;
    }
    const auto& [total, active] = want->second;
    const ModelParameters p = ParametersOf(Load(want->first));
    EXPECT_EQ(p.total(), total) << entry.name;
    EXPECT_EQ(p.active(), active > 0 ? active : total) << entry.name;
    ++found;
  }
  EXPECT_EQ(found, totals.size());
}

// Its authors count what a token uses without the table: 3.61e9 and 5.13e9.
// Source: gpt-oss model card, table 1.
TEST(Catalogue, ActiveParametersOfGptOssWithoutTheTableAreItsModelCards) {
  for (const auto& [name, billions] : {std::pair{"gpt_oss_20b", 3.61}, {"gpt_oss_120b", 5.13}}) {
    const ModelParameters p = ParametersOf(Load(name));
    EXPECT_NEAR(static_cast<double>(p.active() - p.table) * 1e-9, billions, 0.005) << name;
  }
}

TEST(Catalogue, CommentsOfModelFilesCiteTheirTotals) {
  const auto grouped = [](std::int64_t n) {
    std::string text = std::to_string(n);
    for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
    return text;
  };
  for (const proto::CatalogueFile& entry : Catalogue()) {
    const std::string head(entry.text.substr(0, entry.text.find("name:")));
    EXPECT_THAT(head, HasSubstr(grouped(ParametersOf(Load(std::string(entry.name))).total()))) << entry.name;
  }
}

TEST(Catalogue, EveryModelIsNamedAsItsFileHasASourceAndNoWarning) {
  for (const proto::CatalogueFile& entry : Catalogue()) {
    proto::Diagnostics diagnostics;
    const std::optional<Model> m = ReadModelText(std::string(entry.file), entry.text, {}, &diagnostics);
    ASSERT_TRUE(m.has_value()) << entry.name;
    EXPECT_EQ(m->name, entry.name);
    EXPECT_FALSE(m->source.empty());
    EXPECT_TRUE(diagnostics.warnings().empty()) << diagnostics.warnings()[0];
    EXPECT_THAT(std::string(entry.text), HasSubstr("source {"));
    EXPECT_THAT(std::string(entry.text), HasSubstr("note: "));
  }
}

TEST(Catalogue, EveryModelCanBeExecuted) {
  Execution e;
  e.tensor = 2;
  e.sequence_parallel = true;
  e.sequence_length = 1024;
  e.vocabulary_divisor = 128;
  for (const proto::CatalogueFile& entry : Catalogue()) {
    Model m = Load(std::string(entry.name));
    if (m.heads % 2 != 0) continue;
    for (const Block& b : {AttentionBlock(m, e, 0), MlpBlock(m, e, 0), MlpBlock(m, e, m.layers - 1)}) {
      EXPECT_GT(TotalFlops(b.main), 0) << m.name;
      for (const sim::Kernel& k : b.main) EXPECT_GT(k.bytes.count(), 0) << m.name << " " << k.name;
    }
    EXPECT_GT(HeadBlock(m, e).main[0].flops.count(), 0);
    EXPECT_GT(EmbeddingBlock(m, e).main[0].bytes.count(), 0);
  }
}

TEST(ReadModel, OfAnUnknownNameSuggestsTheNearest) {
  proto::Diagnostics diagnostics;
  EXPECT_FALSE(ReadModel("lama_7b", {}, "", &diagnostics).has_value());
  ASSERT_EQ(diagnostics.errors().size(), 1u);
  EXPECT_THAT(diagnostics.errors()[0], HasSubstr("no model is called \"lama_7b\""));
  EXPECT_THAT(diagnostics.errors()[0], HasSubstr("\"llama_7b\""));
}

TEST(ReadModel, TakesOverridesAndCitesThem) {
  EXPECT_EQ(Load("gpt2", {{1, "layers", "24"}}).layers, 24);
  proto::Diagnostics diagnostics;
  EXPECT_FALSE(
      ReadModel("llama3_8b", {{1, "layers", "4"}, {2, "kv_heads", "5"}}, "", &diagnostics).has_value());
  ASSERT_EQ(diagnostics.errors().size(), 1u);
  EXPECT_THAT(diagnostics.errors()[0], HasSubstr("--set 2"));
  EXPECT_THAT(diagnostics.errors()[0],
              HasSubstr("kv_heads: 5 does not divide the 32 query heads; 1, 2, 4, 8, 16 and 32 do"));
}

TEST(ReadModel, ReportsEveryMistakeInOneRun) {
  proto::Diagnostics diagnostics;
  const char* text =
      "name: \"x\"\n"
      "source { title: \"none\" }\n"
      "layers: 10001\n"
      "hidden: 0\n"
      "ffn: 64\n"
      "heads: 6\n"
      "kv_heads: 4\n"
      "head_dim: 7\n"
      "vocabulary: 100\n"
      "max_sequence_tokens: 2048\n"
      "learned_positions: 1024\n"
      "rotary: true\n"
      "nonlinearity: SILU\n"
      "tied_embedding: true\n"
      "norms_per_layer: 3\n"
      "full_attention_every_layers: 2\n";
  EXPECT_FALSE(ReadModelText("x.textproto", text, {}, &diagnostics).has_value());
  const std::vector<std::string>& errors = diagnostics.errors();
  EXPECT_THAT(errors,
              Contains("x.textproto:3:1: layers: 10,001 is out of range; give a number from 1 to 10,000"));
  EXPECT_THAT(errors, Contains(HasSubstr(":4:1: hidden: 0 is out of range")));
  EXPECT_THAT(errors,
              Contains(HasSubstr(":7:1: kv_heads: 4 does not divide the 6 query heads; 1, 2, 3 and 6 do")));
  EXPECT_THAT(errors, Contains(HasSubstr(":8:1: head_dim: 7 is odd")));
  EXPECT_THAT(errors, Contains(HasSubstr(":11:1: learned_positions: 1,024 are too few")));
  EXPECT_THAT(errors, Contains(HasSubstr(":15:1: norms_per_layer: 3 is not supported")));
  EXPECT_THAT(errors, Contains(HasSubstr("full_attention_every_layers: has no meaning")));
  EXPECT_THAT(errors, Contains(HasSubstr("gated: missing")));
  EXPECT_THAT(errors, Contains(HasSubstr("norm: missing; give RMS or LAYER")));
  EXPECT_EQ(errors.size(), 9u);
}

TEST(ReadModel, TheLargestLegalModelHasParametersThatFit) {
  const Model m = Load("gpt2", {{1, "layers", "10000"},
                                {2, "hidden", "1000000"},
                                {3, "ffn", "10000000"},
                                {4, "heads", "100000"},
                                {5, "kv_heads", "100000"},
                                {6, "head_dim", "100"},
                                {7, "vocabulary", "10000000"},
                                {8, "learned_positions", "100000000"},
                                {9, "max_sequence_tokens", "100000000"}});
  // Four matrices of attention and two of the feed-forward of 10^13 each, a layer.
  EXPECT_GT(ParametersOf(m).total(), 600'000'000'000'000'000);
  EXPECT_GT(ModelFlops(m, 1'000'000'000, 100'000'000), 0);
  Execution e;
  e.micro_batch = 1'000'000;
  e.sequence_length = 16'777'216;
  EXPECT_GT(LargestKernelFlops(m, e), static_cast<sim::Wide>(INT64_MAX));
}

TEST(ReadModel, SaysOfAnEmptyFileThatItIsEmpty) {
  proto::Diagnostics diagnostics;
  EXPECT_FALSE(ReadModelText("x.textproto", "", {}, &diagnostics).has_value());
  EXPECT_FALSE(diagnostics.ok());
}

TEST(ReadModel, PrefersAFileBesideTheScenarioAndTakesPaths) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "orrery_models_test";
  std::filesystem::create_directories(folder);
  for (const proto::CatalogueFile& entry : Catalogue()) {
    if (entry.name == "llama_7b") std::ofstream(folder / "gpt2.textproto") << entry.text;
  }
  proto::Diagnostics diagnostics;
  const std::optional<Model> beside = ReadModel("gpt2", {}, folder.string(), &diagnostics);
  const std::optional<Model> path = ReadModel((folder / "gpt2.textproto").string(), {}, "", &diagnostics);
  const std::optional<Model> relative = ReadModel("gpt2.textproto", {}, folder.string(), &diagnostics);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(beside && path && relative);
  EXPECT_EQ(beside->name, "llama_7b");
  EXPECT_EQ(path->name, "llama_7b");
  EXPECT_EQ(relative->name, "llama_7b");

  EXPECT_FALSE(ReadModel("none/such.textproto", {}, "", &diagnostics).has_value());
  EXPECT_FALSE(diagnostics.ok());
}

}  // namespace
}  // namespace models
