// The slow version of PlayOrder: every start is pushed up until nothing that a
// step waits for ends later. Finds its own way from piece to piece.

#ifndef TESTS_SIM_SCHEDULE_RELAX_ORDER_H_
#define TESTS_SIM_SCHEDULE_RELAX_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/schedule/play_order.h"

namespace sim {

// Start and end of every step in ps. The order must be one that comes to an end.
inline std::vector<std::vector<StepSpan>> RelaxOrder(const PipelineOrder& order, const PassTimes& times) {
  struct Timed {
    std::size_t stage;
    PipelineStep step;
    std::uint32_t piece;
    std::int64_t start, length;
  };
  using Kind = PipelineStep::Kind;
  const auto backward = [](const Timed& t) {
    return t.step.kind == Kind::kBackward || t.step.kind == Kind::kBackwardInput;
  };
  std::vector<std::vector<Timed>> all(order.stages.size());
  for (std::size_t s = 0; s < order.stages.size(); ++s) {
    for (const PipelineStep& step : order.stages[s]) {
      const std::int64_t f = times.forward.ps(), b = times.backward_input.ps(),
                         w = times.backward_weight.ps();
      const bool second = !all[s].empty() && all[s].back().step.joined;
      std::int64_t length = step.kind == Kind::kForward         ? f
                            : step.kind == Kind::kBackward      ? b + w
                            : step.kind == Kind::kBackwardInput ? b
                                                                : w;
      if (step.joined || second) length = times.joined.ps();
      const auto p = static_cast<std::uint32_t>(order.stages.size()), at = static_cast<std::uint32_t>(s);
      const std::uint32_t along =
          order.placement != Placement::kLoop && step.chunk % 2 == 1 ? p - 1 - at : at;
      const std::uint32_t piece = (order.placement == Placement::kBothEnds ? 0 : step.chunk * p) + along;
      all[s].push_back({s, step, piece, 0, length});
    }
  }
  const auto waits_for = [&](const Timed& a, const Timed& b) {
    if (a.step.microbatch != b.step.microbatch) return false;
    const auto same = [&](std::uint32_t piece, std::uint32_t part) {
      return b.piece == piece && b.step.part == part;
    };
    if (a.step.kind == Kind::kForward) {
      return b.step.kind == Kind::kForward &&
             (same(a.piece - 1, a.step.part) || same(a.piece, a.step.part - 1));
    }
    if (a.step.kind == Kind::kBackwardWeight)
      return b.step.kind == Kind::kBackwardInput && same(a.piece, a.step.part);
    if (b.step.kind == Kind::kForward) return same(a.piece, a.step.part);
    return backward(b) && (same(a.piece + 1, a.step.part) || same(a.piece, a.step.part + 1));
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& stage : all) {
      for (std::size_t i = 0; i < stage.size(); ++i) {
        const bool second = i > 0 && stage[i - 1].step.joined;
        std::int64_t start = stage[i].start;
        if (second) start = std::max(start, stage[i - 1].start);
        if (!second && i > 0) start = std::max(start, stage[i - 1].start + stage[i - 1].length);
        for (const auto& other : all) {
          for (const Timed& t : other) {
            if (waits_for(stage[i], t)) start = std::max(start, t.start + t.length);
          }
        }
        moved |= start > stage[i].start;
        stage[i].start = start;
        if (second) stage[i - 1].start = std::max(stage[i - 1].start, start);
      }
    }
  }
  std::vector<std::vector<StepSpan>> spans;
  for (const auto& stage : all) {
    spans.emplace_back();
    for (const Timed& t : stage) {
      spans.back().push_back({Duration::Picoseconds(t.start), Duration::Picoseconds(t.start + t.length)});
    }
  }
  return spans;
}

}  // namespace sim

#endif  // TESTS_SIM_SCHEDULE_RELAX_ORDER_H_
