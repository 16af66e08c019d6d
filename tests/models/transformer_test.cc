#include "models/transformer.h"

#include <gtest/gtest.h>

#include <string>

#include "models/flops.h"
#include "models/kernels.h"
#include "models/parameters.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::AttentionKind;
using sim::Bytes;
using sim::Kernel;
using sim::KernelKind;

Execution Unfused(std::int64_t tensor, std::int64_t batch, std::int64_t length) {
  Execution e;
  e.tensor = tensor;
  e.micro_batch = batch;
  e.sequence_length = length;
  e.attention = AttentionKind::kUnfused;
  return e;
}

sim::Wide Forward(const Block& b) {
  return TotalFlops(b.before_gather) + TotalFlops(b.main) + TotalFlops(b.after_reduce);
}

sim::Wide Backward(const Block& b) {
  return TotalFlops(b.backward_head) + TotalFlops(b.backward_main) + TotalFlops(b.backward_weight) +
         TotalFlops(b.backward_tail);
}

const Kernel* Find(const std::vector<Kernel>& kernels, const std::string& name) {
  for (const Kernel& k : kernels) {
    if (k.name == name) return &k;
  }
  return nullptr;
}

std::string Names(const std::vector<Kernel>& kernels) {
  std::string text;
  for (const Kernel& k : kernels) {
    if (!text.empty()) text += ' ';
    text += k.name;
  }
  return text;
}

TEST(Blocks, UnfusedKernelsOfAllRanksExecuteExactlyTheModelFlops) {
  for (const Model& m : {Gpt2(), Llama7b(), Llama70b(), Qwen3Of4b(), Megatron22b()}) {
    for (const std::int64_t t : {1, 2, 4}) {
      const Execution e = Unfused(t, 2, 256);
      Model padded = m;  // kernels compute the padded rows too
      padded.vocabulary = PadVocabulary(m.vocabulary, 1, t);
      const FlopsOf want = ForwardFlops(padded, 2, 256);
      sim::Wide forward = 0, backward = 0;
      for (std::int64_t layer = 0; layer < m.layers; ++layer) {
        for (const Block& b : {AttentionBlock(m, e, layer), MlpBlock(m, e, layer)}) {
          forward += t * Forward(b);
          backward += t * Backward(b);
        }
      }
      EXPECT_EQ(forward, want.linear + want.attention);
      EXPECT_EQ(backward, 2 * (want.linear + want.attention));
      EXPECT_EQ(t * Forward(HeadBlock(m, e)), want.logits);
      EXPECT_EQ(t * Backward(HeadBlock(m, e)), 2 * want.logits);
      EXPECT_EQ(Forward(EmbeddingBlock(m, e)) + Backward(EmbeddingBlock(m, e)), 0);
    }
  }
}

TEST(Blocks, FlashAttentionExecutesHalfTheSquareAndItsBackwardTwoAndAHalfTimesThat) {
  Execution e = Unfused(2, 3, 1024);
  e.attention = AttentionKind::kFlash2;
  const Model m = Llama70b();
  const Block b = AttentionBlock(m, e, 0);
  const Kernel* forward = Find(b.main, "flash_forward");
  const Kernel* backward = Find(b.backward_main, "flash_backward");
  ASSERT_TRUE(forward && backward);
  EXPECT_EQ(forward->flops.count(), 4LL * 3 * 32 * 128 * 1024 * 1024 / 2);
  EXPECT_EQ(2 * backward->flops.count(), 5 * forward->flops.count());
  EXPECT_EQ(forward->attention.query_heads, 32);
  EXPECT_EQ(forward->attention.kv_heads, 4);
  // Queries and output of 32 heads, keys and values of 4, BF16; 4 B a row.
  EXPECT_EQ(forward->bytes, Bytes(3 * 1024 * (2 * (2 * 32 + 2 * 4) * 128 + 4 * 32)));
  EXPECT_EQ(Names(b.again.main), "flash_forward");
}

