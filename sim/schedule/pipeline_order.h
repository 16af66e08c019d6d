// PipelineOrder: what every stage of a pipeline does, one after the other.

#ifndef SIM_SCHEDULE_PIPELINE_ORDER_H_
#define SIM_SCHEDULE_PIPELINE_ORDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/pipeline_schedule.h"

namespace sim {

struct PipelineOrder {
  PipelineShape shape;
  Placement placement = Placement::kLoop;
  std::vector<std::vector<PipelineStep>> stages;
};

// REQUIRES: !schedule.refuse(shape)
PipelineOrder OrderOf(const PipelineSchedule& schedule, const PipelineShape& shape);

// What a step waits for beside the steps before it on its stage: the forward of a
// piece, or its gradient, be it from a whole backward or an input gradient.
struct StepNeed {
  bool gradient = false;
  std::uint32_t piece = 0, microbatch = 0, part = 0;
  auto operator<=>(const StepNeed&) const = default;
};

// At most three of them, to be read in a loop.
class StepNeeds {
 public:
  void Add(const StepNeed& need) { needs_[size_++] = need; }
  const StepNeed* begin() const { return needs_.data(); }
  const StepNeed* end() const { return needs_.data() + size_; }

 private:
  std::array<StepNeed, 3> needs_;
  std::size_t size_ = 0;
};

// What the step makes; a weight gradient makes nothing that anybody waits for.
std::optional<StepNeed> MadeBy(const PipelineOrder& order, std::uint32_t stage, const PipelineStep& step);

// What it waits for. Forwards: the same part of the piece before, and the part
// before (attention looks back). Backwards: their own forward, the same part of
// the piece after, the part after. Weight gradients: their input gradient.
// REQUIRES: the step lies within order.shape
StepNeeds NeedsOf(const PipelineOrder& order, std::uint32_t stage, const PipelineStep& step);

// How long the activations of a forward are needed.
enum class HeldUntil : std::uint8_t {
  kBackwardInput,   // the input gradient, or the whole backward
  kBackwardWeight,  // the weight gradient, or the whole backward
};

// Activations (of one part of one chunk each) that a stage with these steps
// holds at most at once.
std::uint32_t MostInFlight(const std::vector<PipelineStep>& steps, HeldUntil until);

}  // namespace sim

#endif  // SIM_SCHEDULE_PIPELINE_ORDER_H_
