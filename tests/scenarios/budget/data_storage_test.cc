#include "scenarios/budget/data_storage.h"

#include <gtest/gtest.h>

#include <cmath>

namespace scenarios {
namespace {

// HB-141 (google-research/bert#1025): 3.3e9 tokens 40 times in batches of 256 x 512.
TEST(Steps, FollowFromEpochsAndTokens) { EXPECT_NEAR(StepsOfEpochs(3.3e9, 40, 256 * 512, 1), 1'007'080, 1); }

// HB-143 (EleutherAI/gpt-neox#1140): 31,267,487 samples are two epochs; 24e6 are wanted.
TEST(Epochs, AreTheSamplesWantedOverThoseOfOne) {
  const double of_one = 31'267'487 / 2.0;
  EXPECT_DOUBLE_EQ(of_one, 15'633'743.5);
  EXPECT_NEAR(of_one * 2048, 3.202e10, 1e7);
  EXPECT_EQ(std::ceil(Epochs(24e6, of_one)), 2);
}

// HB-145 (google-research/text-to-text-transfer-transformer#174): 10e9 tokens in steps of 65,536 places, of
// which 80 per cent are tokens.
TEST(Packing, LengthensARunAndNoStep) {
  EXPECT_NEAR(StepsOfEpochs(10e9, 1, 65'536, 0.8), 190'735, 1);
  EXPECT_NEAR(StepsOfEpochs(10e9, 1, 65'536, 1), 152'588, 1);
}

// HB-146 (NVIDIA-NeMo/Speech#3738): 500 steps of 8 x 2 x 4 after 1,000,000.
TEST(ConsumedSamples, GrowByTheGlobalBatchAStep) {
  EXPECT_EQ(ConsumedSamples(1'000'000, 500, 8 * 2 * 4), 1'032'000);
}

// A18: 65,536 tokens have numbers of two bytes.
TEST(TokenIds, TakeFourBytesBeyond65536) {
  EXPECT_EQ(TokenIdWidth(32'000), 2);
  EXPECT_EQ(TokenIdWidth(65'536), 2);
  EXPECT_EQ(TokenIdWidth(65'537), 4);
  EXPECT_EQ(TokenIdWidth(128'256), 4);
}

// 17.7.7: at 1 MB/s a core and 4 bytes a token, as many cores as megabytes of text a second.
TEST(TokenizerCores, AreTheTextOfASecondOverWhatACoreReads) {
  EXPECT_EQ(TokenizerCores(4e6, 4, 1e6), 16);
  EXPECT_EQ(TokenizerCores(16e6 / 3, 4, 1e6), 22);
}

TEST(StorageServers, AreRoundedUpBeforeTheyAreCopied) {
  EXPECT_EQ(StorageServers(12.8e9, 7e9, 3), 6);
  EXPECT_EQ(StorageServers(7e9, 7e9, 1), 1);
}

}  // namespace
}  // namespace scenarios
