// Linear layers in eight bits: which products, casts, activations, and bytes on the wire.

#include "models/quantise.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "models/memory.h"
#include "models/transformer.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;

constexpr std::int64_t kTokens = 2 * 512;

Execution InRecipe(Recipe recipe, std::int64_t tensor = 1, bool one_order = true) {
  Execution e;
  e.tensor = tensor;
  e.sequence_parallel = tensor > 1;
  e.micro_batch = 2;
  e.sequence_length = 512;
  e.matmul = {.recipe = recipe, .one_order = one_order};
  return e;
}

std::vector<Kernel> KernelsOf(const Block& block) {
  std::vector<Kernel> all;
  for (const auto* phase : {&block.before_gather, &block.main, &block.after_reduce, &block.backward_head,
                            &block.backward_main, &block.backward_weight, &block.backward_tail,
                            &block.experts.forward, &block.experts.backward, &block.weight_casts}) {
    all.insert(all.end(), phase->begin(), phase->end());
  }
  return all;
}

// Bytes of all kernels of this name in a layer.
std::int64_t BytesOf(std::string_view name, const Model& m, const Execution& e, std::int64_t layer = 0) {
  std::int64_t sum = 0;
  for (const Block& block : {AttentionBlock(m, e, layer), MlpBlock(m, e, layer)}) {
    for (const Kernel& kernel : KernelsOf(block)) {
      if (kernel.name == name) sum += kernel.bytes.count();
    }
  }
  return sum;
}

// A layer of LLaMA casts, a token: inputs of QKV (h), output (h), gate and up (h), down (f);
// gradients of output (h), QKV (3h), down (h), gate and up (2f). A number is read in 2 bytes
// (4 under current scaling) and written in 1 or 2, with blocks' scales 1/32 more.
TEST(Casts, BytesAreInClosedForm) {
  const Model m = Llama7b();
  const std::int64_t h = m.hidden, f = m.ffn;
  const std::int64_t inputs = kTokens * (3 * h + f), gradients = kTokens * (5 * h + 2 * f);
  const std::int64_t weights = 4 * h * h + 3 * h * f;
  struct Case {
    Recipe recipe;
    bool one_order;
    std::int64_t of_32;  // bytes moved for 32 numbers
  };
  for (const Case& c :
       {Case{Recipe::kTensorDelayed, true, 32 * (2 + 2)}, Case{Recipe::kTensorDelayed, false, 32 * (2 + 1)},
        Case{Recipe::kTensorCurrent, true, 32 * (4 + 2)}, Case{Recipe::kBlock, true, 32 * (2 + 2) + 2},
        Case{Recipe::kMx, false, 32 * (2 + 2) + 2}}) {
    SCOPED_TRACE(ToText(c.recipe));
    const Execution e = InRecipe(c.recipe, 1, c.one_order);
    EXPECT_EQ(BytesOf("cast_input", m, e), inputs / 32 * c.of_32);
    EXPECT_EQ(BytesOf("cast_gradient", m, e), gradients / 32 * c.of_32);
    EXPECT_EQ(BytesOf("cast_weights", m, e), weights / 32 * c.of_32);
    EXPECT_EQ(BytesOf("transpose_fp8", m, e), 0);
    EXPECT_EQ(AttentionBlock(m, e, 0).cast_weights + MlpBlock(m, e, 0).cast_weights, weights);
  }
  for (const char* name : {"cast_input", "cast_gradient", "cast_weights", "transpose_fp8"}) {
    EXPECT_EQ(BytesOf(name, m, InRecipe(Recipe::kNone)), 0) << name;
  }
}

// With one scale and one order, what is gathered over the tensor group is cast first, and the
// whole of it turned round for the weight gradient: of two inputs and two gradients a layer.
TEST(Casts, WhatIsGatheredIsCastBeforeAndTurnedRoundAfter) {
  const Model m = Llama7b();
  const std::int64_t t = 4, cut = kTokens / t * m.hidden, whole = kTokens * m.hidden;
  const std::int64_t own = kTokens * (m.hidden + m.ffn) / t;  // inputs of output and down, on one rank
  const Execution hopper = InRecipe(Recipe::kTensorDelayed, t);
  EXPECT_EQ(BytesOf("cast_input", m, hopper), 2 * cut * (2 + 1) + own * (2 + 2));
  EXPECT_EQ(BytesOf("transpose_fp8", m, hopper), 4 * whole * 2);
  EXPECT_EQ(BytesOf("transpose_fp8", m, InRecipe(Recipe::kTensorDelayed, t, false)), 0);
  EXPECT_EQ(BytesOf("transpose_fp8", m, InRecipe(Recipe::kBlock, t)), 0);
}

