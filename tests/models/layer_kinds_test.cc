// Laws that hold for every kind of layer: dense, with experts, latent attention,
// halves side by side.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/flops.h"
#include "models/kv_cache.h"
#include "models/memory.h"
#include "models/parameters.h"
#include "models/transformer.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;

using sim::Number;

Model Sinks() {
  Model m = WithExperts(Llama(4, 2880, 0, 64, 8, 201088), 32, 4, 2880);
  m.head_dim = 64;
  m.biases = {.qkv = true, .attention_output = true, .mlp = true};
  m.experts.router_bias = true;
  m.attention_sinks = true;
  return m;
}

Model DeepSeekV2LiteWithQueryRank() {
  Model m = DeepSeekV2Lite();
  m.latent.query_rank = 768;
  return m;
}

std::vector<Model> Kinds() {
  return {Mixtral8x7b(), DeepSeekV2Lite(), DeepSeekV2LiteWithQueryRank(),
          SideBySide(1), SideBySide(2),    Sinks()};
}

std::vector<Kernel> All(const Block& b) {
  std::vector<Kernel> all;
  for (const auto* phase : {&b.before_gather, &b.main, &b.after_reduce, &b.backward_head, &b.backward_main,
                            &b.backward_weight, &b.backward_tail}) {
    all.insert(all.end(), phase->begin(), phase->end());
  }
  return all;
}

sim::Wide Forward(const Block& b) {
  return TotalFlops(b.before_gather) + TotalFlops(b.main) + TotalFlops(b.after_reduce);
}

Execution Unfused(std::int64_t tensor) {
  Execution e;
  e.tensor = tensor;
  e.sequence_parallel = tensor > 1;  // else every rank routes all tokens
  e.micro_batch = 2;
  e.sequence_length = 64;
  e.attention = sim::AttentionKind::kUnfused;
  return e;
}

TEST(LayerKinds, KernelsOfAllRanksExecuteExactlyTheModelFlops) {
  for (const Model& m : Kinds()) {
    for (const std::int64_t t : {1, 2, 4}) {
      // A key head that ranks share is projected by each of them.
      if (t > m.kv_heads) continue;
      const Execution e = Unfused(t);
      const FlopsOf want = ForwardFlops(m, 2, 64);
      sim::Wide forward = 0, all = 0;
      for (std::int64_t layer = 0; layer < m.layers; ++layer) {
        for (const Block& b : {AttentionBlock(m, e, layer), MlpBlock(m, e, layer)}) {
          forward += t * Forward(b);
          all += t * TotalFlops(All(b));
        }
      }
      EXPECT_EQ(forward, want.linear + want.attention) << m.experts.routed << ' ' << m.latent.kv_rank;
      EXPECT_EQ(all, 3 * (want.linear + want.attention));
    }
  }
}

// Every matrix has one weight gradient: as many numbers as the rank holds of them.
TEST(LayerKinds, WeightGradientsAreTheMatricesThatARankHolds) {
  for (const Model& m : Kinds()) {
    for (const std::int64_t t : {1, 2}) {
      const Execution e = Unfused(t);
      for (const std::int64_t layer : {std::int64_t{0}, m.layers - 1}) {
        std::int64_t gradients = 0;
        for (const Block& b : {AttentionBlock(m, e, layer), MlpBlock(m, e, layer)}) {
          for (const Kernel& k : All(b)) {
            const bool wgrad = std::string(k.name).find("wgrad") != std::string::npos;
            if (wgrad) gradients += k.gemm.m * k.gemm.n * k.gemm.batch;
          }
        }
        Model bare = m;  // without what is no matrix
        bare.biases = {};
        bare.attention_sinks = bare.experts.router_bias = false;
        const StageParameters held =
            ParametersOfRank(bare, {.layers = 1, .first_layer = layer}, {.tensor = t});
        const std::int64_t norms = held.norms.total() + m.latent.query_rank + m.latent.kv_rank;
        EXPECT_EQ(gradients, held.total().total() - norms) << m.experts.routed << " layer " << layer;
      }
    }
  }
}

TEST(LayerKinds, ShardedPartsOfAllRanksAndReplicatedPartsOnceMakeTheModel) {
  for (const Model& m : Kinds()) {
    for (const std::int64_t t : {1, 2, 4}) {
      const Held held = ParametersOfRank(m, {m.layers, true, true}, {.tensor = t}).total();
      EXPECT_EQ(t * held.sharded + held.replicated, ParametersOf(m).total());
    }
  }
}

