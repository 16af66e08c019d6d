// Pipeline: what each stage does, one step after the other, and which piece of
// the model each of its chunks is.

#ifndef SCENARIOS_PIPELINE_H_
#define SCENARIOS_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/layout.h"
#include "sim/schedule/pipeline_order.h"
#include "sim/schedule/pipeline_schedule.h"

namespace scenarios {

// Of schedule and order one is there, in a legal scenario.
struct Pipeline {
  const sim::PipelineSchedule* schedule = nullptr;
  std::shared_ptr<const sim::PipelineOrder> order;  // the user's own, of `shape`
  std::string order_file;                           // where it was read from
  sim::PipelineShape shape;
  // Layers of each piece of the model. The embedding is on the first piece and the
  // head on the last; PieceOf says where a piece is.
  std::vector<std::int64_t> layers_of_piece;
  // Joined steps take turns where tokens travel to experts; else they run one after the other.
  bool overlaps_experts = false;
  // Whole backwards that do make their weight gradients while tokens travel.
  bool delays_weight_gradients = false;

  std::string name() const;  // of the schedule, or "order of FILE"
  sim::Placement placement() const;
  std::uint32_t piece_of(std::uint32_t stage, std::uint32_t chunk) const {
    return PieceOf(placement(), shape, stage, chunk);
  }
  // Ranks of a pipeline that hold each parameter: 2 where micro-batches enter at both
  // ends; stages s and p-1-s hold the same two pieces then.
  std::int64_t copies() const { return placement() == sim::Placement::kBothEnds ? 2 : 1; }
  // Of those of a step, the micro-batches that pass a chunk.
  std::int64_t microbatches_of_chunk() const { return shape.microbatches / copies(); }
  // Times that a chunk's forward runs in a step: once for each part of a sequence.
  std::int64_t passes_of_chunk() const { return microbatches_of_chunk() * shape.parts; }
  bool splits_backward() const;
  // Whether its steps are joined without being asked for.
  bool joins() const;
  // Activations that `stage` holds at most, of one chunk and micro-batch each.
  std::uint32_t InFlight(std::uint32_t stage) const;
};

// The steps of each stage. Schedules that make no stage without the others are
// asked once. The pipeline must outlive this.
class StageOrders {
 public:
  explicit StageOrders(const Pipeline& pipeline);
  // REQUIRES: stage < shape.stages
  std::vector<sim::PipelineStep> Of(std::uint32_t stage) const;

 private:
  const Pipeline& pipeline_;
  std::vector<std::vector<sim::PipelineStep>> all_;  // of such a schedule
};

// All of them, with their shape.
sim::PipelineOrder OrderOf(const Pipeline& pipeline);

// The chunks in the order in which their gradients are complete: after their last
// whole backward or weight gradient.
std::vector<std::uint32_t> ChunksByEnd(std::span<const sim::PipelineStep> steps, std::uint32_t chunks);

// The stage that holds the piece before or behind a chunk's, or none at an end of the model.
std::optional<std::uint32_t> StageBefore(const Pipeline& pipeline, std::uint32_t stage, std::uint32_t chunk);
std::optional<std::uint32_t> StageBehind(const Pipeline& pipeline, std::uint32_t stage, std::uint32_t chunk);

// Those of `ranks`, which are of one stage, and the ranks that hold the same
// parameters in the same pipelines; the lower stage's first.
std::vector<sim::Rank> WithCopies(const Pipeline& pipeline, const Layout& layout,
                                  std::vector<sim::Rank> ranks);

}  // namespace scenarios

#endif  // SCENARIOS_PIPELINE_H_
