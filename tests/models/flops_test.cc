#include "models/flops.h"

#include <gtest/gtest.h>

#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::Number;

TEST(Flops, ForwardOfLlama7bAtFourSequencesOf4096TakesTwoPerParameterAndToken) {
  // Erratum of a textbook that printed 53.9 GFLOP: 2 x 6,738,415,616 x 16,384 = 2.208e14.
  EXPECT_EQ(TwoPD(Llama7b(), 4 * 4096), static_cast<sim::Wide>(2) * 6'738'415'616 * 16'384);
  EXPECT_NEAR(Number(TwoPD(Llama7b(), 4 * 4096)), 2.208e14, 1e11);
  // The matrices alone: 2 x (P - table - norms) a token.
  const FlopsOf flops = ForwardFlops(Llama7b(), 4, 4096);
  const sim::Wide matrices = 6'738'415'616 - 32000 * 4096 - 65 * 4096;
  EXPECT_EQ(flops.linear + flops.logits, 2 * matrices * 16'384);
}

TEST(Flops, OfTheTextbookExampleAreTwoPerWeightOfItsMatrices) {
  // Its chapter 27 counts 168,034,304 weights in matrices: all but the norms.
  Model m = Llama(12, 1024, 2816, 16, 4, 32000);
  m.tied_embedding = true;
  const FlopsOf flops = ForwardFlops(m, 1, 2048);
  EXPECT_EQ(flops.linear + flops.logits, static_cast<sim::Wide>(2) * 168'034'304 * 2048);
}

TEST(Flops, SixPerParameterAndTokenWithAttentionIsTheReadmesCount) {  // HB-019
  const sim::Wide token = SixPD(Llama7b(), 1) + 3 * ForwardFlops(Llama7b(), 1, 4096).attention / 4096;
  EXPECT_NEAR(Number(token) / 4.6873e10, 1, 1e-4);
  EXPECT_NEAR(Number(token) * 9600 / 989e12, 0.455, 1e-3);
}

TEST(Flops, AttentionUsesTheHeadWidth) {  // HB-022: 12 L heads head_dim s
  EXPECT_EQ(3 * ForwardFlops(Qwen3Of4b(), 1, 4096).attention / 4096,
            static_cast<sim::Wide>(12) * 36 * 32 * 128 * 4096);
  EXPECT_NEAR(Number(3 * ForwardFlops(Qwen3Of4b(), 1, 4096).attention) / 4096, 7.24776e9, 1e4);
}

TEST(Flops, AttentionIsTwoContractions) {  // HB-023, the case of equal widths: 6 heads (128 + 128) s L
  Model m = Llama(61, 7168, 18432, 128, 128, 129280);
  m.head_dim = 128;
  EXPECT_NEAR(Number(3 * ForwardFlops(m, 1, 4096).attention) / 4096, 4.91237e10, 1e6);
}

TEST(Flops, LayersWithAWindowAreChargedForTheWindowOnly) {  // HB-024
  Model m = Llama(24, 4096, 4096, 64, 64, 1000);            // heads of 64
  m.sliding_window = 128;
  m.attention_pattern = {Attention::kSliding, Attention::kFull};  // half the layers
  const sim::Wide want = static_cast<sim::Wide>(12) * 64 * 64 * (12 * 8192 + 12 * 128);
  EXPECT_EQ(3 * ForwardFlops(m, 1, 8192).attention / 8192, want);
  EXPECT_NEAR(Number(want), 4.90734e9, 1e4);
}

TEST(Flops, TyingTheTableChangesNothing) {  // HB-025: 2 V h a token
  Model m = Llama(2, 2048, 8192, 16, 16, 32000);
  EXPECT_EQ(ForwardFlops(m, 1, 1).logits, 131'072'000);
  m.tied_embedding = true;
  EXPECT_EQ(ForwardFlops(m, 1, 1).logits, 131'072'000);
}

TEST(Flops, SelectiveRecomputationAddsFourBLs2hToGpt3) {  // HB-057
  Model m = Gpt3();
  m.vocabulary = 51200;
  const double model = Number(ModelFlops(m, 1, 2048));
  const double executed = model + Number(SelectiveRecomputeFlops(m, 1, 2048));
  EXPECT_NEAR(model / 2.20456e15, 1, 1e-5);
  EXPECT_NEAR(executed / 2.22435e15, 1, 1e-5);
  EXPECT_NEAR(executed / model, 1.00898, 1e-5);
}

TEST(Flops, MatchesTheFormulaOfTheMegatronPaper) {
  // 96 B s l h^2 (1 + s / 6h + V / 16 l h) counts a full recomputation of the layers;
  // a quarter of the layers' part is that. Here for its 1.7B row.
  const Model m = Gpt(24, 2304, 24, 51200, 2048);
  const double bslh2 = 512.0 * 2048 * 24 * 2304 * 2304;
  const double printed = 96 * bslh2 * (1 + 2048 / (6.0 * 2304) + 51200 / (16.0 * 24 * 2304));
  const double ours = Number(ModelFlops(m, 512, 2048) + FullRecomputeFlops(m, 512, 2048));
  EXPECT_NEAR(ours / printed, 1, 1e-12);
}

TEST(Flops, CausalAttentionIsHalfOfTheSquareAndAWindowIsAStripOfIt) {
  const Model m = Llama7b();
  EXPECT_EQ(2 * ForwardFlops(m, 3, 4096, AttentionCount::kCausal).attention,
            ForwardFlops(m, 3, 4096).attention);
  Model windowed = Llama(1, 64, 64, 1, 1, 100);
  windowed.sliding_window = 16;
  // 4 d (w s - w^2 / 2) = 4 x 64 x (16 x 64 - 128)
  EXPECT_EQ(ForwardFlops(windowed, 1, 64, AttentionCount::kCausal).attention, 4 * 64 * (16 * 64 - 128));
}

TEST(Flops, AStepOfSixteenMillionTokensOf405bFits) {
  const Model m = Llama(126, 16384, 53248, 128, 8, 128256);
  // 6 x 405e9 x 16.8e6 = 4.1e19, beyond 63 bits.
  EXPECT_GT(SixPD(m, 16'777'216), static_cast<sim::Wide>(INT64_MAX));
  EXPECT_NEAR(Number(SixPD(m, 16'777'216)) / (6 * 405'853'388'800.0 * 16'777'216), 1, 1e-12);
}

}  // namespace
}  // namespace models