TEST(Blocks, WindowsLimitFlashAttentionButNotTheUnfusedSquare) {
  Model m = Llama(4, 1024, 2048, 8, 8, 1000);
  m.sliding_window = 256;
  m.attention_pattern = {Attention::kSliding, Attention::kFull};  // layers 1 and 3
  Execution e = Unfused(1, 1, 1024);
  EXPECT_EQ(Forward(AttentionBlock(m, e, 0)), Forward(AttentionBlock(m, e, 1)));
  e.attention = AttentionKind::kFlash3;
  const Kernel window = *Find(AttentionBlock(m, e, 0).main, "flash_forward");
  const Kernel whole = *Find(AttentionBlock(m, e, 1).main, "flash_forward");
  EXPECT_EQ(window.attention.window, 256);
  EXPECT_EQ(whole.attention.window, 0);
  EXPECT_EQ(whole.flops.count(), 4LL * 1024 * 1024 * 1024 / 2);
  EXPECT_EQ(window.flops.count(), 4LL * 1024 * (256 * 1024 - 256 * 256 / 2));
}

TEST(Blocks, GemmsHaveTheShapesOfOneRank) {
  const Execution e = Unfused(8, 4, 2048);
  const Model m = Megatron22b();
  const Block attention = AttentionBlock(m, e, 0), mlp = MlpBlock(m, e, 0);
  const Kernel* qkv = Find(attention.main, "qkv");
  const Kernel* scores = Find(attention.main, "query_key");
  const Kernel* down_wgrad = Find(mlp.backward_main, "down_wgrad");
  ASSERT_TRUE(qkv && scores && down_wgrad);
  EXPECT_EQ(qkv->gemm.m, 8192);
  EXPECT_EQ(qkv->gemm.n, 3 * 6144 / 8);
  EXPECT_EQ(qkv->gemm.k, 6144);
  // Operands and result in BF16, and the bias.
  EXPECT_EQ(qkv->bytes, Bytes(2 * (8192 * 6144 + 6144 * 2304 + 8192 * 2304 + 2304)));
  EXPECT_EQ(scores->gemm.batch, 4 * 64 / 8);
  EXPECT_EQ(scores->gemm.m, 2048);
  EXPECT_EQ(scores->gemm.k, 96);
  EXPECT_EQ(down_wgrad->gemm.m, 6144);
  EXPECT_EQ(down_wgrad->gemm.n, 24576 / 8);
  EXPECT_EQ(down_wgrad->gemm.k, 8192);
  // Two operands in BF16; the FP32 sum is read and written.
  EXPECT_EQ(down_wgrad->bytes, Bytes(2 * 8192 * (6144 + 3072) + 8 * 6144 * 3072));
}

TEST(Blocks, OnlyTheColumnParallelWeightGradientRunsBesideTheBackwardReduction) {
  const Execution e = Unfused(2, 1, 128);
  const Model m = Llama7b();
  const Block attention = AttentionBlock(m, e, 0), mlp = MlpBlock(m, e, 0), head = HeadBlock(m, e);
  EXPECT_EQ(Names(attention.backward_weight), "qkv_wgrad");
  EXPECT_EQ(Names(mlp.backward_weight), "up_wgrad");
  EXPECT_EQ(Names(head.backward_weight), "logits_wgrad");
  EXPECT_STREQ(attention.backward_main.back().name, "qkv_dgrad");
  EXPECT_STREQ(mlp.backward_main.back().name, "up_dgrad");
  EXPECT_STREQ(head.backward_main.back().name, "logits_dgrad");
}

