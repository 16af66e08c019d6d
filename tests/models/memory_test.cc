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

TEST(StaticMemory, Fp32WeightsNeedNoCopy) {
  EXPECT_EQ(Total(StaticMemory(10, NumberFormat::kFp32, NumberFormat::kFp32, {})), Bytes(160));
}

}  // namespace
}  // namespace models
