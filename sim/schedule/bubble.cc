#include "sim/schedule/bubble.h"

namespace sim {
namespace {

// Time with work, in times of a forward and backward of one chunk, or one part of a sequence.
std::int64_t Work(const PipelineShape& shape) {
  CHECK(shape.stages > 0 && shape.microbatches > 0 && shape.chunks > 0);
  return std::int64_t{shape.microbatches} * shape.chunks * shape.parts;
}

}  // namespace

BubbleShare BubbleOfIdeal(const PipelineShape& shape) {
  const std::int64_t work = Work(shape);
  return {std::int64_t{shape.stages} - 1, work};
}

BubbleShare BubbleOfTotal(const PipelineShape& shape) {
  const std::int64_t idle = std::int64_t{shape.stages} - 1;
  return {idle, Work(shape) + idle};
}

Duration OneForwardOneBackwardBubble(std::uint32_t stages, Duration forward, Duration backward) {
  CHECK(stages > 0);
  return (std::int64_t{stages} - 1) * (forward + backward);
}

Duration ZeroBubble1PBubble(std::uint32_t stages, Duration forward, Duration backward, Duration weight) {
  CHECK(stages > 0);
  return (std::int64_t{stages} - 1) * (forward + backward - 2 * weight);
}

Duration ZeroBubble2PBubble(std::uint32_t stages, Duration forward, Duration backward, Duration weight) {
  CHECK(stages > 0);
  return (std::int64_t{stages} - 1) * (forward + backward - 3 * weight);
}

Duration DualPipeBubble(std::uint32_t stages, Duration overlapped, Duration backward, Duration weight) {
  CHECK(stages > 0 && stages % 2 == 0);
  return (std::int64_t{stages} / 2 - 1) * (overlapped + backward - 3 * weight);
}

}  // namespace sim
