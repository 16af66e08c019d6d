#include "sim/schedule/pipeline_order.h"

#include <algorithm>

namespace sim {

PipelineOrder OrderOf(const PipelineSchedule& schedule, const PipelineShape& shape) {
  PipelineOrder order = {shape, schedule.placement, {}};
  if (schedule.orders != nullptr) {
    order.stages = schedule.orders(shape);
    return order;
  }
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    order.stages.push_back(schedule.order(shape, stage));
  }
  return order;
}

std::optional<StepNeed> MadeBy(const PipelineOrder& order, std::uint32_t stage, const PipelineStep& step) {
  if (step.kind == PipelineStep::Kind::kBackwardWeight) return std::nullopt;
  return StepNeed{step.kind != PipelineStep::Kind::kForward,
                  PieceOf(order.placement, order.shape, stage, step.chunk), step.microbatch, step.part};
}

StepNeeds NeedsOf(const PipelineOrder& order, std::uint32_t stage, const PipelineStep& step) {
  const std::uint32_t piece = PieceOf(order.placement, order.shape, stage, step.chunk);
  const std::uint32_t mb = step.microbatch, part = step.part;
  StepNeeds needs;
  if (step.kind == PipelineStep::Kind::kForward) {
    if (piece > 0) needs.Add({false, piece - 1, mb, part});
    if (part > 0) needs.Add({false, piece, mb, part - 1});
  } else if (step.kind == PipelineStep::Kind::kBackwardWeight) {
    needs.Add({true, piece, mb, part});
  } else {
    needs.Add({false, piece, mb, part});
    if (piece + 1 < PieceCount(order.placement, order.shape)) needs.Add({true, piece + 1, mb, part});
    if (part + 1 < order.shape.parts) needs.Add({true, piece, mb, part + 1});
  }
  return needs;
}

std::uint32_t MostInFlight(const std::vector<PipelineStep>& steps, HeldUntil until) {
  const PipelineStep::Kind half = until == HeldUntil::kBackwardInput ? PipelineStep::Kind::kBackwardInput
                                                                     : PipelineStep::Kind::kBackwardWeight;
  std::uint32_t held = 0, most = 0;
  for (const PipelineStep& step : steps) {
    if (step.kind == PipelineStep::Kind::kForward) most = std::max(most, ++held);
    if (step.kind == PipelineStep::Kind::kBackward || step.kind == half) --held;
  }
  return most;
}

}  // namespace sim
