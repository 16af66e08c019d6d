// The attention core where a sequence is cut over ranks, against the core that is whole.

#include <gtest/gtest.h>

#include <vector>

#include "models/memory.h"
#include "models/transformer.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

Execution On(const ContextSpread& spread, std::int64_t tensor = 1) {
  Execution e;
  e.tensor = tensor;
  e.sequence_parallel = tensor > 1;
  e.micro_batch = 2;
  e.sequence_length = 4096;
  e.vocabulary_divisor = 128;
  e.context = spread;
  return e;
}

constexpr ContextKind kRing = ContextKind::kRing, kGather = ContextKind::kAllGather;

// Rings, gathers, exchanges of heads, and both together; balanced or not.
const ContextSpread kSpreads[] = {{2, 1, kRing, true},   {8, 1, kRing, true},    {8, 1, kRing, false},
                                  {4, 1, kGather, true}, {8, 1, kGather, false}, {4, 4, kRing, true},
                                  {8, 2, kRing, true},   {8, 4, kGather, true},  {8, 2, kRing, false}};

using Kernels = std::vector<sim::Kernel>;

sim::Wide FlopsOf(const ContextCore::Piece& piece, bool backward) {
  return TotalFlops(backward ? piece.backward : piece.forward);
}

// What rank `i` of the ring executes, in the rounds of its forward.
std::vector<sim::Wide> Rounds(const ContextSpread& spread, const ContextCore& core, std::int64_t i,
                              bool backward) {
  if (core.gathers) return {FlopsOf(core.pieces[static_cast<std::size_t>(i)], backward)};
  std::vector<sim::Wide> rounds;
  for (std::int64_t round = 0; round < spread.ring(); ++round) {
    rounds.push_back(FlopsOf(core.pieces[round == 0 ? 0u : round <= i ? 1u : 2u], backward));
  }
  return rounds;
}

sim::Wide SumOf(const std::vector<sim::Wide>& parts) {
  sim::Wide sum = 0;
  for (const sim::Wide part : parts) sum += part;
  return sum;
}

sim::Wide AttentionFlops(const Kernels& kernels) {
  sim::Wide sum = 0;
  for (const sim::Kernel& kernel : kernels) {
    const bool attention = kernel.kind == sim::KernelKind::kAttentionForward ||
                           kernel.kind == sim::KernelKind::kAttentionBackward;
    sum += attention ? kernel.flops.count() : 0;
  }
  return sum;
}

TEST(ContextCore, RanksTogetherExecuteWhatTheWholeCoreDoes) {
  for (const Model& model : {Llama7b(), Llama70b(), DeepSeekV2Lite()}) {
    const Block whole = AttentionBlock(model, On({}), 0);
    for (const ContextSpread& spread : kSpreads) {
      const Block cut = AttentionBlock(model, On(spread), 0);
      for (const bool backward : {false, true}) {
        sim::Wide together = 0;
        for (std::int64_t i = 0; i < spread.ring(); ++i) {
          together += spread.ulysses * SumOf(Rounds(spread, cut.context, i, backward));
        }
        EXPECT_TRUE(together == AttentionFlops(backward ? whole.backward_main : whole.main))
            << model.name << ' ' << spread.ranks << ' ' << spread.ulysses;
      }
    }
  }
}

// In every round, on every rank: s^2 / (2 n^2) pairs, of which the own block's half.
TEST(ContextCore, PartsFromBothEndsBalanceEveryRound) {
  for (const ContextSpread& spread : kSpreads) {
    if (!spread.zigzag || spread.ring() == 1) continue;
    const Block block = AttentionBlock(Llama70b(), On(spread), 0);
    const std::vector<sim::Wide> first = Rounds(spread, block.context, 0, false);
    for (const sim::Wide round : first) EXPECT_TRUE(round == first[0]);
    for (std::int64_t i = 1; i < spread.ring(); ++i) {
      EXPECT_TRUE(Rounds(spread, block.context, i, false) == first) << i;
      EXPECT_TRUE(Rounds(spread, block.context, i, true) == Rounds(spread, block.context, 0, true)) << i;
    }
  }
}

// Rank i of n sees i whole blocks and half of its own: the last (2n - 1) times the first's, where
// balanced ones have n times that.
TEST(ContextCore, OnePartEachLeavesTheLastRankTheBusiest) {
  for (const ContextKind kind : {kRing, kGather}) {
    const ContextSpread spread{8, 1, kind, false};
    const Block block = AttentionBlock(Llama70b(), On(spread), 0);
    const sim::Wide own = SumOf(Rounds(spread, block.context, 0, false));
    for (std::int64_t i = 0; i < 8; ++i) {
      EXPECT_TRUE(SumOf(Rounds(spread, block.context, i, false)) == (2 * i + 1) * own) << i;
    }
    const ContextSpread balanced{8, 1, kind, true};
    const Block other = AttentionBlock(Llama70b(), On(balanced), 0);
    EXPECT_TRUE(SumOf(Rounds(balanced, other.context, 3, false)) == 8 * own);
  }
}

