#include "models/memory.h"

#include <gtest/gtest.h>

#include "models/transformer.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::AttentionKind;
using sim::Bytes;
using sim::NumberFormat;

// As Korthikanti et al. 2022 train: FP16, attention unfused, dropout.
Execution Korthikanti(std::int64_t tensor, bool sequence_parallel, std::int64_t batch, std::int64_t length) {
  Execution e;
  e.tensor = tensor;
  e.sequence_parallel = sequence_parallel;
  e.micro_batch = batch;
  e.sequence_length = length;
  e.format = NumberFormat::kFp16;
  e.attention = AttentionKind::kUnfused;
  e.dropout = true;
  return e;
}

// Table 2 of the paper, in bytes: sbh (10 + 24/t + 5as/ht), and so on.
TEST(Activations, EqualTheFormulasOfKorthikantiToTheByte) {
  for (const Model& m : {Gpt2(), Megatron22b(), Gpt3()}) {
    for (const std::int64_t t : {1, 2, 4}) {
      for (const std::int64_t b : {1, 3}) {
        const std::int64_t s = 1024, h = m.hidden, a = m.heads;
        const std::int64_t sbh = s * b * h, as2b = a * s * s * b;
        const auto bytes = [&](bool sp, Recompute recompute) {
          return LayerActivationBytes(m, Korthikanti(t, sp, b, s), 0, recompute).count();
        };
        EXPECT_EQ(bytes(false, Recompute::kNone), sbh * 10 + sbh * 24 / t + 5 * as2b / t);
        EXPECT_EQ(bytes(true, Recompute::kNone), (34 * sbh + 5 * as2b) / t);
        EXPECT_EQ(bytes(false, Recompute::kSelective), sbh * 10 + sbh * 24 / t);
        EXPECT_EQ(bytes(true, Recompute::kSelective), 34 * sbh / t);
        EXPECT_EQ(bytes(false, Recompute::kFull), 2 * sbh);
        EXPECT_EQ(bytes(true, Recompute::kFull), 2 * sbh / t);
      }
    }
  }
}

