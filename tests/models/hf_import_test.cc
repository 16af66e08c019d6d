// Models from config.json files: figures of real files, written down as facts in tests/models/hf.

#include "models/hf_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "models/catalogue.h"
#include "models/model_reader.h"
#include "models/model_text.h"
#include "models/parameters.h"
#include "tests/models/hf_importing.h"

namespace models {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Total {
  const char* name;
  std::int64_t total;
  std::int64_t active;  // 0: as many
};

// Totals are what the published weights count (safetensors headers of the model
// pages, technical reports), or follow from the shapes where a comment says so:
// q, k, v and o are h (2 H + 2 K) d, a gated feed-forward 3 h f, a norm h.
constexpr Total kTotals[] = {
    {"llama_7b", 6'738'415'616, 0},
    {"llama2_70b", 68'976'648'192, 0},
    {"llama3_1_8b", 8'030'261'248, 0},
    {"llama3_2_1b_v5", 1'235'814'400, 0},  // tied
    // 48 (5120 (2 x 5120 + 2 x 1024) + 17 x 3 x 5120 x 8192 + 16 x 5120 + 2 x 5120) + 2 x 202,048 x 5120
    // + 5120. One of 16 experts is active; 17B are printed.
    {"llama4_scout", 107'769'861'120, 17'172'894'720},
    // 24 layers of 129 experts, 24 of 3 x 5120 x 16384; 400B and 17B are printed.
    {"llama4_maverick", 400'711'848'960, 17'184'691'200},
    {"mistral_7b", 7'241'732'096, 0},
    {"mistral_nemo_12b", 12'247'782'400, 0},
    {"mixtral_8x7b", 46'702'792'704, 12'879'925'248},
    // Active: 6 of 8 experts of 3 x 6144 x 16384 in 56 layers less; 39B are printed.
    {"mixtral_8x22b", 140'630'071'296, 39'161'468'928},
    {"qwen2_5_7b", 7'615'616'512, 0},
    {"qwen2_5_0_5b", 494'032'768, 0},
    {"qwen1_5_moe_a2_7b", 14'315'784'192, 2'689'173'504},  // 2.7B are printed
    {"qwen3_4b", 4'022'468'096, 0},
    {"qwen3_30b_a3b", 30'532'122'624, 3'353'032'704},      // 3.3B are printed
    {"qwen3_235b_a22b", 235'093'634'560, 22'190'763'520},  // 22B are printed
    {"deepseek_v2_lite", 15'706'484'224, 2'661'150'208},   // 2.4B are printed, without the table of 0.2B
    {"deepseek_v2", 235'741'434'880, 21'375'800'320},      // 21B are printed
    {"deepseek_v3", 671'026'419'200, 37'552'297'472},      // 37B are printed
    // 61 (101,124,096 of attention + 2 x 7168) + 3 x 7168 x 18432 + 60 (385 x 3 x 7168 x 2048 + 384 x 7169)
    // + 2 x 163,840 x 7168 + 7168; 1T and 32B are printed.
    {"kimi_k2", 1'026'408'232'448, 32'861'500'928},
    {"kimi_k2_5", 1'026'408'232'448, 32'861'500'928},
    {"gemma2_9b", 9'241'705'984, 0},
    {"gemma3_1b", 999'885'952, 0},
    {"gemma3_4b", 3'880'263'168, 0},  // 34 x 94,382,592 + 262,208 x 2560 + 2560: the language model
    {"gpt2", 124'439'808, 0},
    {"gpt2_xl", 1'557'611'200, 0},
    {"gpt_neox_20b", 20'554'567'680, 0},  // 44 (12 h^2 + 13 h) + 2 x 50,432 h + 2 h
    {"bloom_176b", 176'247'271'424, 0},
    {"bloom_7b1", 7'069'016'064, 0},
    {"falcon_7b", 6'921'720'704, 0},
    {"falcon_40b", 41'303'293'952, 0},
    {"falcon_180b", 179'522'565'120, 0},
    // 3.6B and 5.1B active are printed, which leave out the table of 201,088 x 2880.
    {"gpt_oss_20b", 20'914'757'184, 3'608'307'264 + 579'133'440},
    {"gpt_oss_120b", 116'829'156'672, 5'132'849'472 + 579'133'440},
};

TEST(ImportHf, CountsThePublishedNumberOfParameters) {
  for (const Total& want : kTotals) {
    const ModelParameters got = ParametersOf(Import(want.name).model);
    EXPECT_EQ(got.total(), want.total) << want.name;
    EXPECT_EQ(got.active(), want.active == 0 ? want.total : want.active) << want.name;
  }
}

TEST(ImportHf, EveryFileOfFactsIsCounted) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ORRERY_SOURCE_DIR) + "/tests/models/hf")) {
    files += entry.path().extension() == ".json" ? 1 : 0;
  }
  EXPECT_EQ(files, std::size(kTotals));
}

// What is printed reads as the same model, with a source and without a warning.
TEST(ImportHf, TextReadsAsTheSameModel) {
  for (const Total& entry : kTotals) {
    const HfImport import = Import(entry.name);
    proto::Diagnostics diagnostics;
    const std::optional<Model> read = ReadModelText("x.textproto", import.text, {}, &diagnostics);
    EXPECT_THAT(diagnostics.errors(), IsEmpty()) << entry.name;
    EXPECT_THAT(diagnostics.warnings(), IsEmpty()) << entry.name;
    ASSERT_TRUE(read.has_value()) << entry.name;
    EXPECT_EQ(read->name, entry.name);
    EXPECT_EQ(ModelText(*read, {}), ModelText(import.model, {})) << entry.name;
    EXPECT_THAT(import.text, HasSubstr("title: \"config.json of " + std::string(entry.name) + "\""));
  }
}

// The catalogue's models of the same names were written by hand from papers and pages.
TEST(ImportHf, AgreesWithTheCatalogue) {
  std::size_t compared = 0;
  for (const Total& entry : kTotals) {
    const auto same = [&](const proto::CatalogueFile& file) { return file.name == entry.name; };
    if (std::none_of(Catalogue().begin(), Catalogue().end(), same)) continue;
    proto::Diagnostics diagnostics;
    const std::optional<Model> model = ReadModel(entry.name, {}, "", &diagnostics);
    ASSERT_TRUE(model.has_value());
    Model imported = Import(entry.name).model;
    imported.max_positions = model->max_positions;  // the papers' lengths differ from the files'
    EXPECT_EQ(ModelText(imported, {}), ModelText(*model, {})) << entry.name;
    ++compared;
  }
  EXPECT_GE(compared, 15u);
}

TEST(HfKeys, UnknownOnesAreListedAndOthersAreNot) {
  EXPECT_THAT(Import("llama3_1_8b").unknown, IsEmpty());
  EXPECT_THAT(Import("llama3_2_1b_v5").unknown, IsEmpty());  // dtype, rope_parameters
  EXPECT_THAT(Import("deepseek_v3").unknown, ElementsAre("quantization_config"));
  EXPECT_THAT(
      ImportText(With(ConfigText("llama4_scout"), "\"use_qk_norm\": true", "\"new_key\": {}")).unknown,
      ElementsAre("text_config.new_key"));
}

TEST(HfNames, AreTakenFromTheFile) {
  const std::string text =
      With(ConfigText("llama_7b"), "\"bos_token_id\": 1", "\"_name_or_path\": \"huggyllama/LLaMA-7b\"");
  const HfImport import = ImportText(text);
  EXPECT_EQ(import.model.name, "llama_7b");
  EXPECT_THAT(import.text, HasSubstr("title: \"config.json of huggyllama/LLaMA-7b\""));
  EXPECT_THAT(import.text,
              HasSubstr("url: \"https://huggingface.co/huggyllama/LLaMA-7b/blob/main/config.json\""));
  EXPECT_EQ(ImportText(ConfigText("llama_7b")).model.name, "llama");
}

TEST(HfErrors, UnknownFamiliesAreRefusedWithTheSupportedOnes) {
  EXPECT_THAT(ErrorsOf("{\"model_type\": \"mamba\"}"),
              ElementsAre(testing::AllOf(
                  HasSubstr("config.json:1:2: model_type: \"mamba\" is no family that can be read"),
                  HasSubstr("bloom, deepseek_v2, deepseek_v3, falcon,"), HasSubstr("qwen3, qwen3_moe are"))));
  EXPECT_THAT(ErrorsOf("{\"model_type\": \"qwen33\"}"), ElementsAre(HasSubstr("did you mean \"qwen3\"?")));
  EXPECT_THAT(ErrorsOf("{\"hidden_size\": 1}"), ElementsAre(HasSubstr("model_type: missing; bloom, ")));
}

TEST(HfErrors, AreAllReportedInOneRunEachAtItsPlace) {
  const std::vector<std::string> errors = ErrorsOf(
      "{\n  \"model_type\": \"llama\",\n  \"hidden_size\": \"wide\",\n  \"num_hidden_layers\": 0,\n"
      "  \"num_attention_heads\": 6,\n  \"num_key_value_heads\": 4,\n  \"head_dim\": 64,\n"
      "  \"vocab_size\": 5.5,\n  \"intermediate_size\": 1e3,\n  \"hidden_act\": \"mish\",\n"
      "  \"tie_word_embeddings\": 1,\n  \"mlp_bias\": \"no\"\n}\n");
  EXPECT_THAT(errors, Contains("config.json:3:3: hidden_size: \"wide\" is no whole number; a whole number "
                               "from 1 to 1,000,000 is wanted"));
  EXPECT_THAT(errors, Contains(HasSubstr(":4:3: num_hidden_layers: 0 is out of range")));
  EXPECT_THAT(errors,
              Contains(HasSubstr(":6:3: num_key_value_heads: 4 does not divide the 6 attention heads")));
  EXPECT_THAT(errors, Contains(HasSubstr(":8:3: vocab_size: 5.5 is no whole number")));
  EXPECT_THAT(errors, Contains(HasSubstr(":9:3: intermediate_size: 1e3 is no whole number")));
  EXPECT_THAT(errors, Contains(HasSubstr(":10:3: hidden_act: \"mish\" is not known; silu, ")));
  EXPECT_THAT(errors, Contains(HasSubstr(":11:3: tie_word_embeddings: 1; true or false is wanted")));
  EXPECT_THAT(errors, Contains(HasSubstr(":12:3: mlp_bias: \"no\"; true or false is wanted")));
  EXPECT_THAT(errors, Contains(HasSubstr(":1:1: max_position_embeddings: missing; a whole number")));
  EXPECT_EQ(errors.size(), 9u);
}

TEST(HfErrors, WhatFollowsFromARefusedKeyIsNotSaidAgain) {
  const std::string llama = ConfigText("llama3_1_8b");
  for (const char* size : {"\"wide\"", "0", "null"}) {
    const std::vector<std::string> errors =
        ErrorsOf(With(llama, "\"hidden_size\": 4096", std::string("\"hidden_size\": ") + size));
    EXPECT_THAT(errors, ElementsAre(HasSubstr("hidden_size: "))) << size;
  }
  EXPECT_THAT(ErrorsOf("{\"model_type\": 7}"), ElementsAre(HasSubstr("model_type: 7 is no text in double")));
  std::string layers = ConfigText("gpt_oss_20b");
  for (int i = 0; i < 3; ++i) layers = With(layers, "\"sliding_attention\"", "\"linear_attention\"");
  EXPECT_THAT(ErrorsOf(layers), ElementsAre(HasSubstr("\"linear_attention\" is not known")));
  for (int i = 0; i < 3; ++i) layers = With(layers, "\"linear_attention\"", "5");
  EXPECT_THAT(ErrorsOf(layers), ElementsAre(HasSubstr("layer_types: 5 is no text in double quotes")));
}

// DeepSeek-V3 has 61 layers, the first three of them dense.
TEST(HfErrors, NameTheKeyThatLeavesNoLayerToTheExperts) {
  EXPECT_THAT(
      ErrorsOf(
          With(ConfigText("deepseek_v3"), "\"first_k_dense_replace\": 3", "\"first_k_dense_replace\": 61")),
      ElementsAre(HasSubstr("first_k_dense_replace: 61 leaves none of the 61 layers to the experts")));
}

TEST(HfErrors, CiteKeysOfANestedObject) {
  EXPECT_THAT(
      ErrorsOf(With(ConfigText("llama4_scout"), "\"num_local_experts\": 16", "\"num_local_experts\": null")),
      Contains(HasSubstr("text_config.num_local_experts: missing")));
}

TEST(HfErrors, ListsAreChecked) {
  const std::string text = ConfigText("gpt_oss_20b");
  EXPECT_THAT(ErrorsOf(With(text, "\"num_hidden_layers\": 24", "\"num_hidden_layers\": 25")),
              ElementsAre(HasSubstr("layer_types: 24 entries for 25 layers")));
  EXPECT_THAT(ErrorsOf(With(text, "\"sliding_attention\"", "\"linear_attention\"")),
              ElementsAre(HasSubstr("layer_types: \"linear_attention\" is not known")));
  EXPECT_THAT(ErrorsOf(With(text, "\"num_experts_per_tok\": 4", "\"num_experts_per_tok\": 33")),
              Contains(HasSubstr("33 are more than the 32 experts")));
}

TEST(HfErrors, WhatIsNoJsonIsSaidSo) {
  EXPECT_THAT(ErrorsOf(" \n"),
              ElementsAre("config.json: there is nothing in it; an object { ... } is wanted"));
  EXPECT_THAT(ErrorsOf(""), testing::SizeIs(1));
  EXPECT_THAT(ErrorsOf("[]"), testing::SizeIs(1));
  EXPECT_THAT(ErrorsOf("{\"model_type\": \"llama\""), testing::SizeIs(1));
  EXPECT_THAT(ErrorsOf("{\"model_type\": \"llama\", \"model_type\": \"llama\"}"),
              ElementsAre(HasSubstr("given twice")));
}

// Cut anywhere and with any key turned into anything, a file is read or refused in words.
TEST(HfErrors, NoFileBreaksTheReader) {
  const char* junk[] = {
      "null", "-1",         "0",    "9223372036854775807", "99999999999999999999", "\"x\"", "[]", "{}",
      "true", "[1, \"a\"]", "1e300"};
  for (const Total& entry : kTotals) {
    const std::string text = ConfigText(entry.name);
    std::size_t at = 0;
    while ((at = text.find(": ", at)) != std::string::npos) {
      at += 2;
      const std::size_t end = text.find_first_of(",\n}", at);
      for (const char* value : junk) {
        proto::Diagnostics diagnostics;
        const std::string changed = text.substr(0, at) + value + text.substr(end);
        const bool read = ImportHf("config.json", changed, "", &diagnostics).has_value();
        ASSERT_EQ(read, diagnostics.ok()) << changed;
      }
      proto::Diagnostics diagnostics;
      ASSERT_FALSE(ImportHf("config.json", text.substr(0, at), "", &diagnostics).has_value());
    }
  }
}

}  // namespace
}  // namespace models
