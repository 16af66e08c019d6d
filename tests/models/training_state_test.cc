#include "models/training_state.h"

#include <gtest/gtest.h>

#include "models/parameters.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::Bytes;

// One layer without vocabulary to speak of: d = 4, 2 heads, feed-forward 6, one token, untied.
Model Tiny() { return Llama(1, 4, 6, 2, 2, 1); }
// Its matrices: queries, keys, values, output 4 x 4; gate, up 6 x 4, down 4 x 6; table and head 1 x 4;
// norms 12.
constexpr std::int64_t kLayer = 4 * 16 + 3 * 24, kEnds = 2 * 4, kNorms = 12;

TEST(OptimizerState, OfAdamIsTwoMomentsAndOfSgdOne) {
  EXPECT_EQ(OptimizerStateBytes(Tiny(), OptimizerKind::kAdamW), Bytes(8 * (kLayer + kEnds + kNorms)));
  EXPECT_EQ(OptimizerStateBytes(Tiny(), OptimizerKind::kSgdMomentum), Bytes(4 * (kLayer + kEnds + kNorms)));
}

// 2 P bytes and two scales a block of 2,048: one block for 156 parameters, 3,290,242 for LLaMA-7B's.
TEST(OptimizerState, OfEightBitsHasAScaleABlock) {
  EXPECT_EQ(OptimizerStateBytes(Tiny(), OptimizerKind::kAdamW8bit), Bytes(2 * 156 + 8));
  EXPECT_EQ(OptimizerStateBytes(Llama7b(), OptimizerKind::kAdamW8bit),
            Bytes(2 * 6'738'415'616 + 8 * 3'290'242));
}

// Momentum of all, and one number a head of queries and keys, a row of the others, a number of the norms:
// 2 + 2 heads, 4 + 4 rows of values and output, 6 + 6 + 4 of the feed-forward, 1 + 1 of the ends, 12.
TEST(OptimizerState, OfAdamMiniHasANumberABlock) {
  EXPECT_EQ(OptimizerStateBytes(Tiny(), OptimizerKind::kAdamMini), Bytes(4 * (156 + 4 + 8 + 16 + 2 + 12)));
}

// A row and a column each: 4 x 8, 2 x 10 + 10, 2 x 5, and the norms as they are.
TEST(OptimizerState, OfAdafactorIsARowAndAColumnOfEachMatrix) {
  EXPECT_EQ(OptimizerStateBytes(Tiny(), OptimizerKind::kAdafactor), Bytes(4 * (32 + 30 + 10 + 12)));
}

TEST(OptimizerState, OfMuonIsOneMomentOfALayersMatricesAndTwoOfTheRest) {
  EXPECT_EQ(OptimizerStateBytes(Tiny(), OptimizerKind::kMuon), Bytes(4 * kLayer + 8 * (kEnds + kNorms)));
}

// (27.12) to (27.15) with 16 bytes a parameter; exercise 27.6 with 18, on 12 ranks: 6 + 12/12, 2 + 16/12.
TEST(TrainingState, IsCutByTheStagesOfZero) {
  const TrainingState s = AdamWStateOf(1'200);
  EXPECT_EQ(ShareOf(s, 0, 8).total(), Bytes(16 * 1'200));
  EXPECT_EQ(ShareOf(s, 1, 8).total(), Bytes(4 * 1'200 + 12 * 150));
  EXPECT_EQ(ShareOf(s, 2, 8).total(), Bytes(2 * 1'200 + 14 * 150));
  EXPECT_EQ(ShareOf(s, 3, 8).total(), Bytes(16 * 150));
  const TrainingState wide = AdamWStateOf(1'200, {.gradient = 4});
  EXPECT_EQ(ShareOf(wide, 1, 12).total(), Bytes(7 * 1'200));
  EXPECT_EQ(ShareOf(wide, 2, 12).total(), Bytes(2 * 1'200 + 16 * 100));
  EXPECT_EQ(ShareOf(wide, 3, 12).total(), Bytes(18 * 100));
  // What does not divide is rounded up, part by part.
  EXPECT_EQ(ShareOf(AdamWStateOf(1), 3, 3).total(), Bytes(1 + 1 + 2 + 3));
}

TEST(TrainingState, OfAModelIsThatOfItsParameters) {
  EXPECT_EQ(TrainingStateOf(Llama7b(), OptimizerKind::kAdamW).total(), Bytes(16 * 6'738'415'616));
  EXPECT_EQ(TrainingStateOf(Llama7b(), OptimizerKind::kSgdMomentum, {2, 2, 4}).total(),
            Bytes(12 * 6'738'415'616));
}

}  // namespace
}  // namespace models