TEST(Blocks, CommunicateOneWholeTensorAReductionAndASecondGatherWithSequenceParallelism) {
  const Model m = Llama7b();
  const Bytes tensor(2 * 2 * 256 * 4096);
  Execution e = Unfused(4, 2, 256);
  for (const Block& b : {AttentionBlock(m, e, 0), MlpBlock(m, e, 0)}) {
    EXPECT_EQ(b.reduce_forward, tensor);
    EXPECT_EQ(b.reduce_backward, tensor);
    EXPECT_EQ(b.gather_forward + b.gather_backward + b.gather_again, Bytes(0));
  }
  e.sequence_parallel = true;
  for (const Block& b : {AttentionBlock(m, e, 0), MlpBlock(m, e, 0)}) {
    for (const Bytes moved :
         {b.reduce_forward, b.reduce_backward, b.gather_forward, b.gather_backward, b.gather_again}) {
      EXPECT_EQ(moved, tensor);
    }
  }
  EXPECT_EQ(EmbeddingBlock(m, e).reduce_forward, tensor);
  EXPECT_EQ(HeadBlock(m, e).reduce_backward, tensor);
  EXPECT_EQ(HeadBlock(m, e).small_reduces, 3);
  EXPECT_EQ(HeadBlock(m, e).small_reduce, Bytes(4 * 512));

  const Execution alone = Unfused(1, 2, 256);
  for (const Block& b :
       {AttentionBlock(m, alone, 0), MlpBlock(m, alone, 0), EmbeddingBlock(m, alone), HeadBlock(m, alone)}) {
    EXPECT_EQ(b.gather_forward + b.reduce_forward + b.gather_backward + b.reduce_backward + b.gather_again +
                  b.small_reduce,
              Bytes(0));
  }
}

TEST(Blocks, SequenceParallelismCutsNormsResidualsAndDropoutByTensor) {
  const Model m = Megatron22b();
  Execution e = Unfused(8, 1, 1024);
  e.dropout = true;
  const Block whole = MlpBlock(m, e, 0);
  e.sequence_parallel = true;
  const Block cut = MlpBlock(m, e, 0);
  const std::int64_t norm_parameters = 2 * 2 * 6144, bias = 2 * 6144;
  EXPECT_EQ(whole.before_gather[0].bytes.count() - norm_parameters,
            8 * (cut.before_gather[0].bytes.count() - norm_parameters));
  EXPECT_EQ(whole.after_reduce[0].bytes.count() - bias, 8 * (cut.after_reduce[0].bytes.count() - bias));
  // Output and residual read, sum written, in BF16; one byte of mask.
  EXPECT_EQ(whole.after_reduce[0].bytes, Bytes(1024 * 6144 * 7 + bias));
  EXPECT_EQ(TotalFlops(whole.main), TotalFlops(cut.main));
}

TEST(Blocks, UnfusedOperationsMoveMoreBytesInMoreKernels) {
  Execution e = Unfused(1, 1, 256);
  e.dropout = true;
  const auto moved = [](const Block& b) {
    Bytes sum;
    for (const auto* part : {&b.before_gather, &b.main, &b.after_reduce, &b.backward_head, &b.backward_main,
                             &b.backward_weight, &b.backward_tail}) {
      for (const Kernel& k : *part) sum += k.bytes;
    }
    return sum;
  };
  for (const Model& m : {Gpt2(), Llama7b(), Qwen3Of4b()}) {
    Execution one = e;
    one.fused = false;
    EXPECT_GT(moved(AttentionBlock(m, one, 0)), moved(AttentionBlock(m, e, 0)));
    EXPECT_GT(moved(MlpBlock(m, one, 0)), moved(MlpBlock(m, e, 0)));
    EXPECT_GT(moved(HeadBlock(m, one)), moved(HeadBlock(m, e)));
  }
}

