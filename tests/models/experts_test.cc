#include <gtest/gtest.h>

#include <string>

#include "models/flops.h"
#include "models/memory.h"
#include "models/parameters.h"
#include "models/transformer.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;

using sim::Number;

const Kernel* Find(const std::vector<Kernel>& kernels, const std::string& name) {
  for (const Kernel& k : kernels) {
    if (k.name == name) return &k;
  }
  return nullptr;
}

std::int64_t BytesOf(const Block& block, const std::string& prefix) {
  std::int64_t sum = 0;
  for (const Activation& kept : block.activations) {
    if (std::string(kept.name).rfind(prefix, 0) == 0) sum += kept.bytes.count();
  }
  return sum;
}

// 48 layers of 5,120; every second one has 128 experts and a shared one of 8,192.
Model Llama4Maverick() {
  Model m = WithExperts(Llama(48, 5120, 0, 40, 8, 202048), 128, 1, 8192);
  m.ffn = 16384;
  m.experts.shared = 1;
  m.experts.shared_ffn = 8192;
  m.experts.every_layers = 2;
  m.experts.offset = 1;
  return m;
}

TEST(ExpertParameters, OfMixtral8x22bAreNotEightTimes22e9) {  // HB-004
  EXPECT_EQ(ParametersOf(Mixtral8x22b()).total(), 140'630'071'296);
  EXPECT_EQ(ParametersOf(Mixtral8x22b()).active(), 39'161'468'928);
}

TEST(ExpertParameters, CountNumbersNotTheWordsThatTheyArePackedIn) {  // HB-013: 8 of 4 bits in 4 bytes
  const std::int64_t total = ParametersOf(Mixtral8x7b()).total();
  EXPECT_EQ(total, 46'702'792'704);
  EXPECT_EQ(total * 4 / 8, 23'351'396'352);
}

TEST(ExpertParameters, AreAFeedForwardEachAndARouterRow) {
  const LayerParameters p = ParametersOfLayer(Mixtral8x7b(), 0);
  EXPECT_EQ(p.experts, 8LL * 3 * 4096 * 14336);
  EXPECT_EQ(p.router, 8 * 4096);
  EXPECT_EQ(p.mlp, 0);
  EXPECT_EQ(p.attention, 2 * 4096 * (32 + 8) * 128);
  EXPECT_EQ(ParametersOf(Mixtral8x7b()).idle, 32LL * 6 * 3 * 4096 * 14336);
}

TEST(ExpertParameters, RoutersOfDeepSeekV3HaveABiasAnExpertInEveryLayerWithExperts) {
  Model m = DeepSeekV3();
  EXPECT_EQ(ParametersOf(m).total(), 671'026'419'200);
  m.experts.router_bias = false;
  EXPECT_EQ(ParametersOf(m).total(), 671'026'419'200 - 256 * 58);  // 14,848
}

TEST(ExpertParameters, PredictionModulesAreCountedApart) {
  // One layer with experts (attention 187,107,328; 256 + 1 experts of 3 x 7,168 x 2,048; router
  // 256 x 7,169; two norms), a matrix 2 x 7,168^2 and three norms; 11.5e9 in the model's README.
  const std::int64_t layer = 187'107'328 + 257LL * 3 * 7168 * 2048 + 256LL * 7169 + 2 * 7168;
  const ModelParameters p = ParametersOf(DeepSeekV3());
  EXPECT_EQ(p.prediction_modules, layer + 2LL * 7168 * 7168 + 3 * 7168);
  Model without = DeepSeekV3();
  without.prediction_modules = 0;
  EXPECT_EQ(ParametersOf(without).total(), p.total());
  EXPECT_EQ(ParametersOf(without).prediction_modules, 0);
}

TEST(ExpertParameters, BiasesAndASharedGateCount) {
  Model m = WithExperts(Llama(1, 64, 0, 4, 4, 100), 6, 2, 32);
  m.experts.shared = 2;
  m.experts.shared_ffn = 16;
  const LayerParameters plain = ParametersOfLayer(m, 0);
  EXPECT_EQ(plain.mlp, 2 * 3 * 64 * 16);
  m.biases.mlp = true;
  m.experts.router_bias = true;
  m.experts.shared_gate = true;
  const LayerParameters more = ParametersOfLayer(m, 0);
  EXPECT_EQ(more.experts - plain.experts, 6 * (2 * 32 + 64));
  EXPECT_EQ(more.mlp - plain.mlp, 2 * (2 * 16 + 64));
  EXPECT_EQ(more.router - plain.router, 6 + 64);
}

TEST(HasExperts, FollowsFirstLayerStepOffsetAndList) {
  Model m = WithExperts(Llama(12, 64, 128, 4, 4, 100), 4, 1, 32);
  m.experts.first_dense_layers = 2;
  m.experts.every_layers = 3;
  m.experts.offset = 1;  // 1, 4, 7, 10
  m.experts.dense_layers = {3, 7};
  std::string with;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) with += HasExperts(m, layer) ? 'x' : '-';
  EXPECT_EQ(with, "----x-----x-");
  with.clear();
  const Model maverick = Llama4Maverick();
  for (std::int64_t layer = 0; layer < 6; ++layer) with += HasExperts(maverick, layer) ? 'x' : '-';
  EXPECT_EQ(with, "-x-x-x");
}

TEST(ExpertParameters, LayersWithoutExpertsHaveAWidthOfTheirOwn) {
  const std::int64_t h = 5120;
  const std::int64_t every = 2 * h * (40 + 8) * 128 + 2 * h;
  const std::int64_t want =
      48 * every + 24 * (3 * h * 16384) + 24 * (129 * 3 * h * 8192 + 128 * h) + 2 * 202048 * h + h;
  EXPECT_EQ(ParametersOf(Llama4Maverick()).total(), want);  // "400B, 17B active"
  EXPECT_EQ(ParametersOf(Llama4Maverick()).active(), want - 24 * (127 * 3 * h * 8192));
  EXPECT_NEAR(Number(want), 400.7e9, 0.1e9);
}

TEST(ExpertParameters, StagesAddUpToTheModelWhereverTheyAreCut) {
  const Model m = DeepSeekV3();
  for (const std::int64_t cut : {1, 3, 4, 60}) {
    const StageParameters first = ParametersOfRank(m, {.layers = cut, .embedding = true}, {});
    const StageParameters last =
        ParametersOfRank(m, {.layers = 61 - cut, .head = true, .first_layer = cut}, {});
    EXPECT_EQ((first + last).total().total(), 671'026'419'200) << cut;
    EXPECT_EQ(first.experts.total(), std::max<std::int64_t>(0, cut - 3) * 256 * 3 * 7168 * 2048);
  }
}

TEST(ExpertFlops, CountTheExpertsThatATokenVisits) {  // HB-026
  const FlopsOf flops = ForwardFlops(Mixtral8x7b(), 1, 1);
  Model all = Mixtral8x7b();
  all.experts.per_token = 8;
  const double active = Number(flops.linear + flops.logits);
  const FlopsOf every = ForwardFlops(all, 1, 1);
  EXPECT_NEAR(active, 2.54972e10, 1e5);
  EXPECT_NEAR(Number(every.linear + every.logits) / active, 3.653, 5e-4);
  // 2 a parameter and token, but for the norms and the table.
  const std::int64_t parameters = 12'879'925'248 - 65 * 4096 - 32000 * 4096;
  EXPECT_EQ(flops.linear + flops.logits, 2 * parameters);
  EXPECT_EQ(SixPD(Mixtral8x7b(), 1), static_cast<sim::Wide>(6) * 12'879'925'248);
}

TEST(ExpertsBlock, IsGroupedProductsOfEqualLoad) {
  Execution e;
  e.tensor = 2;
  e.micro_batch = 2;
  e.sequence_length = 1024;
  const Block b = MlpBlock(Mixtral8x7b(), e, 0);
  EXPECT_STREQ(b.name, "experts");
  const Kernel* up = Find(b.main, "expert_gate_up");
  const Kernel* down = Find(b.main, "expert_down");
  const Kernel* wgrad = Find(b.backward_main, "expert_up_wgrad");
  ASSERT_TRUE(up && down && wgrad);
  // 2,048 tokens visit 2 of 8 experts: 512 each.
  EXPECT_EQ(up->gemm.batch, 8);
  EXPECT_EQ(up->gemm.m, 512);
  EXPECT_EQ(up->gemm.n, 2 * 14336 / 2);
  EXPECT_EQ(up->gemm.k, 4096);
  EXPECT_EQ(up->flops.count(), 2LL * 4096 * 14336 * 4096);
  EXPECT_EQ(up->bytes, Bytes(2 * (4096LL * 4096 + 8LL * 4096 * 14336 + 4096LL * 14336)));
  EXPECT_EQ(down->gemm.k, 14336 / 2);
  EXPECT_EQ(wgrad->gemm.k, 512);
  EXPECT_EQ(wgrad->gemm.batch, 8);
  // Reads both operands, reads and writes the FP32 sums.
  EXPECT_EQ(wgrad->bytes, Bytes(2 * 4096LL * (14336 + 4096) + 8LL * 8 * 14336 * 4096));
}

TEST(ExpertsBlock, LoadThatDoesNotDivideIsRoundedUpInShapeAndExactInFlops) {
  Execution e;
  e.sequence_length = 3;
  const Block b = MlpBlock(Mixtral8x7b(), e, 0);  // 6 visits for 8 experts: 6 have one
  EXPECT_EQ(Find(b.main, "expert_down")->gemm.batch, 6);
  EXPECT_EQ(Find(b.main, "expert_down")->gemm.m, 1);
  e.sequence_length = 7;  // 14 visits
  const Block c = MlpBlock(Mixtral8x7b(), e, 0);
  EXPECT_EQ(Find(c.main, "expert_down")->gemm.batch, 8);
  EXPECT_EQ(Find(c.main, "expert_down")->gemm.m, 2);
  EXPECT_EQ(Find(c.main, "expert_down")->flops.count(), 2LL * 14 * 4096 * 14336);
}

TEST(ExpertsBlock, KeepsACopyOfEveryTokenForEachExpertItVisits) {  // HB-052
  Model m = WithExperts(Llama(1, 2048, 0, 32, 4, 1000), 128, 8, 768);
  Execution e;
  e.sequence_length = 4096;
  const Block b = MlpBlock(m, e, 0);
  EXPECT_EQ(BytesOf(b, "expert_"), 285'212'672);  // 4,096 x 8 x 2 B (2,048 + 3 x 768)
  EXPECT_EQ(BytesOf(b, "expert_input"), 134'217'728);
  // Besides: inputs of the norm and of the router, and FP32 scores.
  EXPECT_EQ(ActivationBytes(b, Recompute::kNone).count(), 285'212'672 + 4096 * (2 * 2 * 2048 + 4 * 128));
}

TEST(ExpertsBlock, SharedExpertsAreAFeedForwardBesideThem) {
  Execution e;
  e.tensor = 2;
  e.sequence_parallel = true;
  e.sequence_length = 512;
  Model m = DeepSeekV2Lite();
  const Block b = MlpBlock(m, e, 1);
  const Kernel* up = Find(b.main, "shared_gate_up");
  ASSERT_TRUE(up != nullptr && Find(b.backward_weight, "shared_up_wgrad") != nullptr);
  EXPECT_EQ(up->gemm.m, 512);
  EXPECT_EQ(up->gemm.n, 2 * 2 * 1408 / 2);
  // Their input is gathered again; the routed experts' copy is kept whole.
  EXPECT_EQ(b.gather_again, Bytes(2 * 512 * 2048));
  m.experts.shared = 0;
  EXPECT_EQ(MlpBlock(m, e, 1).gather_again, Bytes());
  // The first layer is dense.
  EXPECT_STREQ(MlpBlock(m, e, 0).name, "mlp");
  EXPECT_EQ(Find(MlpBlock(m, e, 0).main, "gate_up")->gemm.n, 2 * 10944 / 2);
}

}  // namespace
}  // namespace models
