#include "scenarios/layer_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SplitLayers, SharesEvenlyByDefault) {
  EXPECT_THAT(SplitLayers({.layers = 32, .stages = 4}).layers_of_piece, ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(SplitLayers({.layers = 32, .stages = 2, .chunks = 4}).layers_of_piece,
              ElementsAre(4, 4, 4, 4, 4, 4, 4, 4));
}

// HB-075: 80 layers, pp = 16, 2 layers per virtual stage (2.5 virtual stages) must not run as 64 layers.
TEST(SplitLayers, RefusesVirtualStagesThatDoNotDivideAStage) {
  const LayerSplit split = SplitLayers({.layers = 80, .stages = 16, .chunks = 2});
  EXPECT_STREQ(split.field, "virtual");
  EXPECT_EQ(
      split.error,
      "80 layers over 16 stages are 5 layers a stage, which 2 virtual stages do not divide; 1 and 5 do");
  EXPECT_EQ(SplitLayers({.layers = 80, .stages = 16, .chunks = 5}).error, "");
}

// HB-079: 60 layers, pp = 8.
TEST(SplitLayers, TakesUnevenEnds) {
  const LayerSplit plain = SplitLayers({.layers = 60, .stages = 8});
  EXPECT_THAT(plain.error, HasSubstr("60 layers do not share evenly over 8 stages (60 % 8 = 4); 1, 2, 3"));
  LayerRequest request{.layers = 60, .stages = 8};
  request.first_stage_layers = 4;
  request.last_stage_layers = 8;
  EXPECT_THAT(SplitLayers(request).layers_of_piece, ElementsAre(4, 8, 8, 8, 8, 8, 8, 8));
  request.chunks = 4;
  const LayerSplit interleaved = SplitLayers(request);
  EXPECT_EQ(interleaved.error, "");
  EXPECT_EQ(interleaved.layers_of_piece[0], 1);
  EXPECT_EQ(interleaved.layers_of_piece[1], 2);
  request.chunks = 3;
  EXPECT_EQ(SplitLayers(request).error,
            "stage 0 has 4 layers, which 3 virtual stages do not divide; 1, 2 and 4 do");
  request.chunks = 1;
  request.first_stage_layers = 5;  // 47 left for 6
  EXPECT_EQ(SplitLayers(request).error,
            "47 layers are left for 6 other stages, which do not divide them; 1 and 47 would");
}

// Llama 3 405B (2024), section 3.3.2: one layer less on the first and the last
// stage: 126 + 2 = 128 slots = 16 stages x 8.
TEST(SplitLayers, CountsEmbeddingAndLossAsLayers) {
  const LayerSplit split =
      SplitLayers({.layers = 126, .stages = 16, .embedding_counts = true, .loss_counts = true});
  ASSERT_EQ(split.error, "");
  EXPECT_EQ(split.layers_of_piece.front(), 7);
  EXPECT_EQ(split.layers_of_piece[1], 8);
  EXPECT_EQ(split.layers_of_piece.back(), 7);
  EXPECT_THAT(SplitLayers({.layers = 126, .stages = 16}).error, HasSubstr("126 % 16 = 14"));
  // As many pieces as slots: embedding and head alone on theirs.
  EXPECT_THAT(
      SplitLayers({.layers = 2, .stages = 4, .embedding_counts = true, .loss_counts = true}).layers_of_piece,
      ElementsAre(0, 1, 1, 0));
}

TEST(SplitLayers, TakesListsOfStagesAndOfPieces) {
  LayerRequest request{.layers = 10, .stages = 2, .chunks = 2};
  request.stage_layers = {4, 6};
  EXPECT_THAT(SplitLayers(request).layers_of_piece, ElementsAre(2, 3, 2, 3));
  request.stage_layers = {1, 2, 3, 4};
  EXPECT_THAT(SplitLayers(request).layers_of_piece, ElementsAre(1, 2, 3, 4));
  request.stage_layers = {1, 2, 3};
  EXPECT_EQ(SplitLayers(request).error, "3 numbers; wanted 2, one a stage, or 4, one a piece");
  request.stage_layers = {4, 7};
  EXPECT_EQ(SplitLayers(request).error, "adds up to 11 layers; the model has 10");
  request.stage_layers = {1, 0, 5, 4};
  EXPECT_EQ(SplitLayers(request).error, "piece 1 has no layer; only the first and the last may be without");
  request.stage_layers = {0, 5, 5, 0};
  EXPECT_EQ(SplitLayers(request).error, "");
}

TEST(SplitLayers, RefusesTwoWaysAtOnce) {
  LayerRequest request{.layers = 10, .stages = 2};
  request.stage_layers = {5, 5};
  request.first_stage_layers = 5;
  EXPECT_THAT(SplitLayers(request).error, HasSubstr("one is wanted"));
  request.stage_layers.clear();
  request.embedding_counts = true;
  EXPECT_THAT(SplitLayers(request).error, HasSubstr("one of the two is wanted"));
  request = {.layers = 10, .stages = 1};
  request.last_stage_layers = 10;
  EXPECT_EQ(SplitLayers(request).error, "given for 1 stage; wanted only where there are more");
}

TEST(SplitLayers, AddsUpWheneverItIsLegal) {
  int legal = 0;
  for (std::int64_t layers = 1; layers <= 24; ++layers) {
    for (std::int64_t stages = 1; stages <= 6; ++stages) {
      for (std::int64_t chunks = 1; chunks <= 3; ++chunks) {
        for (int counts = 0; counts < 4; ++counts) {
          const LayerSplit split = SplitLayers({.layers = layers,
                                                .stages = stages,
                                                .chunks = chunks,
                                                .embedding_counts = (counts & 1) != 0,
                                                .loss_counts = (counts & 2) != 0});
          EXPECT_EQ(split.error.empty(), !split.layers_of_piece.empty());
          if (!split.error.empty()) continue;
          ++legal;
          const auto& pieces = split.layers_of_piece;
          EXPECT_EQ(static_cast<std::int64_t>(pieces.size()), stages * chunks);
          EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0}), layers);
          for (const std::int64_t n : pieces) EXPECT_GE(n, 0);
        }
      }
    }
  }
  EXPECT_GT(legal, 100);
}

}  // namespace
}  // namespace scenarios
