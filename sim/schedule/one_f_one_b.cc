#include <algorithm>
#include <string>

#include "sim/schedule/bubble.h"
#include "sim/schedule/schedules.h"

namespace sim {
namespace {

// Joined pairs on several stages: the last one needs a forward more before its first backward than
// it has, and each stage before it two more, or neighbours would work in turns.
std::optional<Error> Refuse(const PipelineShape& shape) {
  if (shape.joined && shape.stages > 1) {
    return Error{
        "1f1b: " + std::to_string(shape.stages) +
        " stages do not join forwards and backwards; 1 stage, or schedule \"interleaved\", would do"};
  }
  PipelineShape apart = shape;
  apart.joined = false;
  return RefuseChunks(apart, "1f1b");
}

std::uint32_t Warmup(const PipelineShape& shape, std::uint32_t stage) {
  return std::min(shape.stages - 1 - stage + (shape.joined ? 1 : 0), shape.microbatches);
}

// Fill the pipeline with forwards, then alternate one forward and one backward,
// then drain the backwards. Stage s needs p-1-s forwards before the gradient of
// micro-batch 0 can reach it, and so holds at most p-s micro-batches.
//
// Source: Narayanan et al., "PipeDream: Generalized pipeline parallelism for
// DNN training", SOSP 2019; the form with a flush: Narayanan et al., SC 2021,
// figure 4 (top). Joined, of one stage: Megatron-LM, megatron/core/pipeline_parallel/combined_1f1b.py.
std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  using enum PipelineStep::Kind;
  const std::uint32_t warmup = Warmup(shape, stage);
  std::vector<PipelineStep> steps;
  steps.reserve(std::size_t{2} * shape.microbatches);

  for (std::uint32_t i = 0; i < warmup; ++i) steps.push_back({kForward, i, 0});
  for (std::uint32_t i = warmup; i < shape.microbatches; ++i) {
    steps.push_back({kForward, i, 0, 0, shape.joined});
    steps.push_back({kBackward, i - warmup, 0});
  }
  for (std::uint32_t i = shape.microbatches - warmup; i < shape.microbatches; ++i) {
    steps.push_back({kBackward, i, 0});
  }
  return steps;
}

std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return std::min(shape.microbatches, Warmup(shape, stage) + 1);
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
