#include "sim/schedule/play_order.h"

#include <algorithm>

namespace sim {
namespace {

constexpr Duration kNotDone = Duration::Max();

// When each forward and gradient is there.
class Results {
 public:
  explicit Results(const PipelineOrder& order)
      : microbatches_(order.shape.microbatches),
        parts_(order.shape.parts),
        at_(std::size_t{2} * PieceCount(order.placement, order.shape) * microbatches_ * parts_, kNotDone) {}

  Duration& operator[](const StepNeed& need) {
    std::size_t i = std::size_t{2} * need.piece + (need.gradient ? 1 : 0);
    i = i * microbatches_ + need.microbatch;
    return at_[i * parts_ + need.part];
  }

 private:
  std::size_t microbatches_, parts_;
  std::vector<Duration> at_;
};

Duration LengthOf(const PipelineStep& step, const PassTimes& times) {
  if (step.joined) return times.joined;
  switch (step.kind) {
    case PipelineStep::Kind::kForward:
      return times.forward;
    case PipelineStep::Kind::kBackward:
      return times.backward();
    case PipelineStep::Kind::kBackwardInput:
      return times.backward_input;
    case PipelineStep::Kind::kBackwardWeight:
      return times.backward_weight;
  }
  return {};
}

// Runs as much of a stage as can run. Whether that was anything.
bool Advance(const PipelineOrder& order, const PassTimes& times, std::uint32_t stage, Results* results,
             PlayedOrder* played) {
  const std::vector<PipelineStep>& steps = order.stages[stage];
  std::vector<StepSpan>& spans = played->spans[stage];
  const std::size_t before = spans.size();
  while (spans.size() < steps.size()) {
    const std::size_t first = spans.size();
    const std::size_t together = steps[first].joined && first + 1 < steps.size() ? 2 : 1;
    Duration start = first == 0 ? Duration() : spans.back().end;
    for (std::size_t i = first; i < first + together; ++i) {
      for (const StepNeed& need : NeedsOf(order, stage, steps[i])) start = std::max(start, (*results)[need]);
    }
    if (start == kNotDone) break;
    const Duration length = LengthOf(steps[first], times);
    for (std::size_t i = first; i < first + together; ++i) {
      spans.push_back({start, start + length});
      if (const auto made = MadeBy(order, stage, steps[i])) (*results)[*made] = start + length;
    }
    played->work[stage] += length;
  }
  return spans.size() > before;
}

}  // namespace

Duration PlayedOrder::IdleWithin(std::size_t stage) const {
  if (spans[stage].empty()) return {};
  return spans[stage].back().end - spans[stage].front().start - work[stage];
}

PlayedOrder PlayOrder(const PipelineOrder& order, const PassTimes& times) {
  PlayedOrder played;
  played.spans.resize(order.stages.size());
  played.work.resize(order.stages.size());
  Results results(order);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t stage = 0; stage < order.stages.size(); ++stage) {
      moved |= Advance(order, times, stage, &results, &played);
    }
  }
  played.finished = true;
  for (std::size_t stage = 0; stage < order.stages.size(); ++stage) {
    played.finished &= played.spans[stage].size() == order.stages[stage].size();
    if (!played.spans[stage].empty()) played.length = std::max(played.length, played.spans[stage].back().end);
  }
  return played;
}

Duration BubbleOf(const PlayedOrder& played, bool bypasses_optimizer) {
  CHECK(played.finished);
  Duration most;
  for (std::size_t stage = 0; stage < played.work.size(); ++stage) {
    most = std::max(most, bypasses_optimizer ? played.IdleWithin(stage) : played.Idle(stage));
  }
  return most;
}

}  // namespace sim
