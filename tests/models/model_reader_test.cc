#include "models/model_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "models/parameters.h"

namespace models {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct Reading {
  std::optional<Model> model;
  std::vector<std::string> errors;
};

// A catalogue's model with fields changed or added.
Reading Read(const std::string& name, const std::vector<std::pair<std::string, std::string>>& sets) {
  std::vector<proto::Override> overrides;
  for (const auto& [path, value] : sets) {
    overrides.push_back({static_cast<int>(overrides.size()) + 1, path, value});
  }
  proto::Diagnostics diagnostics;
  Reading reading;
  reading.model = ReadModel(name, overrides, "", &diagnostics);
  reading.errors = diagnostics.errors();
  return reading;
}

TEST(ReadModel, TakesExpertsAndWhereTheyAre) {
  const Reading r = Read("mixtral_8x7b", {{"experts.every_layers", "2"},
                                          {"experts.offset", "1"},
                                          {"experts.dense_layers", "[3, 5]"},
                                          {"experts.shared", "2"},
                                          {"ffn", "1024"}});
  ASSERT_TRUE(r.model.has_value()) << r.errors[0];
  EXPECT_EQ(r.model->experts.routed, 8);
  EXPECT_EQ(r.model->experts.shared_ffn, 14336);  // as the routed ones
  EXPECT_FALSE(HasExperts(*r.model, 0) || HasExperts(*r.model, 3));
  EXPECT_TRUE(HasExperts(*r.model, 1) && HasExperts(*r.model, 7));
}

TEST(ReadModel, TakesHeadsFromLatentAttention) {
  const Reading r = Read("deepseek_v3", {{"kv_heads", "128"}, {"head_dim", "192"}});
  ASSERT_TRUE(r.model.has_value()) << r.errors[0];
  EXPECT_EQ(r.model->kv_heads, 128);
  EXPECT_EQ(r.model->head_dim, 192);
  EXPECT_EQ(r.model->value_dim(), 128);
}

TEST(ReadModel, TakesAPatternOfLayersAndItsShorthand) {
  const Reading shorthand = Read("gemma2_27b", {});
  const Reading pattern = Read("mistral_7b", {{"attention_pattern", "[SLIDING, FULL]"}});
  ASSERT_TRUE(shorthand.model && pattern.model);
  EXPECT_EQ(shorthand.model->attention_pattern, pattern.model->attention_pattern);
  EXPECT_EQ(WindowOf(*pattern.model, 0), 4096);
  EXPECT_EQ(WindowOf(*pattern.model, 1), 0);
  EXPECT_EQ(WindowOf(*pattern.model, 31), 0);
  EXPECT_EQ(Read("gemma2_27b", {{"attention_pattern", "[FULL]"}}).errors.size(), 1u);
}

TEST(ReadModel, RotaryPositionsAreMeantWhereNoOthersAreGiven) {
  EXPECT_TRUE(Read("llama_7b", {}).model->rotary);
  EXPECT_FALSE(Read("bloom_7b1", {}).model->rotary);       // ALiBi
  EXPECT_FALSE(Read("chinchilla_70b", {}).model->rotary);  // relative
  EXPECT_FALSE(Read("gpt2", {}).model->rotary);            // learned
  EXPECT_THAT(Read("bloom_7b1", {{"rotary", "true"}}).errors[0], HasSubstr("alibi: and rotary"));
}

TEST(ReadModel, RefusesExpertsThatDoNotFit) {
  struct Case {
    std::vector<std::pair<std::string, std::string>> sets;
    const char* want;
  };
  const Case cases[] = {
      {{{"experts.per_token", "9"}}, "experts.per_token: 9 are more than the 8 routed experts"},
      {{{"experts.routed", "0"}}, "experts.routed: 0 is out of range; give a number from 1 to 100,000"},
      {{{"experts.offset", "1"}}, "experts.offset: 1 is never left by a division by every_layers, 1"},
      {{{"experts.dense_layers", "[4, 4]"}, {"ffn", "64"}}, "experts.dense_layers[1]: 4 does not rise"},
      {{{"experts.dense_layers", "[32]"}}, "experts.dense_layers[0]: 32 is no layer; give 0 to 31"},
      {{{"experts.first_dense_layers", "1"}}, "ffn: missing; give a number from 1 to 10,000,000"},
      {{{"ffn", "64"}}, "ffn: has no meaning where every layer has experts"},
      {{{"experts.shared_gate", "true"}}, "experts.shared_gate: has no meaning without shared experts"},
      {{{"experts.first_dense_layers", "32"}, {"ffn", "64"}}, "experts: are in none of the 32 layers"},
      {{{"experts.routed", "100000"}, {"experts.ffn", "10000000"}, {"hidden", "1000000"}},
       "experts.routed: experts of more than 1e17 parameters"},
  };
  for (const Case& c : cases) {
    const Reading r = Read("mixtral_8x7b", c.sets);
    EXPECT_FALSE(r.model.has_value()) << c.want;
    EXPECT_THAT(r.errors, Contains(HasSubstr(c.want)));
  }
}

// Which layers are dense, and so whether ffn is wanted, depends on what was refused.
TEST(ReadModel, ARefusedFieldOfExpertsIsOneMistake) {
  const std::vector<std::pair<std::string, std::string>> sets = {
      {"experts.routed", "0"},       {"experts.routed", "many"}, {"experts.first_dense_layers", "-1"},
      {"experts.every_layers", "0"}, {"experts.offset", "-1"},   {"experts", "8"}};
  for (const auto& set : sets) {
    const Reading reading = Read("mixtral_8x7b", {set});
    EXPECT_EQ(reading.errors.size(), 1u) << set.first << testing::PrintToString(reading.errors);
  }
}

TEST(ReadModel, RefusesLatentAttentionThatDoesNotFit) {
  const Reading r = Read("deepseek_v3", {{"latent.rope_dim", "63"},
                                         {"latent.kv_rank", "0"},
                                         {"kv_heads", "8"},
                                         {"qk_norm", "true"},
                                         {"rotary", "false"}});
  EXPECT_THAT(r.errors, Contains(HasSubstr("latent.rope_dim: 63 is odd")));
  EXPECT_THAT(r.errors, Contains(HasSubstr("latent.kv_rank: 0 is out of range")));
  EXPECT_THAT(r.errors, Contains(HasSubstr("kv_heads: 8 differs from the 128 heads")));
  EXPECT_THAT(Read("deepseek_v3", {{"head_dim", "128"}}).errors[0],
              HasSubstr("head_dim: 128 is not nope_dim + rope_dim, 192"));
  const Reading more = Read("deepseek_v3", {{"qk_norm", "true"}, {"rotary", "false"}});
  EXPECT_THAT(more.errors, Contains(HasSubstr("qk_norm: is not supported with latent attention")));
  EXPECT_THAT(more.errors, Contains(HasSubstr("latent: needs rotary positions")));
}

TEST(ReadModel, ANormForBothHalvesNeedsThemSideBySide) {
  EXPECT_THAT(Read("llama_7b", {{"norms_per_layer", "1"}}).errors[0], HasSubstr("needs parallel_residual"));
  EXPECT_THAT(Read("palm_540b", {{"norms_per_layer", "4"}}).errors[0],
              HasSubstr("4 is not supported with parallel_residual"));
  EXPECT_TRUE(Read("palm_540b", {{"norms_per_layer", "2"}}).model.has_value());
}

}  // namespace
}  // namespace models
