// A model's pieces as a string, as Megatron-LM's pipeline-model-parallel-layout:
//
//   Et*4|(t*4|)*14tmL
//
// E is the embedding, t a layer, m a multi-token prediction layer, L the loss; "|"
// ends a piece; "x*n" repeats a letter, "(...)*n" a part, in which there are no
// further parentheses; commas mean nothing. Pieces are in the order of the model.
//
// Source: Megatron-LM, core/transformer/pipeline_parallel_layer_layout.py.

#ifndef SCENARIOS_PIECE_LAYOUT_H_
#define SCENARIOS_PIECE_LAYOUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/layer_split.h"

namespace scenarios {

struct PieceLayout {
  struct Piece {
    std::int64_t layers = 0, predictions = 0;
    bool embedding = false, loss = false;
    bool operator==(const Piece&) const = default;
  };
  std::vector<Piece> pieces;
  std::string error;  // "character 5, "x": ..."; empty when it can be read
};

// The embedding comes first of all, the loss last. At most 65,536 pieces.
PieceLayout ParsePieceLayout(std::string_view text);

// What a string says of a model; REQUIRES: as SplitLayers, which it stands in for
LayerSplit SplitByLayout(std::string_view text, const LayerRequest& request);

}  // namespace scenarios

#endif  // SCENARIOS_PIECE_LAYOUT_H_
