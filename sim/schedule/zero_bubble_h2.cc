// ZB-H2: twice the forwards of ZB-H1 before the first backward, and twice the
// weight gradients kept back: no bubble, for nearly twice the memory of 1F1B.
//
// Source: Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, section 2.2
// and figure 3 (bottom); sail-sg/zero-bubble-pipeline-parallelism calls it ZB2P.

#include <algorithm>

#include "sim/schedule/bubble.h"
#include "sim/schedule/schedules.h"

namespace sim {
namespace {

std::optional<Error> Refuse(const PipelineShape& shape) { return RefuseChunks(shape, "zb2p"); }

// The gradient of micro-batch 0 is back after 2(p-1-s)+1 equal steps, all of
// which are forwards; 2s weight gradients wait, so that every stage has 2p-1
// micro-batches in flight. Each stage works without a pause, but begins a step
// later than the one before it.
std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return DelayedWeightGradients(shape.microbatches, 2 * (shape.stages - 1 - stage) + 1, 2 * stage);
}

std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return std::min(shape.microbatches, 2 * shape.stages - 1);
}

// (p-1)(F+B-3W) with B the whole backward from 2p-1 micro-batches on, nothing
// when all three are equal. Longer weight gradients delay what comes after them.
std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  if (times.backward_weight > std::min(times.forward, times.backward_input)) return std::nullopt;
  const std::uint32_t enough = 2 * shape.stages - 1;
  const std::int64_t missing = enough - std::min(shape.microbatches, enough);
  return ZeroBubble2PBubble(shape.stages, times.forward, times.backward(), times.backward_weight) +
         missing * times.backward_weight;
}

}  // namespace

const PipelineSchedule kZeroBubbleH2 = {
    .name = "zb2p",
    .summary = "ZB-H2: no bubble when F, I and W take equal times, with twice the memory of 1F1B",
    .needs = "1 chunk; 2p-1 micro-batches to be without a bubble",
    .splits_backward = true,
    .bypasses_optimizer = true,
    .refuse = Refuse,
    .order = Order,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