TEST(Activations, ThirtyFourSbhAlreadyIsInBytes) {  // HB-050
  EXPECT_EQ(LayerActivationBytes(Gpt3(), Korthikanti(1, false, 1, 2048), 0, Recompute::kNone),
            Bytes(2'868'903'936));
}

TEST(Activations, TensorParallelismAloneLeavesTenSbhOnEveryRank) {  // HB-051
  const Model m = Gpt3();
  EXPECT_EQ(LayerActivationBytes(m, Korthikanti(8, false, 1, 2048), 0, Recompute::kNone), Bytes(578'813'952));
  EXPECT_EQ(LayerActivationBytes(m, Korthikanti(8, true, 1, 2048), 0, Recompute::kNone), Bytes(358'612'992));
  EXPECT_EQ(LayerActivationBytes(m, Korthikanti(8, true, 1, 2048), 0, Recompute::kSelective),
            Bytes(106'954'752));
}

TEST(Activations, FlashAttentionLeavesSelectiveRecomputationNothingToDrop) {  // HB-059
  const Model m = Gpt(1, 2048, 16, 51200, 2048);
  Execution e = Korthikanti(1, false, 1, 2048);
  EXPECT_EQ(LayerActivationBytes(m, e, 0, Recompute::kNone), Bytes(478'150'656));
  EXPECT_EQ(LayerActivationBytes(m, e, 0, Recompute::kSelective), Bytes(142'606'336));
  e.attention = AttentionKind::kFlash2;
  // The case leaves out flash attention's statistics: 4 B a head and token.
  const Bytes statistics(4 * 16 * 2048);
  EXPECT_EQ(LayerActivationBytes(m, e, 0, Recompute::kNone), Bytes(142'606'336) + statistics);
  EXPECT_EQ(LayerActivationBytes(m, e, 0, Recompute::kSelective), Bytes(142'606'336));
}

TEST(Activations, OfTheMegatron22bAreThePaperSFigure1) {
  // 59.25 GiB with tensor parallelism 8, 9.5625 GiB with sequence parallelism and
  // selective recomputation: the layers' alone.
  const Model m = Megatron22b();
  const auto of_model = [&](bool sp, Recompute recompute) {
    return 48 * LayerActivationBytes(m, Korthikanti(8, sp, 4, 2048), 0, recompute);
  };
  const std::int64_t gib = std::int64_t{1} << 30;
  EXPECT_EQ(of_model(false, Recompute::kNone), Bytes(59 * gib + gib / 4));
  EXPECT_EQ(of_model(true, Recompute::kSelective), Bytes(9 * gib + 9 * gib / 16));
}

TEST(Activations, OfTheHeadAreTwoInputsAndTheSoftmaxInFp32) {
  // Section 4.3 of the paper: 4 s b h / t (1 + v / h).
  const Model m = Megatron22b();
  const Block head = HeadBlock(m, Korthikanti(8, true, 1, 2048));
  EXPECT_EQ(ActivationBytes(head, Recompute::kNone), Bytes(4 * 2048 * (6144 + 51200) / 8));
}

TEST(Activations, OfALlamaLayerArePerTensor) {
  // Two norm inputs and two linear inputs of h; queries and output of h, keys and
  // values of 1024; gate, up and product of ffn; all in BF16. No masks. Flash keeps
  // 4 B a head and token.
  const Model m = Llama70b();
  Execution e;
  e.micro_batch = 2;
  e.sequence_length = 512;
  const std::int64_t per_token = 2 * (4 * 8192 + 2 * 8192 + 2 * 1024 + 3 * 28672) + 4 * 64;
  EXPECT_EQ(LayerActivationBytes(m, e, 0, Recompute::kNone), Bytes(1024 * per_token));
  e.tensor = 8;
  e.sequence_parallel = true;
  EXPECT_EQ(LayerActivationBytes(m, e, 0, Recompute::kNone), Bytes(1024 * per_token / 8));
}

TEST(StaticMemory, Of22bIsEighteenBytesAParameterWithFp32Gradients) {
  // The paper's figure 1 has 45.5625 GiB a rank: 18 B of 12 L h^2 / 8, which leaves
  // out embeddings and biases.
  const std::int64_t matrices = std::int64_t{12} * 48 * 6144 * 6144 / 8;
  const Bytes bytes = Total(StaticMemory(matrices, NumberFormat::kFp16, NumberFormat::kFp32, {}));
  EXPECT_EQ(bytes, Bytes((45LL << 30) + (9LL << 26)));
}

TEST(StaticMemory, ZeroOneCutsMasterWeightsAndMomentsOnly) {
  // LLaMA-7B on 8 ranks, BF16 gradients: 4 P + 12 P / 8 = 37.1 GB.
  const std::int64_t p = 6'738'415'616;
  const auto parts = StaticMemory(p, NumberFormat::kBf16, NumberFormat::kBf16, {.optimizer = 8});
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].bytes, Bytes(2 * p));
  EXPECT_EQ(parts[1].bytes, Bytes(2 * p));
  EXPECT_EQ(parts[2].bytes, Bytes(4 * p / 8));
  EXPECT_EQ(parts[3].bytes, Bytes(8 * p / 8));
  EXPECT_NEAR(static_cast<double>(Total(parts).count()), 37.1e9, 0.05e9);
  // A share that does not divide is rounded up.
  EXPECT_EQ(StaticMemory(9, NumberFormat::kBf16, NumberFormat::kBf16, {.optimizer = 8})[3].bytes, Bytes(16));
}

