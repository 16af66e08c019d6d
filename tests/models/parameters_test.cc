#include "models/parameters.h"

#include <gtest/gtest.h>

#include "tests/models/shapes.h"

namespace models {
namespace {

TEST(Parameters, HeadWidthIsWhatTheModelSaysNotHiddenOverHeads) {  // HB-001, Qwen3-4B
  // Per layer: q, o 2 x 2560 x 32 x 128; k, v 2 x 2560 x 8 x 128; norms of a head 2 x 128;
  // feed-forward 3 x 2560 x 9728; norms 2 x 2560. Table 151936 x 2560 once, last norm 2560.
  EXPECT_EQ(ParametersOf(Qwen3Of4b()).total(), 4'022'468'096);
  Model narrow = Qwen3Of4b();
  narrow.head_dim = 2560 / 32;
  EXPECT_LT(ParametersOf(narrow).total(), 4'022'468'096);
}

TEST(Parameters, QkvBiasAndBothVocabularyMatricesCount) {  // HB-002, Qwen2.5-72B
  Model m = Llama(80, 8192, 29568, 64, 8, 152064);
  EXPECT_EQ(ParametersOf(m).total(), 72'705'384'448);  // printed where the bias is forgotten
  m.biases.qkv = true;
  EXPECT_EQ(ParametersOf(m).total(), 72'706'203'648);
  EXPECT_EQ(ParametersOf(m).non_embedding(), 70'214'787'072);
}

TEST(Parameters, ResidentCopiesOfATiedTableAreNotTheModelsSize) {  // HB-007
  const Model m = Gpt2();
  EXPECT_EQ(ParametersOf(m).total(), 124'439'808);
  const TensorShape alone;
  EXPECT_EQ(ParametersOfRank(m, {12, true, true}, alone).total().total(), 124'439'808);

  std::int64_t resident = 0;
  for (int stage = 0; stage < 4; ++stage) {
    const StageParameters p = ParametersOfRank(m, {3, stage == 0, stage == 3}, alone);
    EXPECT_EQ(p.tied_copy, stage == 3);
    resident += p.total().total();
  }
  EXPECT_EQ(resident, 124'439'808 + 50257 * 768);
}

TEST(PadVocabulary, PadsToAMultipleOfDivisorTimesTensorOnce) {  // HB-009
  struct Case {
    std::int64_t vocabulary, tensor, want;
  };
  const Case cases[] = {{50257, 1, 50304},   {50257, 8, 51200},   {151936, 1, 151936}, {151936, 2, 152064},
                        {151936, 4, 152064}, {151936, 8, 152576}, {128256, 8, 129024}};
  for (const Case& c : cases) {
    EXPECT_EQ(PadVocabulary(c.vocabulary, 128, c.tensor), c.want) << c.vocabulary << " on " << c.tensor;
  }
}

TEST(PadVocabulary, RowsOfARankTimesRanksMayExceedTheVocabularyWhichTheModelsSizeIgnores) {  // HB-010
  EXPECT_EQ(PadVocabulary(128256, 64, 8), 128512);
  EXPECT_EQ(PadVocabulary(128256, 64, 8) / 8, 16064);
  EXPECT_EQ((128512 - 128256) * 4096 * 2, 2'097'152);  // bytes of padding in BF16
  EXPECT_EQ(PadVocabulary(65535, 1, 2) / 2, 32768);
  EXPECT_EQ(PadVocabulary(65535, 1, 2) - 65535, 1);

  const Model m = Llama(32, 4096, 14336, 32, 8, 128256);  // Llama-3-8B
  const StageParameters p = ParametersOfRank(m, {32, true, true}, {.tensor = 8, .vocabulary_divisor = 64});
  EXPECT_EQ(p.embedding.sharded, 16064 * 4096);
  EXPECT_EQ(p.head.sharded, 16064 * 4096);
  EXPECT_EQ(ParametersOf(m).total(), 8'030'261'248);
}

TEST(ParametersOfRank, ShardedPartsOfAllRanksAndReplicatedPartsOnceMakeTheModel) {
  for (const Model& m : {Gpt2(), Llama7b(), Llama70b(), Qwen3Of4b(), Megatron22b()}) {
    for (const std::int64_t tensor : {1, 2, 4}) {  // all keep whole key-value heads
      const Held held = ParametersOfRank(m, {m.layers, true, true}, {.tensor = tensor}).total();
      const std::int64_t padding =
          (PadVocabulary(m.vocabulary, 1, tensor) - m.vocabulary) * m.hidden * (m.tied_embedding ? 1 : 2);
      EXPECT_EQ(tensor * held.sharded + held.replicated, ParametersOf(m).total() + padding)
          << m.hidden << " on " << tensor;
    }
  }
}

TEST(ParametersOfRank, KeyValueHeadsAreReplicatedWhenThereAreMoreRanks) {
  const Model m = Llama70b();  // 8 key-value heads
  const Held eight = ParametersOfRank(m, {1, false, false}, {.tensor = 8}).attention;
  const Held sixteen = ParametersOfRank(m, {1, false, false}, {.tensor = 16}).attention;
  EXPECT_EQ(eight.replicated, 0);
  EXPECT_EQ(eight.sharded, (2 * 8192 * 8192 + 2 * 8192 * 1024) / 8);
  EXPECT_EQ(sixteen.replicated, 2 * 8192 * 128);  // one whole head of each
  EXPECT_EQ(sixteen.sharded, 2 * 8192 * 8192 / 16);
}

TEST(CanShare, NeedsDivisorsOfHeadsAndFeedForwardAndWholeKeyValueHeads) {
  const Model m = Llama70b();  // 64 heads, 8 key-value heads
  for (const std::int64_t tensor : {1, 2, 4, 8, 16, 32, 64}) EXPECT_TRUE(CanShare(m, tensor)) << tensor;
  for (const std::int64_t tensor : {-1, 0, 3, 12, 128}) EXPECT_FALSE(CanShare(m, tensor)) << tensor;
  EXPECT_FALSE(CanShare(Llama(1, 96, 96, 12, 6, 10), 4));  // 6 key-value heads on 4 ranks
}

TEST(ParametersOfRank, StagesOfAnUntiedModelAddUpToIt) {
  const Model m = Llama7b();
  std::int64_t sum = 0;
  for (const Stage& stage : {Stage{5, true, false}, Stage{20, false, false}, Stage{7, false, true}}) {
    const StageParameters p = ParametersOfRank(m, stage, {});
    EXPECT_FALSE(p.tied_copy);
    sum += p.total().total();
  }
  EXPECT_EQ(sum, 6'738'415'616);
}

}  // namespace
}  // namespace models
