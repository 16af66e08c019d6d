// Which layers are on which stage, and on which of its pieces.

#ifndef SCENARIOS_LAYER_SPLIT_H_
#define SCENARIOS_LAYER_SPLIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenarios {

// What a scenario says about it. REQUIRES: layers, stages, chunks > 0
struct LayerRequest {
  std::int64_t layers = 1;
  std::int64_t stages = 1;
  std::int64_t chunks = 1;                      // pieces a stage holds, each on no other stage
  bool vee = false;                             // chunks in a V (sim::Placement::kVee), else in loops
  std::vector<std::int64_t> stage_layers = {};  // of each stage, or of each piece
  std::optional<std::int64_t> first_stage_layers = {}, last_stage_layers = {};
  bool embedding_counts = false;  // as one layer of the first piece
  bool loss_counts = false;       // as one layer of the last piece
  std::int64_t predictions = 0;   // MTP layers of the last piece
};

struct LayerSplit {
  // By piece; they add up. Only the first and last piece, which hold the embedding
  // and the head, may be without layers.
  std::vector<std::int64_t> layers_of_piece;
  // What is wrong, and with which field of the pipeline; empty when legal.
  std::string error;
  const char* field = "";
};

// Even by default: (layers + embedding + loss) / (stages x chunks) slots each.
// Source: Megatron-LM's account_for_embedding_in_pipeline_split and
// num_layers_in_first_pipeline_stage; Llama 3 (2024), section 3.3.2, has 126
// layers in 128 slots.
LayerSplit SplitLayers(const LayerRequest& request);

}  // namespace scenarios

#endif  // SCENARIOS_LAYER_SPLIT_H_
