#include "sim/schedule/bubble.h"
#include "sim/schedule/schedules.h"

namespace sim {
namespace {

std::optional<Error> Refuse(const PipelineShape& shape) { return RefuseChunks(shape, "gpipe"); }

// All forwards, then all backwards. With equal stages and free communication
// the step takes (m + p - 1)(f + b), as under 1F1B; only memory is worse.
//
// The backwards run in the order of the forwards, as Megatron-LM's figure of
// GPipe and PyTorch's ScheduleGPipe have it. GPipe's own figure reverses them;
// the time is the same, since the last stage has all its inputs either way.
//
// Source: Huang et al., "GPipe: Efficient training of giant neural networks
// using pipeline parallelism", NeurIPS 2019; Narayanan et al., "Efficient
// large-scale language model training on GPU clusters using Megatron-LM",
// SC 2021, figure 3.
std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  std::vector<PipelineStep> steps;
  steps.reserve(std::size_t{2} * shape.microbatches);
  for (const auto kind : {PipelineStep::Kind::kForward, PipelineStep::Kind::kBackward}) {
    for (std::uint32_t microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
      steps.push_back({kind, microbatch, 0});
    }
  }
  return steps;
}

std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return shape.microbatches;
}

std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  return OneForwardOneBackwardBubble(shape.stages, times.forward, times.backward());
}

}  // namespace

const PipelineSchedule kGPipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards",
    .needs = "1 chunk",
    .refuse = Refuse,
    .order = Order,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
