// V-Min: chunks in a V that come back at once, a third of the memory of 1F1B for
// two thirds of its bubble. Unequal F, I and W cost a little in every micro-batch.
//
// Source: as in v_half.cc; stable_pattern_v_min.

#include <algorithm>

#include "sim/schedule/building_block.h"
#include "sim/schedule/schedules.h"

namespace sim {
namespace {

std::optional<Error> Refuse(const PipelineShape& shape) { return RefuseBlock(shape, "vmin"); }

// One slot a stage down and up again. If 3 divides p the backward starts two
// slots later, else two steps collide.
std::vector<std::vector<PipelineStep>> Orders(const PipelineShape& shape) {
  CHECK(!Refuse(shape));
  const std::uint32_t p = shape.stages, gap = p % 3 == 0 ? 2 : 0;
  BuildingBlock block;
  for (std::uint32_t s = 0; s < p; ++s) {
    block.push_back({s, 2 * p - s - 1, 2 * p + gap + s, 4 * p + gap - s - 1});
  }
  return RepeatBlock(block, shape.microbatches);
}

std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return std::move(Orders(shape)[stage]);
}

// floor((p+4)/3) micro-batches of two chunks each.
std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return 2 * std::min((shape.stages + 4) / 3, shape.microbatches);
}

// For equal times, from p micro-batches on: 4(p-1), two thirds of 1F1B's 6(p-1)
// chunk times, less the 1 or, if 3 divides p, 2 that the ends leave to gain.
std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  if (times.forward != times.backward_input || times.forward != times.backward_weight) return std::nullopt;
  const std::int64_t p = shape.stages;
  if (p < 4 || shape.microbatches < p) return std::nullopt;
  return (4 * (p - 1) - (p % 3 == 0 ? 2 : 1)) * times.forward;
}

}  // namespace

const PipelineSchedule kVMin = {
    .name = "vmin",
    .summary = "V-Min: chunks in a V; a third of 1F1B's memory, two thirds of its bubble if F = I = W",
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
