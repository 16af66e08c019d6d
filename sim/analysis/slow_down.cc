#include "sim/analysis/slow_down.h"

namespace sim {

Duration StretchOf(const Program& program, TaskId task, Interval all, Interval part) {
  const Duration alone = program.times_of(task).alone;
  if (all.length() <= alone) return {};
  const Wide stretch = (all.length() - alone).ps();
  return Duration::Picoseconds(static_cast<std::int64_t>(stretch * part.length().ps() / all.length().ps()));
}

std::array<Duration, kTaskClasses> SlowDownOf(const Program& program, const Timeline& timeline, Rank rank,
                                              Interval window) {
  std::array<Duration, kTaskClasses> slowed{};
  for (std::size_t s = 0; s < program.stream_rank.size(); ++s) {
    if (program.stream_rank[s] != rank || program.stream_kind[s] != StreamKind::kCompute) continue;
    for (TaskId task = program.stream_head[s]; task.valid(); task = program.next_in_stream(task)) {
      if (program.row(task).kind != TaskKind::kWork) continue;
      const Interval all{timeline.start[task.pos()], timeline.end[task.pos()]};
      const Interval part = Clip(all, window);
      if (part.empty()) continue;
      slowed[static_cast<std::size_t>(program.row(task).task_class)] += StretchOf(program, task, all, part);
    }
  }
  return slowed;
}

}  // namespace sim
