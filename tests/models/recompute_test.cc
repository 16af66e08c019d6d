// What selective recomputation keeps, runs again and sends again, module by module.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "models/flops.h"
#include "models/memory.h"
#include "models/operations.h"
#include "models/transformer.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::Bytes;

Execution Bf16(std::int64_t tensor, std::int64_t length, const SelectiveModules& modules) {
  Execution e;
  e.tensor = tensor;
  e.sequence_parallel = tensor > 1;
  e.sequence_length = length;
  e.selective = modules;
  return e;
}

SelectiveModules Operations() { return {.attention_core = false, .operations = true}; }

Model Llama8b() { return Llama(32, 4096, 14336, 32, 8, 128256); }

std::int64_t Kept(const Model& m, const Execution& e, std::int64_t layer = 0) {
  return LayerActivationBytes(m, e, layer, Recompute::kSelective).count();
}

std::string Names(const std::vector<sim::Kernel>& kernels) {
  std::string names;
  for (const sim::Kernel& kernel : kernels) names += (names.empty() ? "" : " ") + std::string(kernel.name);
  return names;
}

sim::Wide Products(const std::vector<sim::Kernel>& kernels) {
  sim::Wide flops = 0;
  for (const sim::Kernel& kernel : kernels) {
    if (kernel.kind == sim::KernelKind::kGemm) flops += kernel.flops.count();
  }
  return flops;
}

sim::Wide ProductsAgain(const Block& block) {
  sim::Wide flops = Products(block.again.before_gather) + Products(block.again.main) +
                    Products(block.again.after_reduce) + Products(block.experts.again);
  if (block.again.travel) flops += Products(block.experts.forward);
  return flops;
}

// A token of a gated layer keeps its input, queries, values, attention's output (2 h, 2 h, 2 k, 2 h
// bytes), 4 a of statistics and the gate's product (2 f); reductions write 2 h / t more.
// Eager mode also has the last product, whole on each rank, and what became of it.
TEST(RecomputedOperations, KeepAttentionAndEverySecondProduct) {
  const Model m = Llama8b();
  const std::int64_t s = 2048, h = 4096, k = 8 * 128, a = 32, f = 14336;
  for (const std::int64_t t : {1, 2, 8}) {
    Execution e = Bf16(t, s, Operations());
    const std::int64_t compiled = s * (6 * h + 2 * k + 4 * a + 2 * f + (t > 1 ? 2 * h : 0)) / t;
    EXPECT_EQ(Kept(m, e), compiled) << t;
    e.fused = false;
    EXPECT_EQ(Kept(m, e), compiled + 2 * s * h + (t > 1 ? 2 * s * h / t : 0)) << t;
  }
}

// Keys are the second product, the output the fourth, up the sixth.
TEST(RecomputedOperations, RunTheOthersAgainInTheOrderOfTheForward) {
  const Model m = Llama8b();
  const Execution e = Bf16(1, 2048, Operations());
  const Block attention = AttentionBlock(m, e, 0), mlp = MlpBlock(m, e, 0);
  EXPECT_EQ(Names(attention.again.before_gather), "norm");
  EXPECT_EQ(Names(attention.again.main), "key rotary attention_output");
  EXPECT_EQ(Names(attention.again.after_reduce), "residual");
  EXPECT_EQ(Names(mlp.again.before_gather), "norm");
  EXPECT_EQ(Names(mlp.again.main), "up gate");
  EXPECT_EQ(Names(mlp.again.after_reduce), "");
  EXPECT_EQ(ProductsAgain(attention), sim::Wide{2} * 2048 * 4096 * (8 * 128 + 4096));
  EXPECT_EQ(ProductsAgain(mlp), sim::Wide{2} * 2048 * 4096 * 14336);
}

// A reduce-scatter's output is kept, so compiled code leaves out the product before it.
TEST(RecomputedOperations, DoNotMakeWhatAReductionKept) {
  Execution e = Bf16(4, 2048, Operations());
  EXPECT_EQ(Names(AttentionBlock(Llama8b(), e, 0).again.main), "key rotary");
  e.fused = false;
  EXPECT_NE(Names(AttentionBlock(Llama8b(), e, 0).again.main).find("attention_output"), std::string::npos);
}

