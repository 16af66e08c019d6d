// Layout: which rank has which part. Ranks are numbered tensor fastest, then
// context, data, pipeline (Megatron's order tp-cp-ep-dp-pp) unless the
// scenario says otherwise.
//
// Routed experts are laid over the same ranks of a stage once more, on their own
// ("parallel folding"): expert_tensor fastest, then expert, then the rest,
// expert_data = tensor x context x data / (expert_tensor x expert), in the order of
// the ranks of the stage.
// Source: Megatron-LM, core/parallel_state.py, expert_decoder_rank_generator; its "dp-cp"
// groups and hierarchical context groups (the inner exchange first) likewise.

#ifndef SCENARIOS_LAYOUT_H_
#define SCENARIOS_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "models/block.h"
#include "sim/base/index.h"

namespace scenarios {

enum class Dimension : std::uint8_t { kTensor, kContext, kData, kPipeline };
inline constexpr int kDimensions = 4;

// Of the experts' own layout; kExpertModel is the first two together: the ranks that
// hold all experts of a layer once.
enum class ExpertDimension : std::uint8_t { kExpertTensor, kExpert, kExpertData, kExpertModel };

struct Layout {
  std::int64_t tensor = 1;
  bool sequence = false;     // sequence parallelism of norms and residuals inside the tensor group
  std::int64_t context = 1;  // ranks that share each sequence
  models::ContextKind context_kind = models::ContextKind::kRing;  // how they get each other's keys
  std::int64_t ulysses = 1;  // of them, neighbours that exchange tokens for heads; divides context
  bool zigzag = true;        // parts from both ends of the sequence; see models::ContextSpread
  std::int64_t data = 1;
  std::int64_t pipeline = 1;
  std::int64_t virtual_stages = 1;  // chunks of a stage
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;  // means nothing where the model has no experts
  Dimension order[kDimensions] = {Dimension::kTensor, Dimension::kContext, Dimension::kData,
                                  Dimension::kPipeline};  // fastest first

  std::int64_t extent(Dimension d) const;
  std::int64_t ranks() const { return tensor * context * data * pipeline; }
  std::int64_t expert_data() const { return tensor * context * data / (expert_tensor * expert); }
  // Whether experts are not cut as the rest of a layer is.
  bool spreads_experts() const { return expert > 1 || expert_tensor != tensor; }

  // How many ranks hold the same parameters (routed experts with a layout of their own
  // apart): those that differ along data and context. Gradients are reduced over them.
  std::int64_t copies() const { return data * context; }
  std::vector<sim::Rank> Copies(sim::Rank rank) const;  // in order of rank
  std::int64_t CopyOf(sim::Rank rank) const;            // the rank's place among them

  // Of the rank's context group: the neighbours that it exchanges heads with, and those
  // that hold the same heads of other tokens, in ring order.
  std::vector<sim::Rank> UlyssesGroup(sim::Rank rank) const;
  std::vector<sim::Rank> RingGroup(sim::Rank rank) const;

  // The rank's position along one dimension. REQUIRES: rank < ranks()
  std::int64_t Coordinate(sim::Rank rank, Dimension d) const;

  // A number below ranks() / pipeline that the ranks of one pipeline share.
  std::int64_t ColumnOf(sim::Rank rank) const;

  // In order.
  std::vector<sim::Rank> AllRanks() const;

  // All ranks that differ from `rank` along `d` only, in coordinate order.
  std::vector<sim::Rank> Group(sim::Rank rank, Dimension d) const;

  // The same along a dimension of the experts' layout.
  // REQUIRES: expert_tensor x expert divides the ranks of a stage
  std::vector<sim::Rank> Group(sim::Rank rank, ExpertDimension d) const;
  // Which of the expert groups' parts the rank has.
  std::int64_t ExpertOf(sim::Rank rank) const { return ColumnOf(rank) / expert_tensor % expert; }
};

}  // namespace scenarios

#endif  // SCENARIOS_LAYOUT_H_