// x.float(), pow, mean, the root of a row, the quotient, back to BF16, times the scale: in bytes a number
// 2 + 4, 4 + 4, 4, -, 4 + 4, 4 + 2, 2 + 2. PyTorch has one kernel for a layer norm, and fuses none other.
TEST(Blocks, AnRmsNormThatIsNotFusedIsPyTorchsOperationsInFp32) {
  Execution e = Unfused(1, 1, 256);
  e.fused_norms = false;
  const Block llama = AttentionBlock(Llama7b(), e, 0);
  EXPECT_EQ(Names(llama.before_gather),
            "norm_widen norm_square norm_mean norm_root norm_divide norm_narrow norm_scale");
  Bytes sum;
  for (const Kernel& k : llama.before_gather) sum += k.bytes;
  EXPECT_EQ(sum, Bytes(256 * 4096 * 36 + 256 * 8 + 2 * 4096));
  // Its backward: 42 numbers of 2 bytes a number of the input, and the residual's gradient.
  sum = Bytes();
  for (const Kernel& k : llama.backward_tail) sum += k.bytes;
  EXPECT_EQ(sum, Bytes(256 * 4096 * (84 + 6) + 2 * 4096));
  EXPECT_EQ(Names(AttentionBlock(Gpt2(), e, 0).before_gather), "norm");
}

TEST(Blocks, NamesOfAGptLayerAreThoseOfMegatron) {
  Execution e = Unfused(2, 1, 128);
  e.dropout = true;
  const Block a = AttentionBlock(Gpt2(), e, 0), f = MlpBlock(Gpt2(), e, 0);
  EXPECT_EQ(Names(a.before_gather), "norm");
  EXPECT_EQ(Names(a.main), "qkv query_key scale_mask_softmax score_dropout score_value attention_output");
  EXPECT_EQ(Names(a.after_reduce), "bias_dropout_residual");
  EXPECT_EQ(Names(a.again.main), "query_key scale_mask_softmax score_dropout score_value");
  EXPECT_EQ(Names(a.backward_head), "dropout_backward output_bias_gradient");
  EXPECT_EQ(Names(a.backward_tail), "norm_backward residual_backward");
  EXPECT_EQ(Names(f.main), "up bias_nonlinearity down");
}

