// Layouts in all pairs of their features, on a model of two hundred thousand
// parameters: what is chosen, and how a scenario says it.

#ifndef TESTS_SCENARIOS_LAYOUT_GRID_H_
#define TESTS_SCENARIOS_LAYOUT_GRID_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/scenarios/loading.h"
#include "tests/scenarios/pairwise.h"

namespace scenarios {

// The model; its first layer is dense also where the others have experts.
namespace tiny {
inline constexpr std::int64_t kLayers = 8, kHidden = 64, kHeads = 16, kKvHeads = 8, kHeadDim = 4, kFfn = 128;
inline constexpr std::int64_t kVocabulary = 1024,
                              kTokens = 64;  // of a micro-batch, over all ranks that share it
inline constexpr std::int64_t kExperts = 8, kPerToken = 2, kExpertFfn = 64, kSharedFfn = 32;
}  // namespace tiny

// Where pieces of the model sit: round and round the stages, down them and up again (a V), or from
// both ends, where stages s and p-1-s hold pieces s and p-1-s and half of the micro-batches pass each.
enum class PieceOrder : std::uint8_t { kLoop, kVee, kBothEnds };

struct PipelineKind {
  const char* schedule = nullptr;  // null: no pipeline
  std::int64_t stages = 1, chunks = 1, micro_batches = 2;
  PieceOrder order = PieceOrder::kLoop;
};
struct DataKind {
  const char* sharding = "NONE";
  std::int64_t copies = 1;  // HSDP
};
struct ContextKindOf {
  std::int64_t ranks = 1;
  const char* kind = nullptr;
  std::int64_t ulysses = 1;
};

// One row of the grid.
struct GridLayout {
  std::int64_t tensor = 1;
  bool sequence = false;
  PipelineKind pipeline;
  DataKind data;
  ContextKindOf context;
  std::int64_t expert = 0;  // 0: a dense model
  std::int64_t expert_tensor = 1;
  const char* dispatcher = nullptr;  // null: the default
  std::string recompute = "NONE";    // or SELECTIVE, FULL, BLOCK: the first layer of each piece
  bool overlap = true;               // of gradients with the backward, of weights with the next forward
  bool tied = false;