TEST(StaticMemory, IsEighteenBytesAndTheOptimizersTwelveAreCut) {  // HB-038: (6 + 12/dp) N
  const std::int64_t n = 8'030'261'248;
  const auto bytes = [&](std::int64_t ranks) {
    return Total(StaticMemory(n, NumberFormat::kBf16, NumberFormat::kFp32, {.optimizer = ranks}));
  };
  EXPECT_EQ(bytes(1), Bytes(144'544'702'464));
  EXPECT_EQ(bytes(8), Bytes(60'226'959'360));
}

// HB-047: 1.92 GB of BF16 weights are 960e6 parameters: optimizer 12 B of each,
// gradients 4 B, 17.28 GB together.
TEST(StaticMemory, OfTheOptimizerIsTwelveBytesAParameterNotSixTimesAll) {
  const auto parts = StaticMemory(960'000'000, NumberFormat::kBf16, NumberFormat::kFp32, {});
  EXPECT_EQ(parts[2].bytes + parts[3].bytes, Bytes(11'520'000'000));
  EXPECT_EQ(parts[1].bytes, Bytes(3'840'000'000));
  EXPECT_EQ(Total(parts), Bytes(17'280'000'000));
}

TEST(StaticMemory, PadsASharesLastPart) {  // HB-069: 125,001 parameters of 12 B, none lost
  const auto parts = StaticMemory(1'000'003, NumberFormat::kBf16, NumberFormat::kFp32, {.optimizer = 8});
  EXPECT_EQ(parts[2].bytes + parts[3].bytes, Bytes(1'500'012));
}

// Output discard of Megatron-LM: the norms' outputs are 2 x 2 sbh, the activation's
// output 2 x 4 sbh of 34 sbh (table 2 of Korthikanti et al.: 2 sbh, 2 sbh, 8 sbh).
TEST(Activations, SelectiveModulesDropWhatTheyWrite) {
  const Model m = Gpt3();
  const std::int64_t sbh = 2048 * m.hidden, as2b = m.heads * 2048 * 2048;
  const auto kept = [&](SelectiveModules modules) {
    Execution e = Korthikanti(1, false, 1, 2048);
    e.selective = modules;
    return LayerActivationBytes(m, e, 0, Recompute::kSelective).count();
  };
  EXPECT_EQ(kept({.attention_core = false}), 34 * sbh + 5 * as2b);
  EXPECT_EQ(kept({.attention_core = false, .norm_output = true}), 30 * sbh + 5 * as2b);
  EXPECT_EQ(kept({.attention_core = false, .nonlinearity = true}), 26 * sbh + 5 * as2b);
  EXPECT_EQ(kept({.norm_output = true, .nonlinearity = true}), 22 * sbh);
}

// What is dropped is computed again by the kernels of the forward.
TEST(Activations, SelectiveModulesRunTheKernelsOfTheForwardAgain) {
  Execution e = Korthikanti(1, false, 1, 2048);
  e.selective = {.attention_core = false, .norm_output = true, .nonlinearity = true};
  const auto same = [](const std::vector<sim::Kernel>& a, const std::vector<sim::Kernel>& b) {
    std::int64_t left = 0, right = 0;
    for (const sim::Kernel& k : a) left += k.bytes.count();
    for (const sim::Kernel& k : b) right += k.bytes.count();
    return left == right;
  };
  const Block attention = AttentionBlock(Gpt3(), e, 0), mlp = MlpBlock(Gpt3(), e, 0);
  EXPECT_TRUE(same(attention.again.before_gather, attention.before_gather));
  EXPECT_TRUE(attention.again.main.empty());
  ASSERT_EQ(mlp.main.size(), 3u);  // up, nonlinearity, down
  EXPECT_TRUE(same(mlp.again.before_gather, mlp.before_gather));
  EXPECT_TRUE(same(mlp.again.main, {mlp.main[1]}));
}

// HB-044: b s V numbers: 1,050,673,152 B in BF16, 125 MiB in FP32 of the second case.
// The head keeps them for its backward in FP32, so twice the first.
TEST(Activations, OfTheHeadHoldTheWholeVocabulary) {
  const auto logits = [](std::int64_t batch, std::int64_t length, std::int64_t vocabulary) {
    Model m = Gpt(1, 256, 4, vocabulary, length);
    Execution e = Korthikanti(1, false, batch, length);
    const std::int64_t inputs = 2 * 2 * batch * length * 256;  // of the norm and of the matrix
    return ActivationBytes(HeadBlock(m, e), Recompute::kNone).count() - inputs;
  };
  EXPECT_EQ(logits(1, 4096, 128'256), 2 * 1'050'673'152LL);
  EXPECT_EQ(logits(2, 512, 32'000), 125 * (1 << 20));
}

TEST(StaticMemory, Fp32WeightsNeedNoCopy) {
  EXPECT_EQ(Total(StaticMemory(10, NumberFormat::kFp32, NumberFormat::kFp32, {})), Bytes(160));
}

}  // namespace
}  // namespace models
