#include "models/adapters.h"

#include <gtest/gtest.h>

#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::Bytes;

// Rank 8 on queries and values of LLaMA-7B: 32 x 2 x 8 x 8,192, the 4,194,304 that Hugging Face PEFT's
// print_trainable_parameters() gives. All seven matrices: 8 x (4 x 8,192 + 3 x 15,104) a layer.
TEST(Adapters, HaveRankTimesRowsAndColumns) {
  EXPECT_EQ(AdapterParameters(Llama7b(), AdapterTargets::kQueryValue, 8), 4'194'304);
  EXPECT_EQ(AdapterParameters(Llama7b(), AdapterTargets::kAttention, 8), 2 * 4'194'304);
  EXPECT_EQ(AdapterParameters(Llama7b(), AdapterTargets::kAllLinear, 8), 32 * 8 * (4 * 8'192 + 3 * 15'104));
}

TEST(Adapters, LeaveRoutedExpertsAlone) {
  EXPECT_EQ(AdapterParameters(Mixtral8x7b(), AdapterTargets::kAllLinear, 8),
            AdapterParameters(Mixtral8x7b(), AdapterTargets::kAttention, 8));
}

// Exercise 27.5: 4/8 + 4/128 = 0.53125 bytes a weight with an FP32 scale of 128.
TEST(Quantisation, AddsAScaleAGroup) {
  EXPECT_EQ(QuantisedBytes(1'280, {4, 128, 32}), Bytes(680));
  EXPECT_EQ(QuantisedBytes(1'281, {4, 128, 32}), Bytes(641 + 44));  // a group begun is one
  EXPECT_EQ(QuantisedBytes(1'280, {4, 128, 16, 4}), Bytes(640 + 25));
}

// QLoRA, section 3: 8/64 + 32/(64 x 256) = 0.127 bits a weight beside the 4.
TEST(Quantisation, OfScalesSparesThreeEighthsOfABit) {
  const std::int64_t n = 64 * 256 * 1000;
  EXPECT_EQ(QuantisedBytes(n, kNf4), Bytes(n / 2 + n / 64 + 4 * 1000));
  EXPECT_EQ(QuantisedBytes(n, {4, 64, 32}) - QuantisedBytes(n, kNf4), Bytes(3 * n / 64 - 4 * 1000));
}

// 27.5: adapters alone have gradients and moments; the frozen weights stay, in whatever form.
TEST(AdapterTraining, HoldsTheBaseOnceAndSixteenBytesAnAdaptersNumber) {
  const Bytes base = QuantisedBytes(6'738'415'616, kNf4);
  EXPECT_EQ(AdapterTrainingState(base, 4'194'304).total(), base + Bytes(16 * 4'194'304));
}

}  // namespace
}  // namespace models
