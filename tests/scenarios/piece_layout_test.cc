#include "scenarios/piece_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scenarios {
namespace {

using testing::ElementsAre;
using Piece = PieceLayout::Piece;

std::vector<std::int64_t> LayersOf(std::string_view text) {
  const PieceLayout layout = ParsePieceLayout(text);
  EXPECT_EQ(layout.error, "") << text;
  std::vector<std::int64_t> layers;
  for (const Piece& piece : layout.pieces) layers.push_back(piece.layers);
  return layers;
}

// Megatron-LM's recipe for DeepSeek-V3: 61 layers and one MTP layer on 16 pieces.
TEST(PieceLayout, ReadsTheLayoutOfDeepSeekV3) {
  const PieceLayout layout = ParsePieceLayout("Et*4|(t*4|)*14tmL");
  ASSERT_EQ(layout.error, "");
  ASSERT_EQ(layout.pieces.size(), 16u);
  EXPECT_EQ(layout.pieces[0], (Piece{.layers = 4, .embedding = true}));
  for (int i = 1; i < 15; ++i) EXPECT_EQ(layout.pieces[static_cast<std::size_t>(i)], (Piece{.layers = 4}));
  EXPECT_EQ(layout.pieces[15], (Piece{.layers = 1, .predictions = 1, .loss = true}));
}

TEST(PieceLayout, RepeatsLettersPartsAndEnds) {
  EXPECT_THAT(LayersOf("EtL"), ElementsAre(1));
  EXPECT_THAT(LayersOf("E|tt|L"), ElementsAre(0, 2, 0));
  EXPECT_THAT(LayersOf("Et|(tt|)*2t,L"), ElementsAre(1, 2, 2, 1));
  EXPECT_THAT(LayersOf("Et*3,|(t|t*2|)*2L"), ElementsAre(3, 1, 2, 1, 2, 0));
  EXPECT_THAT(LayersOf("E(t)*12L"), ElementsAre(12));
  EXPECT_THAT(LayersOf("Et|*2L"), ElementsAre(1, 0, 0));
}

TEST(PieceLayout, MistakesPointIntoTheString) {
  const struct {
    const char *text, *error;
  } kCases[] = {
      {"", "character 1, at its end: E, t and L are wanted"},
      {"Et*4|x", "character 6, \"x\": E, t, m or L, \"|\", \"(...)*n\" or \"*n\" is wanted"},
      {"ttL", "character 1, \"t\": the embedding, E, is wanted first"},
      {"EtE", "character 3, \"E\": the embedding is the first of all, once"},
      {"EtLt", "character 4, \"t\": the loss is the last of all, once"},
      {"Et|t", "character 5, at its end: the loss, L, is wanted"},
      {"E*2tL", "character 1, \"E\": the embedding is the first of all, once"},
      {"Et*L", "character 3, \"*\": a number from 1 to 1000000 is wanted behind it"},
      {"Et*0L", "character 3, \"*\": a number from 1 to 1000000 is wanted behind it"},
      {"Et*2*2L", "character 5, \"*\": nothing to repeat before it"},
      {"*2", "character 1, \"*\": nothing to repeat before it"},
      {"E(t|L", "character 2, \"(\": it is not closed"},
      {"Et)L", "character 3, \")\": it closes nothing"},
      {"E((t)*2|)*2L", "character 3, \"(\": a parenthesis inside a parenthesis, which Megatron-LM has not"},
      {"EtmtL", "character 4, \"t\": a layer behind an MTP layer"},
      {"E(t*1000|)*1000L", "character 11, \"*\": more than 1000000 letters"},
      {"Et|*100000L", "character 3, \"|\": more than 65536 pieces"},
      {"Et\x01L", "character 3, \"?\": E, t, m or L, \"|\", \"(...)*n\" or \"*n\" is wanted"},
  };
  for (const auto& c : kCases) EXPECT_EQ(ParsePieceLayout(c.text).error, c.error) << c.text;
}

TEST(PieceLayout, MustSuitTheModelAndTheStages) {
  const LayerRequest request{.layers = 61, .stages = 8, .chunks = 2};
  EXPECT_EQ(SplitByLayout("Et*4|(t*4|)*14tL", request).error, "");
  EXPECT_THAT(SplitByLayout("Et*4|(t*4|)*14tL", request).layers_of_piece,
              ElementsAre(4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1));
  EXPECT_EQ(SplitByLayout("Et*4|(t*4|)*14tmL", request).error,
            "piece 15 has 1 MTP layers (m); 0 are trained (training.mtp, model.prediction_modules)");
  LayerRequest trained = request;
  trained.predictions = 1;
  EXPECT_EQ(SplitByLayout("Et*4|(t*4|)*14tmL", trained).error, "");
  EXPECT_EQ(SplitByLayout("Et*4|(t*4|)*13t*4m|tL", trained).error,
            "piece 14 has an MTP layer (m) without the loss, which is not simulated; L behind it is wanted");
  EXPECT_EQ(SplitByLayout("Et*61L", request).error, "1 pieces; 16 are wanted, 2 on each of 8 stages");
  EXPECT_EQ(SplitByLayout("Et*4|(t*4|)*14ttL", request).error, "adds up to 62 layers; the model has 61");
  EXPECT_EQ(SplitByLayout("Et*8||(t*4|)*13tL", request).error,
            "piece 1 has no layer; only the first and the last may be without");
}

}  // namespace
}  // namespace scenarios
