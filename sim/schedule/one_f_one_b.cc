#include <algorithm>

#include "sim/schedule/bubble.h"
#include "sim/schedule/schedules.h"

namespace sim {
namespace {

std::optional<Error> Refuse(const PipelineShape& shape) { return RefuseChunks(shape, "1f1b"); }

// Fill the pipeline with forwards, then alternate one forward and one backward,
// then drain the backwards. Stage s needs p-1-s forwards before the gradient of
// micro-batch 0 can reach it, and so holds at most p-s micro-batches.
//
// Source: Narayanan et al., "PipeDream: Generalized pipeline parallelism for
// DNN training", SOSP 2019; the form with a flush: Narayanan et al., SC 2021,
// figure 4 (top).
std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  using enum PipelineStep::Kind;
  const std::uint32_t warmup = std::min(shape.stages - 1 - stage, shape.microbatches);
  std::vector<PipelineStep> steps;
  steps.reserve(std::size_t{2} * shape.microbatches);

  for (std::uint32_t i = 0; i < warmup; ++i) steps.push_back({kForward, i, 0});
  for (std::uint32_t i = warmup; i < shape.microbatches; ++i) {
    steps.push_back({kForward, i, 0});
    steps.push_back({kBackward, i - warmup, 0});
  }
  for (std::uint32_t i = shape.microbatches - warmup; i < shape.microbatches; ++i) {
    steps.push_back({kBackward, i, 0});
  }
  return steps;
}

std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return std::min(shape.microbatches, shape.stages - stage);
}

std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  return OneForwardOneBackwardBubble(shape.stages, times.forward, times.backward());
}

}  // namespace

const PipelineSchedule kOneForwardOneBackward = {
    .name = "1f1b",
    .summary = "one forward, one backward in turn, after a warm-up that fills the pipeline",
    .needs = "1 chunk",
    .refuse = Refuse,
    .order = Order,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