TEST(Casts, GathersMoveEightBitsAndReductionsSixteen) {
  const Model m = Llama7b();
  const std::int64_t whole = kTokens * m.hidden;
  for (const bool mlp : {false, true}) {
    const auto block = [&](Recipe r) {
      return mlp ? MlpBlock(m, InRecipe(r, 4), 0) : AttentionBlock(m, InRecipe(r, 4), 0);
    };
    const Block wide = block(Recipe::kNone), tensor = block(Recipe::kTensorCurrent),
                blocks = block(Recipe::kBlock);
    EXPECT_EQ(wide.gather_forward, Bytes(2 * whole));
    EXPECT_EQ(tensor.gather_forward, Bytes(whole));
    EXPECT_EQ(tensor.gather_backward, Bytes(whole));
    EXPECT_EQ(tensor.gather_again, Bytes(whole));
    // A gradient's two copies differ in their scales.
    EXPECT_EQ(blocks.gather_forward, Bytes(whole + whole / 32));
    EXPECT_EQ(blocks.gather_backward, Bytes(2 * (whole + whole / 32)));
    for (const Block* b : {&tensor, &blocks}) {
      EXPECT_EQ(b->reduce_forward, wide.reduce_forward);
      EXPECT_EQ(b->reduce_backward, wide.reduce_backward);
    }
  }
}

TEST(Products, OfLinearLayersAreInTheRecipesFormatAndNoOthers) {
  const Model m = DeepSeekV3();
  Execution e = InRecipe(Recipe::kBlock);
  for (const std::int64_t expert : {1, 8}) {
    e.experts.expert = expert;
    int linear = 0;
    for (const Block& block : {AttentionBlock(m, e, 5), MlpBlock(m, e, 5), HeadBlock(m, e)}) {
      for (const Kernel& kernel : KernelsOf(block)) {
        if (kernel.kind != sim::KernelKind::kGemm) continue;
        const std::string_view name = kernel.name;
        const bool wide = name.starts_with("router") || name.starts_with("logits");
        EXPECT_EQ(kernel.format, wide ? sim::NumberFormat::kBf16 : sim::NumberFormat::kFp8Block) << name;
        linear += wide ? 0 : 1;
      }
    }
    // Five of attention, and two each of routed and shared experts, three products each.
    EXPECT_EQ(linear, 3 * (5 + 2 + 2));
  }
}

// Kept in 8 bits in place of 16: inputs of QKV and of gate and up (h each), of down (f). Flash
// attention keeps its output for itself, so the output layer's copy of h comes on top.
TEST(Activations, OfLinearLayersAreKeptInEightBits) {
  const Model m = Llama7b();
  const auto kept = [&](Execution e) { return LayerActivationBytes(m, e, 0, Recompute::kNone).count(); };
  const std::int64_t wide = kept(InRecipe(Recipe::kNone)), h = m.hidden, f = m.ffn;
  EXPECT_EQ(wide - kept(InRecipe(Recipe::kTensorCurrent)), kTokens * (h + f));
  EXPECT_EQ(wide - kept(InRecipe(Recipe::kMx)), kTokens * (h + f) - kTokens * (3 * h + f) / 32);
  Execution unfused = InRecipe(Recipe::kNone), cast = InRecipe(Recipe::kTensorCurrent);
  unfused.attention = cast.attention = sim::AttentionKind::kUnfused;
  EXPECT_EQ(kept(unfused) - kept(cast), kTokens * (3 * h + f));
}

TEST(Activations, OfWeightsTwoCopiesAreHeldBesideThem) {
  const Model m = Llama7b();
  const std::int64_t weights = 4 * m.hidden * m.hidden;
  const auto copies = [&](Execution e) { return AttentionBlock(m, e, 0).cast_weight_bytes; };
  Execution e = InRecipe(Recipe::kTensorCurrent);
  EXPECT_EQ(copies(e), Bytes(2 * weights));
  e.matmul.eight_bit_weights = true;  // one copy is the weights
  EXPECT_EQ(copies(e), Bytes(weights));
  EXPECT_EQ(BytesOf("cast_weights", m, e), 0);
  EXPECT_EQ(BytesOf("second_copy_fp8", m, e), 2 * (weights + 3 * m.hidden * m.ffn));
  e.matmul.one_order = false;
  EXPECT_EQ(copies(e), Bytes());
}

// Tokens cast before they travel arrive with one copy; their experts make the other. Of 2 x 512 tokens
// of 7,168 channels, with 8 experts each, rows stay as many at even load.
TEST(Casts, DispatchInEightBitsCastsTokensOnceAndNotRows) {
  const Model m = DeepSeekV3();
  Execution e = InRecipe(Recipe::kBlock);
  e.experts.expert = 8;
  const std::int64_t wide = BytesOf("cast_input", m, e, 5);
  e.experts.fp8_dispatch = true;
  const std::int64_t tokens = kTokens * m.hidden, rows = 8 * tokens;
  EXPECT_EQ(wide - BytesOf("cast_input", m, e, 5),
            rows / 32 * (2 * 32 + 2 * 33) - tokens / 32 * (2 * 32 + 33));
  // Of inputs and of gradients: one copy read, one written.
  EXPECT_EQ(BytesOf("second_copy_fp8", m, e, 5), 2 * 2 * rows / 32 * 33);
}

}  // namespace
}  // namespace models