TEST(LayerKinds, LargestKernelFlopsBoundsEveryKernel) {
  for (const Model& m : Kinds()) {
    for (const auto attention : {sim::AttentionKind::kUnfused, sim::AttentionKind::kFlash2}) {
      Execution e = Unfused(2);
      e.attention = attention;
      for (const std::int64_t length : {64, 8192}) {
        e.sequence_length = length;
        for (const Block& b : {AttentionBlock(m, e, m.layers - 1), MlpBlock(m, e, m.layers - 1)}) {
          for (const Kernel& k : All(b)) EXPECT_LE(k.flops.count(), LargestKernelFlops(m, e)) << k.name;
        }
      }
    }
  }
}

TEST(LatentAttention, HasTwoWidthsOfHead) {  // HB-023: 6 heads (192 + 128) s L
  const sim::Wide token = 3 * ForwardFlops(DeepSeekV3(), 1, 4096).attention / 4096;
  EXPECT_EQ(token, static_cast<sim::Wide>(6) * 128 * (192 + 128) * 4096 * 61);
  EXPECT_NEAR(Number(token), 6.14046e10, 1e5);
}

TEST(LatentAttention, FusedBackwardHasThreeProductsOverKeysAndTwoOverValues) {
  Execution e;
  e.sequence_length = 256;
  const Block b = AttentionBlock(DeepSeekV3(), e, 0);
  std::int64_t forward = 0, backward = 0;
  for (const Kernel& k : All(b)) {
    if (k.kind == sim::KernelKind::kAttentionForward) forward = k.flops.count();
    if (k.kind == sim::KernelKind::kAttentionBackward) backward = k.flops.count();
  }
  EXPECT_EQ(forward, 128LL * 256 * 256 * (192 + 128));  // 2 FLOPs, half the square
  EXPECT_EQ(backward, 128LL * 256 * 256 * (3 * 192 + 2 * 128));
}

TEST(LatentAttention, TensorParallelismMovesNarrowVectors) {
  Execution e;
  e.tensor = 8;
  e.sequence_length = 128;
  Block b = AttentionBlock(DeepSeekV3(), e, 0);
  EXPECT_EQ(b.reduce_forward, Bytes(2 * 128 * 7168));
  EXPECT_EQ(b.reduce_backward, Bytes(2 * 128 * (1536 + 512 + 64)));
  EXPECT_EQ(b.gather_forward, Bytes());
  e.sequence_parallel = true;
  b = AttentionBlock(DeepSeekV3(), e, 0);
  EXPECT_EQ(b.gather_forward, Bytes(2 * 128 * (1536 + 512 + 64)));
  EXPECT_EQ(b.gather_backward, Bytes(2 * 128 * 7168));
  EXPECT_EQ(b.gather_again, Bytes(2 * 128 * (1536 + 512)));
}

TEST(LatentAttention, KeepsNarrowVectorsAndFullHeads) {
  // A token: two inputs of 7,168, narrow vectors before and after their norms, queries and keys of
  // 192 and values and outputs of 128 a head, in BF16; 4 B of statistics a head.
  Execution e;
  e.sequence_length = 64;
  const std::int64_t token = 2 * (2 * 7168 + 2 * (1536 + 512) + 128 * (2 * 192 + 2 * 128)) + 4 * 128;
  EXPECT_EQ(ActivationBytes(AttentionBlock(DeepSeekV3(), e, 0), Recompute::kNone), Bytes(64 * token));
}

TEST(SideBySide, ALayerReducesOnceEachWayBehindOneNorm) {
  Execution e;
  e.tensor = 2;
  e.sequence_parallel = true;
  e.sequence_length = 64;
  const Bytes tensor(2 * 64 * 2048);
  const Block attention = AttentionBlock(SideBySide(1), e, 0), mlp = MlpBlock(SideBySide(1), e, 0);
  EXPECT_EQ(attention.reduce_forward, Bytes());
  EXPECT_EQ(mlp.reduce_forward, tensor);
  EXPECT_EQ(attention.gather_forward, tensor);
  EXPECT_EQ(mlp.gather_forward, Bytes());
  EXPECT_EQ(mlp.gather_backward, tensor);
  EXPECT_EQ(attention.gather_backward, Bytes());
  EXPECT_EQ(mlp.reduce_backward, Bytes());
  EXPECT_EQ(attention.reduce_backward, tensor);
  EXPECT_EQ(attention.gather_again + mlp.gather_again, tensor);
  EXPECT_TRUE(mlp.before_gather.empty() && mlp.backward_tail.empty());
  EXPECT_TRUE(attention.after_reduce.empty() && attention.backward_head.empty());
}