// What is gathered for the products serves the weight gradients as well.
TEST(RecomputedOperations, GatherEachInputOnce) {
  const Execution e = Bf16(4, 2048, Operations());
  for (const Block& block : {AttentionBlock(Llama8b(), e, 0), MlpBlock(Llama8b(), e, 0)}) {
    EXPECT_EQ(block.again.gather, Bytes(2 * 2048 * 4096));
    EXPECT_EQ(block.gather_again, Bytes());
    EXPECT_EQ(block.again.reduce, Bytes());
  }
}

// Of a feed-forward without gate the fifth product is up, which is kept with the input of the last.
TEST(RecomputedOperations, OfAFeedForwardWithoutGateKeepItsFirstProduct) {
  Model m = Llama8b();
  m.gated = false;
  const Execution e = Bf16(1, 2048, Operations());
  const std::int64_t h = 4096, k = 8 * 128, a = 32, f = 14336;
  EXPECT_EQ(Kept(m, e), 2048 * (6 * h + 2 * k + 4 * a + 2 * f));
  EXPECT_EQ(Products(MlpBlock(m, e, 0).again.main), 0);
}

TEST(RecomputedOperations, AreRefusedForLayersWhoseProductsAreCountedOtherwise) {
  const Execution e = Bf16(1, 2048, Operations());
  EXPECT_EQ(WhyNotOperations(Llama8b(), e), nullptr);
  EXPECT_EQ(WhyNotOperations(Qwen3Of4b(), e), nullptr);
  EXPECT_STREQ(WhyNotOperations(Mixtral8x7b(), e), "experts");
  EXPECT_STREQ(WhyNotOperations(Gpt3(), e), "biases");
  EXPECT_STREQ(WhyNotOperations(SideBySide(2), e), "attention and feed-forward side by side");
}

// Megatron-LM's mlp keeps the norm's output and sends as its forward did.
TEST(RecomputedModules, AFeedForwardRunsAgainAsAWhole) {
  const SelectiveModules modules = {.attention_core = false, .feed_forward = true};
  const Execution e = Bf16(4, 2048, modules), none = Bf16(4, 2048, {.attention_core = false});
  const Block mlp = MlpBlock(Llama8b(), e, 0);
  EXPECT_EQ(Names(mlp.again.main), Names(mlp.main));
  EXPECT_EQ(mlp.again.gather, mlp.gather_forward);
  EXPECT_EQ(mlp.again.reduce, mlp.reduce_forward);
  EXPECT_GT(mlp.gather_again, Bytes());
  EXPECT_EQ(ActivationBytes(mlp, Recompute::kSelective), Bytes(2 * 2 * 2048 * 4096 / 4));  // two inputs
  EXPECT_EQ(Kept(Llama8b(), none) - Kept(Llama8b(), e), 3 * 2 * 2048 * 14336 / 4);
}

// DeepSeek-V3's: queries and keys of 128 x 192 channels, values of 128 x 128, and the normed
// narrow vectors of 1,536 and 512.
TEST(RecomputedModules, LatentAttentionDropsWhatItMakesOfNarrowVectors) {
  const SelectiveModules up = {.attention_core = false, .latent_up = true};
  const Execution e = Bf16(1, 1024, up), none = Bf16(1, 1024, {.attention_core = false});
  const Model m = DeepSeekV3();
  EXPECT_EQ(Kept(m, none) - Kept(m, e), 1024 * 2 * (2 * 128 * 192 + 128 * 128 + 1536 + 512));
  const Block block = AttentionBlock(m, e, 0);
  EXPECT_EQ(Names(block.again.before_gather), "query_norm kv_norm");
  EXPECT_EQ(Names(block.again.main), "query_up kv_up rotary assemble_keys");
  // Without the rotary part of keys, which was kept.
  EXPECT_EQ(AttentionBlock(m, Bf16(2, 1024, up), 0).again.gather, Bytes(1024 * 2 * (1536 + 512)));
}

