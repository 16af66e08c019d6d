// The oracle for pipeline schedules: plays the orders of all stages step by
// step, with free communication, knowing nothing of how they were made.

#ifndef TESTS_SIM_SCHEDULE_PLAY_SCHEDULE_H_
#define TESTS_SIM_SCHEDULE_PLAY_SCHEDULE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/pipeline_schedule.h"

namespace sim {

struct PlayedSchedule {
  std::optional<std::int64_t> makespan;  // nothing = the stages wait for each other for ever
  std::vector<std::uint32_t> in_flight;  // per stage: forwards done or begun, backward not ended, at most
  std::vector<std::int64_t> idle;        // per stage, over the makespan
};

// F of piece k needs F of piece k-1; B of piece k needs B of piece k+1 and its
// own F. Piece = chunk * stages + stage. `forward` and `backward` are the times
// of one chunk, in any unit.
inline PlayedSchedule PlaySchedule(const PipelineSchedule& schedule, const PipelineShape& shape,
                                   std::int64_t forward, std::int64_t backward) {
  const std::uint32_t pieces = shape.stages * shape.chunks;
  const std::size_t cells = std::size_t{pieces} * shape.microbatches;
  std::vector<std::int64_t> end_f(cells, -1), end_b(cells, -1);  // -1 = not done
  const auto cell = [&](std::uint32_t piece, std::uint32_t microbatch) {
    return std::size_t{piece} * shape.microbatches + microbatch;
  };
  std::vector<std::vector<PipelineStep>> order;
  for (std::uint32_t s = 0; s < shape.stages; ++s) order.push_back(schedule.order(shape, s));
  std::vector<std::size_t> next(shape.stages, 0);
  std::vector<std::int64_t> free_at(shape.stages, 0);
  std::vector<std::uint32_t> held(shape.stages, 0);
  PlayedSchedule played{.makespan = {}, .in_flight = held, .idle = free_at};

  // When the step may start, or -1 if what it needs is not done.
  const auto ready = [&](const PipelineStep& step, std::uint32_t piece) -> std::int64_t {
    if (step.kind == PipelineStep::Kind::kForward) {
      return piece == 0 ? 0 : end_f[cell(piece - 1, step.microbatch)];
    }
    const std::int64_t own = end_f[cell(piece, step.microbatch)];
    if (piece == pieces - 1 || own < 0) return own;
    const std::int64_t gradient = end_b[cell(piece + 1, step.microbatch)];
    return gradient < 0 ? -1 : std::max(own, gradient);
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      for (; next[s] < order[s].size(); ++next[s]) {
        const PipelineStep& step = order[s][next[s]];
        const std::uint32_t piece = step.chunk * shape.stages + s;
        const std::int64_t at = ready(step, piece);
        if (at < 0) break;
        const bool is_forward = step.kind == PipelineStep::Kind::kForward;
        const std::int64_t start = std::max(at, free_at[s]);
        free_at[s] = start + (is_forward ? forward : backward);
        (is_forward ? end_f : end_b)[cell(piece, step.microbatch)] = free_at[s];
        if (is_forward) played.in_flight[s] = std::max(played.in_flight[s], ++held[s]);
        if (!is_forward) --held[s];
        moved = true;
      }
    }
  }
  std::int64_t makespan = 0;
  for (std::uint32_t s = 0; s < shape.stages; ++s) {
    if (next[s] < order[s].size()) return played;
    makespan = std::max(makespan, free_at[s]);
  }
  played.makespan = makespan;
  const std::int64_t work = std::int64_t{shape.microbatches} * shape.chunks * (forward + backward);
  for (std::int64_t& idle : played.idle) idle = makespan - work;
  return played;
}

}  // namespace sim

#endif  // TESTS_SIM_SCHEDULE_PLAY_SCHEDULE_H_