  bool has_experts() const { return expert > 0; }
  bool spreads() const { return has_experts() && (expert > 1 || expert_tensor != tensor); }
  bool cuts_gradients() const { return data.sharding == std::string("ZERO_2") || cuts_weights(); }
  bool cuts_weights() const { return data.sharding == std::string("ZERO_3"); }
  bool gathers_once() const { return data.sharding != std::string("NONE") && !cuts_weights(); }
  std::int64_t data_ranks() const { return context.ranks > 1 ? 2 : 4; }
  std::int64_t stage_ranks() const { return tensor * context.ranks * data_ranks(); }
  std::int64_t ranks() const { return stage_ranks() * pipeline.stages; }
  // That hold the same parameters.
  std::int64_t holders() const {
    return context.ranks * data_ranks() * (pipeline.order == PieceOrder::kBothEnds ? 2 : 1);
  }
};

enum GridDimension : std::uint8_t {
  kTensorRanks,
  kSequence,
  kPipelineKind,
  kDataKind,
  kContextKind,
  kExpertRanks,
  kExpertTensorRanks,
  kDispatcher,
  kRecompute,
  kOverlap,
  kTied,
  kGridDimensions
};

inline constexpr PipelineKind kPipelineKinds[] = {{},
                                                  {"GPIPE", 2},
                                                  {"ONE_F_ONE_B", 2},
                                                  {"ONE_F_ONE_B", 4, 1, 4},
                                                  {"INTERLEAVED", 2, 2},
                                                  {"INTERLEAVED", 4, 2, 4},
                                                  {"ZB1P", 4, 1, 4},
                                                  {"ZB2P", 2},
                                                  {"ZBV", 2, 2, 2, PieceOrder::kVee},
                                                  {"VHALF", 2, 2, 2, PieceOrder::kVee},
                                                  {"VMIN", 2, 2, 2, PieceOrder::kVee},
                                                  {"DUALPIPE", 2, 2, 4, PieceOrder::kBothEnds},
                                                  {"DUALPIPEV", 2, 2, 4, PieceOrder::kVee}};
inline constexpr DataKind kDataKinds[] = {{"NONE", 1},   {"ZERO_1", 1}, {"ZERO_1", 2},
                                          {"ZERO_2", 1}, {"ZERO_3", 1}, {"ZERO_3", 2}};
inline constexpr ContextKindOf kContextKinds[] = {
    {}, {2, "RING"}, {2, "ALL_GATHER"}, {2, "ULYSSES", 2}, {4, "RING", 2}};
inline constexpr std::int64_t kTensorSizes[] = {1, 2, 4};
inline constexpr std::int64_t kExpertSizes[] = {0, 1, 2, 4};
inline constexpr std::int64_t kExpertTensorSizes[] = {1, 2, 4};
inline constexpr const char* kDispatchers[] = {nullptr, "ALLGATHER", "DEEPEP"};
inline constexpr const char* kRecomputes[] = {"NONE", "SELECTIVE", "FULL", "BLOCK"};

// What is open stays as a GridLayout has it.
inline GridLayout GridLayoutOf(const PairwiseRow& row) {
  GridLayout layout;
  const auto chosen = [&](GridDimension d, const auto& values, auto* field) {
    if (row[d] != kOpen) *field = values[row[d]];
  };
  constexpr bool kNoYes[] = {false, true};
  chosen(kTensorRanks, kTensorSizes, &layout.tensor);
  chosen(kSequence, kNoYes, &layout.sequence);
  chosen(kPipelineKind, kPipelineKinds, &layout.pipeline);
  chosen(kDataKind, kDataKinds, &layout.data);
  chosen(kContextKind, kContextKinds, &layout.context);
  chosen(kExpertRanks, kExpertSizes, &layout.expert);
  chosen(kExpertTensorRanks, kExpertTensorSizes, &layout.expert_tensor);
  chosen(kDispatcher, kDispatchers, &layout.dispatcher);
  chosen(kRecompute, kRecomputes, &layout.recompute);
  chosen(kOverlap, kNoYes, &layout.overlap);
  chosen(kTied, kNoYes, &layout.tied);
  return layout;
}

// What the loader would refuse. Each rule speaks once all that it is about is chosen.
inline bool GridAllows(const PairwiseRow& row) {
  const GridLayout at = GridLayoutOf(row);
  const auto known = [&](std::initializer_list<GridDimension> dimensions) {
    for (const GridDimension d : dimensions) {
      if (row[d] == kOpen) return false;
    }
    return true;
  };
  if (known({kTensorRanks, kSequence}) && at.sequence && at.tensor == 1) return false;
  const bool both_ends = at.pipeline.order == PieceOrder::kBothEnds;
  if (known({kPipelineKind, kDataKind}) && (at.data.copies > 1 || at.cuts_gradients()) && both_ends)
    return false;
  const bool in_turns =
      at.pipeline.schedule != nullptr && at.pipeline.schedule == std::string("DUALPIPEV") && at.spreads();
  if (known({kTensorRanks, kPipelineKind, kDataKind, kExpertRanks, kExpertTensorRanks}) && in_turns &&
      at.cuts_gradients()) {
    return false;
  }
  const bool split_table = at.pipeline.stages > 1 && at.tied;
  if (known({kPipelineKind, kDataKind, kTied}) && at.cuts_gradients() && split_table) return false;
  if (known({kExpertRanks, kExpertTensorRanks}) && !at.has_experts() && at.expert_tensor > 1) return false;
  if (known({kExpertRanks, kDispatcher}) && !at.has_experts() && at.dispatcher != nullptr) return false;
  if (known({kExpertTensorRanks, kDispatcher}) && at.dispatcher == kDispatchers[2] && at.expert_tensor > 1) {
    return false;
  }
  if (!known({kTensorRanks, kExpertRanks, kExpertTensorRanks}) || !at.has_experts()) return true;
  if (known({kContextKind}) && at.stage_ranks() % (at.expert * at.expert_tensor) != 0) return false;
  if (known({kDispatcher}) && at.dispatcher != nullptr && !at.spreads()) return false;
  if (!known({kDataKind, kContextKind}) || !at.spreads() || at.data.copies == 1) return true;
  // Both ends have no copies, so holders are a stage's.
  const std::int64_t copy = at.context.ranks * at.data_ranks() / at.data.copies * at.tensor;
  return copy % (at.expert * at.expert_tensor) == 0;
}

inline PairwiseSpace GridSpace() {
  return {
      {3, 2, std::size(kPipelineKinds), std::size(kDataKinds), std::size(kContextKinds), 4, 3, 3, 4, 2, 2},
      GridAllows};
}

// As `--set` on the scenario of loading.h.
inline Sets SetsOf(const GridLayout& at) {
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  const auto yes = [](bool b) { return std::string(b ? "true" : "false"); };
  Sets sets = {{"model", at.has_experts() ? "mixtral_8x7b" : "llama_7b"},
               {"model.layers", text(tiny::kLayers)},
               {"model.hidden", text(tiny::kHidden)},
               {"model.heads", text(tiny::kHeads)},
               {"model.kv_heads", text(tiny::kKvHeads)},
               {"model.head_dim", text(tiny::kHeadDim)},
               {"model.ffn", text(tiny::kFfn)},
               {"model.vocabulary", text(tiny::kVocabulary)},
               {"model.tied_embedding", yes(at.tied)},
               {"devices", text(at.ranks())},
               {"layout.tensor", text(at.tensor)},
               {"layout.sequence", yes(at.sequence)},
               {"layout.pipeline", text(at.pipeline.stages)},
               {"layout.virtual", text(at.pipeline.chunks)},
               {"batch.global", text(at.data_ranks() * at.pipeline.micro_batches)},
               {"batch.sequence_length", text(tiny::kTokens)},
               {"training.optimizer_sharding", at.data.sharding},
               {"training.recompute", at.recompute == "BLOCK" ? "FULL" : at.recompute},
               {"training.overlap_gradient_reduce", yes(at.overlap)},
               {"topology", "single_switch_ndr"},
               {"steps", "3"}};
  const auto set = [&](const char* path, const std::string& value) { sets.emplace_back(path, value); };
  if (at.pipeline.schedule != nullptr) set("pipeline.schedule", at.pipeline.schedule);
  if (at.data.copies > 1) set("training.sharding.ranks", text(at.holders() / at.data.copies));
  if (at.context.ranks > 1) {
    set("layout.context", text(at.context.ranks));
    set("layout.context_kind", at.context.kind);
    set("layout.ulysses", text(at.context.ulysses));
  }
  if (at.gathers_once()) set("training.overlap_parameter_gather", yes(at.overlap));
  if (at.recompute == "BLOCK") {
    set("training.recompute_method", "BLOCK");
    set("training.recompute_layers", "1");
  }
  if (!at.has_experts()) return sets;
  set("model.experts.routed", text(tiny::kExperts));
  set("model.experts.per_token", text(tiny::kPerToken));
  set("model.experts.ffn", text(tiny::kExpertFfn));
  set("model.experts.shared", "1");
  set("model.experts.shared_ffn", text(tiny::kSharedFfn));
  set("model.experts.first_dense_layers", "1");
  set("layout.expert", text(at.expert));
  set("layout.expert_tensor", text(at.expert_tensor));
  if (at.dispatcher != nullptr) set("experts.dispatcher", at.dispatcher);
  return sets;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_LAYOUT_GRID_H_