// All but the norm, by both its ways; what is kept is the residual and the norm's output.
TEST(RecomputedModules, ExpertsRunAgainWithTheirDispatch) {
  const SelectiveModules modules = {.attention_core = false, .experts = true};
  Execution e = Bf16(1, 1024, modules);
  const Block alone = MlpBlock(DeepSeekV3(), e, 3);
  EXPECT_EQ(ActivationBytes(alone, Recompute::kSelective), Bytes(2 * 2 * 1024 * 7168));
  EXPECT_FALSE(alone.again.travel);
  EXPECT_EQ(Names(alone.again.main), Names(alone.main));
  EXPECT_EQ(Names(alone.again.before_gather), "router route");
  e.experts.expert = 8;
  const Block spread = MlpBlock(DeepSeekV3(), e, 3);
  EXPECT_EQ(ActivationBytes(spread, Recompute::kSelective), Bytes(2 * 2 * 1024 * 7168));
  EXPECT_TRUE(spread.again.travel);
  EXPECT_EQ(Names(spread.again.before_gather), "router route permute");
  EXPECT_EQ(Names(spread.again.main), Names(spread.main));
  EXPECT_EQ(Names(spread.again.after_reduce), "unpermute shared_sum");
}

// moe_act is the routed experts' alone; NONLINEARITY the shared one's, too.
TEST(RecomputedModules, NonlinearitiesOfExpertsRunAgainWhereTheRowsAre) {
  Execution e = Bf16(1, 1024, {.attention_core = false, .expert_nonlinearity = true});
  e.experts.expert = 8;
  const Block block = MlpBlock(DeepSeekV3(), e, 3);
  EXPECT_EQ(Names(block.experts.again), "expert_gate");
  EXPECT_EQ(Names(block.again.main), "");
  const std::int64_t both = ActivationBytes(block, Recompute::kNone).count();
  EXPECT_EQ(both - ActivationBytes(block, Recompute::kSelective).count(), 2 * 8 * 1024 * 2048);
  e.selective = {.attention_core = false, .nonlinearity = true};
  EXPECT_EQ(Names(MlpBlock(DeepSeekV3(), e, 3).again.main), "shared_gate");
}

// In eight bits the input is kept in 16, to be cast again, in place of its cast.
TEST(RecomputedModules, InEightBitsKeepA16BitInput) {
  Execution e = Bf16(1, 2048, {.attention_core = false, .feed_forward = true});
  e.matmul.recipe = Recipe::kTensorCurrent;
  const Block mlp = MlpBlock(Llama8b(), e, 0);
  EXPECT_EQ(ActivationBytes(mlp, Recompute::kSelective), Bytes((2 + 2) * 2048 * 4096));
  EXPECT_EQ(ActivationBytes(mlp, Recompute::kNone), Bytes(2048 * ((2 + 1) * 4096 + (2 * 2 + 1) * 14336)));
  EXPECT_EQ(Names(mlp.again.before_gather), "cast_input");
}

// HFU counts exactly the products that run again.
TEST(RecomputedModules, CountTheFlopsOfTheirProducts) {
  struct Case {
    Model model;
    SelectiveModules modules;
  };
  const Case cases[] = {
      {Llama8b(), Operations()},
      {Qwen3Of4b(), Operations()},
      {Llama8b(), {.attention_core = false, .feed_forward = true}},
      {DeepSeekV3(), {.attention_core = false, .latent_up = true}},
      {DeepSeekV2Lite(), {.attention_core = false, .latent_up = true}},
      {DeepSeekV3(), {.attention_core = false, .feed_forward = true}},
      {DeepSeekV3(), {.attention_core = false, .experts = true}},
      {DeepSeekV3(), {.attention_core = false, .shared_experts = true}},
      {DeepSeekV3(),
       {.attention_core = false, .feed_forward = true, .experts = true, .shared_experts = true}},
      {Mixtral8x7b(), {.attention_core = false, .norm_output = true, .expert_nonlinearity = true}},
  };
  for (const auto& [model, modules] : cases) {
    for (const std::int64_t expert : {1, 8}) {
      Execution e = Bf16(1, 512, modules);
      if (model.experts.routed > 0) e.experts.expert = expert;
      sim::Wide again = 0;
      for (std::int64_t layer = 0; layer < model.layers; ++layer) {
        again += ProductsAgain(AttentionBlock(model, e, layer)) + ProductsAgain(MlpBlock(model, e, layer));
      }
      EXPECT_TRUE(again == SelectiveRecomputeFlops(model, e, 1, 512)) << model.name << expert;
    }
  }
}

}  // namespace
}  // namespace models
