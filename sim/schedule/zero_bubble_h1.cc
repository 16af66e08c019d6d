// ZB-H1: the backward is split, and weight gradients wait until they can fill
// the time in which later stages would idle. No stage holds more than the first
// stage of 1F1B does.
//
// Source: Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, section 2.1
// and figure 3 (top); sail-sg/zero-bubble-pipeline-parallelism calls it ZB1P.

#include <algorithm>

#include "sim/schedule/bubble.h"
#include "sim/schedule/schedules.h"

namespace sim {

std::vector<PipelineStep> DelayedWeightGradients(std::uint32_t microbatches, std::uint32_t warmup,
                                                 std::uint32_t delay) {
  CHECK(warmup > 0);
  using enum PipelineStep::Kind;
  std::vector<PipelineStep> steps;
  steps.reserve(std::size_t{3} * microbatches);
  std::uint32_t forwards = 0;
  const auto forward = [&] {
    if (forwards < microbatches) steps.push_back({kForward, forwards++, 0});
  };
  for (std::uint32_t i = 0; i + 1 < warmup; ++i) forward();
  for (std::uint32_t i = 0; i < microbatches; ++i) {
    forward();
    steps.push_back({kBackwardInput, i, 0});
    if (i >= delay) steps.push_back({kBackwardWeight, i - delay, 0});
  }
  for (std::uint32_t i = microbatches - std::min(delay, microbatches); i < microbatches; ++i) {
    steps.push_back({kBackwardWeight, i, 0});
  }
  return steps;
}

namespace {

std::optional<Error> Refuse(const PipelineShape& shape) { return RefuseChunks(shape, "zb1p"); }

// Stage s fills the pipeline with p-s forwards as under 1F1B and keeps s weight
// gradients back, so that every stage has p micro-batches in flight.
std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return DelayedWeightGradients(shape.microbatches, shape.stages - stage, stage);
}

std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return std::min(shape.microbatches, shape.stages);
}

// (p-1)(F+B-2W) with B the whole backward, as the paper has it, from p
// micro-batches on; with fewer there are fewer weight gradients to fill with.
// Longer weight gradients delay what comes after them.
std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  if (times.backward_weight > std::min(times.forward, times.backward_input)) return std::nullopt;
  const std::int64_t missing = shape.stages - std::min(shape.microbatches, shape.stages);
  return ZeroBubble1PBubble(shape.stages, times.forward, times.backward(), times.backward_weight) +
         missing * times.backward_weight;
}

}  // namespace

const PipelineSchedule kZeroBubbleH1 = {
    .name = "zb1p",
    .summary = "ZB-H1: weight gradients fill two thirds of the bubble, with the memory of 1F1B",
    .needs = "1 chunk",
    .splits_backward = true,
    .refuse = Refuse,
    .order = Order,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