// b = 2, s = 4096, BF16; Llama-3-70B: 8 key heads of 128 over tensor 2.
TEST(ContextCore, MovesTheKeysAndValuesOfItsTokens) {
  const std::int64_t shard = 2 * 4096 / 8 * 2;  // bytes of one number of a rank's tokens
  const Block ring = AttentionBlock(Llama70b(), On({8, 1, kRing, true}, 2), 0);
  EXPECT_EQ(ring.context.passed, sim::Bytes(shard * 2 * 4 * 128));
  const Block gather = AttentionBlock(Llama70b(), On({8, 1, kGather, true}, 2), 0);
  EXPECT_EQ(gather.context.keys, sim::Bytes(8 * shard * 4 * 128));
  EXPECT_EQ(gather.context.values, gather.context.keys);
  // 32 query heads and 4 key heads a rank: exchanged over 4, each has 8 and 1.
  const Block exchange = AttentionBlock(Llama70b(), On({8, 4, kRing, true}, 2), 0);
  EXPECT_EQ(exchange.context.query_heads, sim::Bytes(shard * 32 * 128));
  EXPECT_EQ(exchange.context.key_heads, sim::Bytes(shard * 4 * 128));
  EXPECT_EQ(exchange.context.output_heads, exchange.context.query_heads);
  EXPECT_EQ(exchange.context.passed, sim::Bytes(4 * shard * 2 * 1 * 128));
  EXPECT_EQ(exchange.context.pieces[0].forward[0].attention.query_heads, 8);
  // Errata E24 of 17.6.7: 131,072 tokens over 8 ranks, 8 key heads of 128: 67.1 MB, seven times a forward.
  Execution e = On({8, 1, kRing, true});
  e.micro_batch = 1;
  e.sequence_length = 131'072;
  const Model model = Llama(32, 4096, 14336, 32, 8, 128256);
  EXPECT_EQ(AttentionBlock(model, e, 0).context.passed, sim::Bytes(67'108'864));
}

// HB-208: 8 ranks exchange 4 key heads: each is copied twice, and kept by both.
TEST(ContextCore, CopiesKeyHeadsWhereThereAreFewerThanRanks) {
  const Block copied = AttentionBlock(Llama70b(), On({8, 8, kRing, true}, 2), 0);
  const std::int64_t shard = 2 * 4096 / 8 * 2;
  EXPECT_EQ(copied.context.key_heads, sim::Bytes(shard * 8 * 128));
  EXPECT_EQ(copied.context.pieces[0].forward[0].attention.kv_heads, 1);
  for (const Activation& kept : copied.activations) {
    if (std::string(kept.name) != "key") continue;
    EXPECT_EQ(kept.bytes, sim::Bytes(shard * 8 * 128));
  }
}

// Latent attention passes on keys of 192 channels and values of 128 of every head.
TEST(ContextCore, PassesOnWholeKeysOfLatentAttention) {
  const Block block = AttentionBlock(DeepSeekV2Lite(), On({4, 1, kRing, true}), 0);
  EXPECT_EQ(block.context.passed, sim::Bytes(2 * 1024 * 2 * 16 * (192 + 128)));
}

// Whatever is not attention works on 1 / n of the tokens and keeps 1 / n of them.
TEST(ContextCore, CutsEverythingElseByTheRanks) {
  for (const Model& model : {Llama7b(), Mixtral8x7b()}) {
    const Execution whole = On({}, 2), cut = On({4, 1, kRing, true}, 2);
    EXPECT_EQ(4 * LayerInput(model, cut), LayerInput(model, whole));
    EXPECT_EQ(4 * LayerActivationBytes(model, cut, 0, Recompute::kNone),
              LayerActivationBytes(model, whole, 0, Recompute::kNone));
    EXPECT_EQ(4 * ActivationBytes(HeadBlock(model, cut), Recompute::kNone),
              ActivationBytes(HeadBlock(model, whole), Recompute::kNone));
    for (const Block& block : {MlpBlock(model, cut, 0), HeadBlock(model, cut)}) {
      const Block other =
          block.name == std::string("head") ? HeadBlock(model, whole) : MlpBlock(model, whole, 0);
      EXPECT_TRUE(4 * TotalFlops(block.main) == TotalFlops(other.main)) << block.name;
      EXPECT_TRUE(4 * TotalFlops(block.backward_weight) == TotalFlops(other.backward_weight));
      EXPECT_EQ(4 * block.reduce_backward, other.reduce_backward);
    }
  }
}

TEST(ContextCore, LeavesWholeSequencesAsTheyAre) {
  EXPECT_TRUE(AttentionBlock(Llama7b(), On({1, 1, kGather, false}), 0).context.pieces.empty());
}

// A window goes with heads exchanged over all ranks, which see whole sequences.
TEST(ContextCore, KeepsASlidingWindowWhereRanksHaveWholeSequences) {
  Model model = Llama7b();
  model.sliding_window = 1024;
  const Block cut = AttentionBlock(model, On({4, 4, kRing, true}), 0);
  const Block whole = AttentionBlock(model, On({}), 0);
  EXPECT_EQ(cut.context.pieces[0].forward[0].attention.window, 1024);
  EXPECT_TRUE(4 * FlopsOf(cut.context.pieces[0], false) == AttentionFlops(whole.main));
}

}  // namespace
}  // namespace models