TEST(Kernels, AMultiplyAddIsTwoFlops) {  // HB-029
  EXPECT_EQ(Gemm("x", {1024, 4096, 4096, 1}, sim::NumberFormat::kBf16).flops.count(), 34'359'738'368);
  // HB-028: one layer used for three slices is three GEMMs, not nine.
  EXPECT_EQ(Gemm("x", {1, 100, 100, 3}, sim::NumberFormat::kBf16).flops.count(), 60'000);
}

TEST(Kernels, OnlyGemmOperandsAreFp8) {
  EXPECT_EQ(Gemm("x", {10, 20, 30, 1}, sim::NumberFormat::kFp8).bytes,
            Bytes(10 * 30 + 30 * 20 + 2 * 10 * 20));
  Execution e = Unfused(1, 1, 128);
  e.format = sim::NumberFormat::kFp8;
  EXPECT_EQ(MlpBlock(Llama7b(), e, 0).before_gather[0].bytes, Bytes(2 * (2 * 128 * 4096 + 4096)));
}

TEST(Blocks, EmbeddingGathersItsRowsAndScattersIntoADenseGradient) {
  Execution e = Unfused(2, 3, 128);
  e.dropout = true;
  const Model m = Gpt2();
  const Block b = EmbeddingBlock(m, e);
  const std::int64_t tokens = 3 * 128, tensor = tokens * 768 * 2;
  EXPECT_EQ(Names(b.main), "look_up vocabulary_mask");
  EXPECT_EQ(b.main[0].bytes, Bytes(8 * tokens + 2 * tensor));  // ids of 8 B; rows read and written
  EXPECT_EQ(b.main[1].bytes, Bytes(tensor / 2));               // the half that another rank has
  EXPECT_EQ(Names(b.after_reduce), "positions dropout");
  EXPECT_EQ(b.after_reduce[0].bytes, Bytes(2 * tensor + 128 * 768 * 2));
  EXPECT_EQ(Names(b.backward_main), "table_gradient_clear look_up_backward table_gradient_accumulation");
  // 50,257 rows padded to 50,258 and cut in two; BF16 read, FP32 read and written.
  EXPECT_EQ(b.backward_main[2].bytes, Bytes(25129 * 768 * (2 + 4 + 4)));
}

TEST(Blocks, LossReadsAndWritesThisRanksLogitsInFp32) {
  Execution e = Unfused(4, 1, 128);
  e.fused_loss = true;
  const Block b = HeadBlock(Llama7b(), e);
  const std::int64_t logits = 128 * 8000;
  EXPECT_EQ(Names(b.main), "logits loss_max loss_exponent_sum loss_softmax");
  EXPECT_EQ(b.main[1].bytes, Bytes(6 * logits));
  EXPECT_EQ(b.main[2].bytes, Bytes(8 * logits));
  EXPECT_EQ(Names(b.backward_main), "loss_backward logits_dgrad");
  EXPECT_EQ(b.backward_main[0].bytes, Bytes(6 * logits));
}

// Megatron-LM, core/tensor_parallel/cross_entropy.py: float() reads 2 and writes 4 bytes
// a logit; max 4; subtract, exponent and division 8 each; sum 4. Back: 8, and 4 + 2.
TEST(Blocks, LossOfMegatronIsOneKernelAnOperationUnlessFused) {
  const Block b = HeadBlock(Llama7b(), Unfused(4, 1, 128));
  const std::int64_t logits = 128 * 8000;
  const auto bytes = [](const std::vector<Kernel>& kernels, std::size_t from, std::size_t to) {
    std::int64_t sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += kernels[i].bytes.count();
    return sum;
  };
  EXPECT_EQ(bytes(b.main, 1, b.main.size()), (6 + 4 + 8 + 8 + 4 + 8) * logits);
  EXPECT_EQ(bytes(b.backward_main, 0, 2), (8 + 6) * logits);
}

TEST(Blocks, FourNormsALayerAddOneBeforeEachResidual) {
  Model m = Llama7b();
  m.norms_per_layer = 4;
  const Execution e = Unfused(2, 1, 128);
  EXPECT_EQ(Names(MlpBlock(m, e, 0).after_reduce), "post_norm residual");
  EXPECT_EQ(Names(MlpBlock(m, e, 0).backward_head), "post_norm_backward");
}

TEST(Blocks, UnfusedAttentionGivesEveryQueryHeadAKeyHeadOfItsOwn) {
  const Execution e = Unfused(2, 1, 128);
  EXPECT_NE(Find(AttentionBlock(Llama70b(), e, 0).main, "expand_kv"), nullptr);
  EXPECT_EQ(Find(AttentionBlock(Llama7b(), e, 0).main, "expand_kv"), nullptr);
  Execution flash = e;
  flash.attention = AttentionKind::kFlash2;
  EXPECT_EQ(Find(AttentionBlock(Llama70b(), flash, 0).main, "expand_kv"), nullptr);
}

TEST(Blocks, LargestKernelFlopsBoundsEveryKernel) {
  for (const Model& m : {Gpt2(), Llama7b(), Llama70b(), Qwen3Of4b(), Megatron22b()}) {
    for (const AttentionKind kind : {AttentionKind::kUnfused, AttentionKind::kFlash2}) {
      Execution e = Unfused(2, 2, 2048);
      e.attention = kind;
      const sim::Wide bound = LargestKernelFlops(m, e);
      for (const Block& b :
           {AttentionBlock(m, e, 0), MlpBlock(m, e, 0), EmbeddingBlock(m, e), HeadBlock(m, e)}) {
        for (const auto* part : {&b.main, &b.backward_main, &b.backward_weight}) {
          for (const Kernel& k : *part) EXPECT_LE(k.flops.count(), bound) << k.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace models
