// DualPipeV: DualPipe cut in half. A rank takes the places of ranks r and
// 2p-1-r of a DualPipe of 2p ranks, whose directions become the two arms of a
// V, so that one copy of the parameters is enough.
//
// Source: deepseek-ai/DualPipe, README and dualpipe/dualpipev.py; "DualPipe could
// be better without the dual", Sea AI Lab, 2025 ("cut-in-half").

#include <string>

#include "sim/schedule/bubble.h"
#include "sim/schedule/schedules.h"

namespace sim {
namespace {

std::optional<Error> Refuse(const PipelineShape& shape) {
  if (std::optional<Error> error = RefuseAllButTwoChunks(shape, "dualpipev")) return error;
  if (shape.microbatches < 2 * shape.stages) {
    return Error{"dualpipev: " + std::to_string(shape.microbatches) + " micro-batches on " +
                 std::to_string(shape.stages) + " stages; " + std::to_string(2 * shape.stages) +
                 " or more would do"};
  }
  return std::nullopt;
}

std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return DualPipeSteps(shape.stages, shape.microbatches, stage);
}

std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return DualPipeInFlight(2 * shape.stages);
}

std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  return DualPipeBubbleOf(2 * shape.stages, times);
}

}  // namespace

const PipelineSchedule kDualPipeV = {
    .name = "dualpipev",
    .summary = "DualPipeV: the directions of DualPipe as the arms of a V; one copy of the parameters",
    .needs = "2 chunks; 2p or more micro-batches",
    .placement = Placement::kVee,
    .chunks = 2,
    .splits_backward = true,
    .joins = true,
    .refuse = Refuse,
    .order = Order,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