TEST(SideBySide, SharedInputsAreKeptOnce) {
  Execution e;
  e.sequence_length = 64;
  Model serial = SideBySide(2);
  serial.parallel_residual = false;
  const Bytes input(2 * 64 * 2048);
  const auto kept = [&](const Model& m) { return LayerActivationBytes(m, e, 0, Recompute::kNone); };
  EXPECT_EQ(kept(SideBySide(2)) + input, kept(serial));      // what both norms read
  EXPECT_EQ(kept(SideBySide(1)) + 2 * input, kept(serial));  // and what the norm writes
}

TEST(SideBySide, ANormLessIsOneScaleLess) {
  const std::int64_t two = ParametersOf(SideBySide(2)).total(), one = ParametersOf(SideBySide(1)).total();
  EXPECT_EQ(two - one, 4 * 2048);
  Model layer_norm = SideBySide(2);
  layer_norm.norm = Norm::kLayer;
  EXPECT_EQ(ParametersOf(layer_norm).total() - two, (2 * 4 + 1) * 2048);
}

TEST(Sinks, AreOneNumberAHead) {
  Model without = Sinks();
  without.attention_sinks = false;
  EXPECT_EQ(ParametersOf(Sinks()).total() - ParametersOf(without).total(), 4 * 64);
}

TEST(RelativePositions, AddAMatrixOfHiddenByHeadsAndItsProductOncePerSequence) {
  Model m = Llama(2, 1024, 4096, 16, 16, 1000);
  const std::int64_t without = ParametersOf(m).total();
  m.relative_positions = true;
  EXPECT_EQ(ParametersOf(m).total() - without, 2 * 1024 * 1024);
  Execution e;
  e.micro_batch = 4;
  e.sequence_length = 64;
  std::int64_t flops = 0;
  for (const Kernel& k : AttentionBlock(m, e, 0).main) {
    if (std::string(k.name) == "position_keys") flops += k.flops.count();
  }
  EXPECT_EQ(flops, 2LL * 64 * 1024 * 1024);
}

TEST(KvCache, HoldsKeyHeadsNotQueryHeads) {  // HB-161
  Model m = Llama70b();
  EXPECT_EQ(KvCacheBytes(m, 1, 2), Bytes(327'680));
  EXPECT_EQ(KvCacheBytes(m, 32768, 2), Bytes(std::int64_t{10} << 30));
  m.kv_heads = 64;
  EXPECT_EQ(KvCacheBytes(m, 32768, 2), Bytes(std::int64_t{80} << 30));
}

TEST(KvCache, NarrowVectorIsWholeOnEveryRank) {  // HB-164
  const Model m = DeepSeekV3();
  EXPECT_EQ(KvCacheBytesPerToken(m, 2), Bytes(2 * (512 + 64)));
  EXPECT_EQ(KvCacheBytes(m, 1, 2, 1), Bytes(70'272));
  EXPECT_EQ(KvCacheBytes(m, 1, 2, 8), Bytes(70'272));
  EXPECT_EQ((std::int64_t{40} << 30) / 70'272, 611'191);
}

TEST(KvCache, HeadsAreSharedByRanks) {  // HB-168, Qwen3-32B on 4 ranks
  Model m = Llama(64, 5120, 25600, 64, 8, 151936);
  m.head_dim = 128;
  EXPECT_EQ(KvCacheBytes(m, 1, 2, 4), Bytes(65'536));
  EXPECT_EQ(KvCacheBytes(m, 1, 2, 16), Bytes(64 * 2 * 128 * 2));  // never less than a head
}

TEST(KvCache, LayersWithAWindowKeepNoMoreThanIt) {  // HB-170
  Model m = Llama(60, 64, 64, 4, 4, 100);
  m.sliding_window = 1024;
  m.attention_pattern.assign(6, Attention::kSliding);
  m.attention_pattern.back() = Attention::kFull;
  EXPECT_EQ(KvCacheLayerTokens(m, 65536), 706'560);  // 50 x 1,024 + 10 x 65,536
  EXPECT_EQ(KvCacheLayerTokens(m, 128), 7'680);
}

}  // namespace
}  // namespace models
