// Sequence 1F1B: a micro-batch passes the pipeline in parts of its sequence, so
// that the warm-up, the bubble and the activations in flight shrink by their number.
//
// Source: Sun et al., "Seq1F1B: Efficient sequence-level pipeline parallelism
// for large language model training", 2024, section 3; the warm-up as in
// sail-sg/zero-bubble-pipeline-parallelism, scheduler/seq1f1b.py.

#include <algorithm>
#include <string>

#include "sim/schedule/bubble.h"
#include "sim/schedule/schedules.h"

namespace sim {
namespace {

std::optional<Error> Refuse(const PipelineShape& shape) {
  if (std::optional<Error> error = RefuseSize(shape)) return error;
  if (shape.chunks > 1) {
    return Error{"seq1f1b: " + std::to_string(shape.chunks) +
                 " chunks a stage; 1, or schedule \"interleaved\""};
  }
  if (shape.group_size != 0) {
    return Error{"seq1f1b: group size " + std::to_string(shape.group_size) +
                 "; only schedule \"interleaved\" has groups"};
  }
  if (shape.parts < 2) {
    return Error{"seq1f1b: a sequence in 1 part is not cut; 2 or more, or schedule \"1f1b\""};
  }
  return RefuseJoined(shape, "seq1f1b");
}

// Stage s needs p-1-s parts to cover the way to the last stage, as under 1F1B,
// and k-1 more: the first part to come back is the last of its sequence.
std::uint32_t Warmup(const PipelineShape& shape, std::uint32_t stage) {
  return std::min(shape.stages - 1 - stage + shape.parts - 1, shape.microbatches * shape.parts);
}

// Forwards take the parts in order; backwards in reverse, since a token's keys
// and values gather gradients from all tokens after it.
std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  const std::uint32_t k = shape.parts, all = shape.microbatches * k, warmup = Warmup(shape, stage);
  std::vector<PipelineStep> steps;
  steps.reserve(std::size_t{2} * all);
  const auto forward = [&](std::uint32_t i) {
    steps.push_back({PipelineStep::Kind::kForward, i / k, 0, i % k});
  };
  const auto backward = [&](std::uint32_t i) {
    steps.push_back({PipelineStep::Kind::kBackward, i / k, 0, k - 1 - i % k});
  };
  for (std::uint32_t i = 0; i < warmup; ++i) forward(i);
  for (std::uint32_t i = warmup; i < all; ++i) {
    forward(i);
    backward(i - warmup);
  }
  for (std::uint32_t i = all - warmup; i < all; ++i) backward(i);
  return steps;
}

std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return std::min(Warmup(shape, stage) + 1, shape.microbatches * shape.parts);
}

// (p-1)(f+b) in times of one part.
std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  return OneForwardOneBackwardBubble(shape.stages, times.forward, times.backward());
}

}  // namespace

const PipelineSchedule kSequence = {
    .name = "seq1f1b",
    .summary = "1F1B over parts of each sequence: bubble and activations shrink by their number",
    .needs = "1 chunk, 2 or more parts",
    .parts = 2,
    .refuse = Refuse,
    .order = Order,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
