// V-Half: chunks in a V whose arms are as far apart as half the memory of 1F1B
// allows; about half of its bubble.
//
// Source: Qi et al., "Pipeline parallelism with controllable memory", NeurIPS
// 2024, section 4; the slots are those of sail-sg/zero-bubble-pipeline-
// parallelism, megatron/core/pipeline_parallel/zerobubble/scheduler/
// zbv_greedy.py, stable_pattern_v_half.

#include <algorithm>

#include "sim/schedule/building_block.h"
#include "sim/schedule/schedules.h"

namespace sim {

namespace {

std::optional<Error> Refuse(const PipelineShape& shape) { return RefuseBlock(shape, "vhalf"); }

// Chunk 0 goes down at two slots a stage, chunk 1 comes back at one. For an even
// number of stages the backward starts three slots later, else two steps collide.
std::vector<std::vector<PipelineStep>> Orders(const PipelineShape& shape) {
  CHECK(!Refuse(shape));
  const std::uint32_t p = shape.stages, gap = p % 2 == 0 ? 3 : 0;
  BuildingBlock block;
  for (std::uint32_t s = 0; s < p; ++s) {
    block.push_back({2 * s, 3 * p - s - 2, 3 * p + gap + 2 * s - 1, 6 * p + gap - s - 2});
  }
  return RepeatBlock(block, shape.microbatches);
}

std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return std::move(Orders(shape)[stage]);
}

// floor((p+2)/2) micro-batches of two chunks each.
std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return 2 * std::min((shape.stages + 2) / 2, shape.microbatches);
}

// For equal times, from p micro-batches on: 3(p-1), half of 1F1B's 6(p-1) chunk
// times, less what the slots of the warm-up and the end leave to gain: 1 for odd
// p, 4 for even p. (The paper says about p/2 of 3 F; this is counted on the order.)
std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  if (times.forward != times.backward_input || times.forward != times.backward_weight) return std::nullopt;
  const std::int64_t p = shape.stages;
  if (p < 3 || shape.microbatches < p) return std::nullopt;
  return (3 * (p - 1) - (p % 2 == 0 ? 4 : 1)) * times.forward;
}

}  // namespace

const PipelineSchedule kVHalf = {
    .name = "vhalf",
    .summary = "V-Half: chunks in a V; half of the bubble and of the memory of 1F1B",
    .needs = "2 chunks",
    .placement = Placement::kVee,
    .chunks = 2,
    .splits_backward = true,
    .in_flight_is_the_most = true,
    .refuse = Refuse,
    .order = Order,
    .orders = Orders,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
