// What config.json files do not say, say twice, or say under another family's name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/model.h"
#include "tests/models/hf_importing.h"

namespace models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(HfTraps, HeadsMayBeWiderThanHiddenOverHeads) {
  const Model qwen = Import("qwen3_4b").model;
  EXPECT_EQ(qwen.head_dim, 128);
  EXPECT_NE(qwen.heads * qwen.head_dim, qwen.hidden);
  EXPECT_TRUE(qwen.qk_norm);
  EXPECT_EQ(Import("mistral_nemo_12b").model.head_dim, 128);
  EXPECT_EQ(Import("gpt_oss_20b").model.head_dim, 64);  // 64 x 64 = 4096, hidden is 2880
  EXPECT_EQ(Import("llama_7b").model.head_dim, 128);    // 4096 / 32
}

TEST(HfTraps, Qwen2HasBiasesWithoutAKeyAndAVoidWindow) {
  const Model qwen = Import("qwen2_5_7b").model;
  EXPECT_TRUE(qwen.biases.qkv);
  EXPECT_FALSE(qwen.biases.attention_output);
  EXPECT_EQ(qwen.sliding_window, 0);
  // With the window: from layer max_window_layers on.
  const Model on = ImportText(With(With(ConfigText("qwen2_5_7b"), "\"use_sliding_window\": false",
                                        "\"use_sliding_window\": true"),
                                   "\"max_window_layers\": 28", "\"max_window_layers\": 20"))
                       .model;
  EXPECT_EQ(WindowOf(on, 19), 0);
  EXPECT_EQ(WindowOf(on, 20), 131'072);
}

TEST(HfTraps, TiedTablesAreTheFamilysDefault) {
  for (const char* tied : {"gpt2", "gemma2_9b", "gemma3_4b", "bloom_176b", "falcon_7b"}) {
    EXPECT_TRUE(Import(tied).model.tied_embedding) << tied;
  }
  for (const char* name : {"llama_7b", "mistral_7b", "qwen2_5_7b", "qwen3_30b_a3b", "deepseek_v3",
                           "mixtral_8x7b", "gpt_neox_20b", "gpt_oss_20b"}) {
    const std::string bare = With(ConfigText(name), "\"tie_word_embeddings\"", "\"something_else\"");
    EXPECT_FALSE(ImportText(bare).model.tied_embedding) << name;
  }
  EXPECT_TRUE(Import("qwen2_5_0_5b").model.tied_embedding);  // small ones say so themselves
  // Kimi K2.5 says it outside of text_config.
  EXPECT_TRUE(ImportText(With(ConfigText("kimi_k2_5"), "\"tie_word_embeddings\": false",
                              "\"tie_word_embeddings\": true"))
                  .model.tied_embedding);
}

TEST(HfTraps, MixtralsIntermediateSizeIsAnExperts) {
  const Model mixtral = Import("mixtral_8x7b").model;
  EXPECT_EQ(mixtral.ffn, 0);
  EXPECT_EQ(mixtral.experts.ffn, 14336);
  EXPECT_EQ(mixtral.experts.shared, 0);
}

// decoder_sparse_step 2: layers 1, 3, 5, ... have experts, but for those of mlp_only_layers.
TEST(HfTraps, QwenCountsItsSparseStepFromOne) {
  EXPECT_EQ(Import("qwen3_30b_a3b").model.ffn, 0);  // intermediate_size is there and unused
  const Model qwen = ImportText(With(With(ConfigText("qwen3_30b_a3b"), "\"decoder_sparse_step\": 1",
                                          "\"decoder_sparse_step\": 2"),
                                     "\"mlp_only_layers\": []", "\"mlp_only_layers\": [3]"))
                         .model;
  EXPECT_EQ(qwen.ffn, 6144);
  EXPECT_FALSE(HasExperts(qwen, 0));
  EXPECT_TRUE(HasExperts(qwen, 1));
  EXPECT_FALSE(HasExperts(qwen, 3));
  const Model shared = Import("qwen1_5_moe_a2_7b").model;
  EXPECT_EQ(shared.experts.shared, 1);
  EXPECT_EQ(shared.experts.shared_ffn, 5632);
  EXPECT_TRUE(shared.experts.shared_gate);
}

TEST(HfTraps, DeepSeekV2LiteHasNoNarrowQueries) {
  const Model lite = Import("deepseek_v2_lite").model;
  EXPECT_EQ(lite.latent.query_rank, 0);
  EXPECT_EQ(lite.latent.kv_rank, 512);
  EXPECT_FALSE(lite.experts.router_bias);
  EXPECT_FALSE(HasExperts(lite, 0));
  EXPECT_TRUE(HasExperts(lite, 1));
  EXPECT_EQ(lite.experts.all_shared_ffn(), 2 * 1408);
}

TEST(HfTraps, DeepSeekV3HasRouterBiasesAndAPredictionModuleBesideItsLayers) {
  const Model v3 = Import("deepseek_v3").model;
  EXPECT_EQ(v3.layers, 61);
  EXPECT_EQ(v3.prediction_modules, 1);
  EXPECT_TRUE(v3.experts.router_bias);
  EXPECT_EQ(v3.experts.first_dense_layers, 3);
  EXPECT_EQ(v3.head_dim, 192);  // what the file calls head_dim is qk_rope_head_dim
}

TEST(HfTraps, Llama4TurnsItsNamesRound) {
  const Model maverick = Import("llama4_maverick").model;
  EXPECT_EQ(maverick.experts.ffn, 8192);
  EXPECT_EQ(maverick.ffn, 16384);
  EXPECT_FALSE(HasExperts(maverick, 0));
  EXPECT_TRUE(HasExperts(maverick, 1));
  EXPECT_EQ(maverick.experts.shared, 1);
  EXPECT_FALSE(maverick.qk_norm);  // normed without parameters
  EXPECT_EQ(Import("llama4_scout").model.ffn, 0);
  // Every fourth layer sees everything, in place of chunks of 8,192.
  EXPECT_THAT(maverick.attention_pattern,
              ElementsAre(Attention::kSliding, Attention::kSliding, Attention::kSliding, Attention::kFull));
  // The layers with experts may be listed.
  const Model listed = ImportText(With(ConfigText("llama4_maverick"), "\"interleave_moe_layer_step\": 2",
                                       "\"moe_layers\": [0, 47]"))
                           .model;
  EXPECT_TRUE(HasExperts(listed, 0));
  EXPECT_FALSE(HasExperts(listed, 1));
  EXPECT_TRUE(HasExperts(listed, 47));
}

TEST(HfTraps, GptOssGivesOneFigureTwice) {
  const std::string text = ConfigText("gpt_oss_20b");
  EXPECT_EQ(Import("gpt_oss_20b").model.experts.per_token, 4);
  EXPECT_THAT(ErrorsOf(With(text, "\"experts_per_token\": 4", "\"experts_per_token\": 2")),
              ElementsAre(HasSubstr("experts_per_token: 2 differs from num_experts_per_tok, 4")));
  const Model alone = ImportText(With(text, "\"num_experts_per_tok\": 4", "\"more\": 4")).model;
  EXPECT_EQ(alone.experts.per_token, 4);
  EXPECT_TRUE(alone.attention_sinks);
  EXPECT_TRUE(alone.biases.mlp);
  EXPECT_EQ(WindowOf(alone, 0), 128);
  EXPECT_EQ(WindowOf(alone, 1), 0);
}

TEST(HfTraps, GemmasWindowsAlternate) {
  const Model two = Import("gemma2_9b").model;
  EXPECT_EQ(WindowOf(two, 0), 4096);
  EXPECT_EQ(WindowOf(two, 1), 0);
  EXPECT_EQ(two.norms_per_layer, 4);
  EXPECT_EQ(two.nonlinearity, Nonlinearity::kGelu);
  const Model three = Import("gemma3_1b").model;
  for (std::int64_t layer = 0; layer < 26; ++layer) {
    EXPECT_EQ(WindowOf(three, layer), (layer + 1) % 6 == 0 ? 0 : 512) << layer;
  }
  EXPECT_TRUE(three.qk_norm);
  // What the nested file leaves out: 8 heads, 4 of keys, 256 wide.
  const HfImport nested = Import("gemma3_4b");
  EXPECT_TRUE(nested.nested);
  EXPECT_EQ(nested.model.heads, 8);
  EXPECT_EQ(nested.model.kv_heads, 4);
  EXPECT_EQ(nested.model.vocabulary, 262'208);
}

TEST(HfTraps, MistralsWindowIsThereUnlessItIsNull) {
  EXPECT_EQ(Import("mistral_7b").model.sliding_window, 4096);
  EXPECT_EQ(Import("mistral_nemo_12b").model.sliding_window, 0);
  EXPECT_EQ(ImportText(With(ConfigText("mistral_7b"), "\"sliding_window\": 4096", "\"more\": 1"))
                .model.sliding_window,
            4096);
}

TEST(HfTraps, FalconIsTwoDesigns) {
  const Model seven = Import("falcon_7b").model;
  EXPECT_EQ(seven.heads, 71);
  EXPECT_EQ(seven.kv_heads, 1);
  EXPECT_EQ(seven.norms_per_layer, 1);
  const Model forty = Import("falcon_40b").model;
  EXPECT_EQ(forty.kv_heads, 8);
  EXPECT_EQ(forty.norms_per_layer, 2);
  EXPECT_EQ(forty.layers, 60);                         // n_layer
  EXPECT_EQ(Import("falcon_180b").model.kv_heads, 8);  // num_kv_heads
}

TEST(HfTraps, BloomHasAlibiAndANormAfterItsEmbedding) {
  for (const char* name : {"bloom_176b", "bloom_7b1"}) {
    const Model bloom = Import(name).model;
    EXPECT_TRUE(bloom.alibi);
    EXPECT_FALSE(bloom.rotary);
    EXPECT_TRUE(bloom.embedding_norm);
    EXPECT_EQ(bloom.ffn, 4 * bloom.hidden);
  }
}

TEST(HfTraps, Gpt2LeavesOutItsFeedForward) {
  const Model xl = Import("gpt2_xl").model;  // n_inner is null
  EXPECT_EQ(xl.ffn, 6400);
  EXPECT_EQ(xl.learned_positions, 1024);
  EXPECT_FALSE(xl.rotary);
}

}  // namespace
}  // namespace models
