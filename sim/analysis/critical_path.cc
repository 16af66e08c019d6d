#include "sim/analysis/critical_path.h"

#include <algorithm>

#include "sim/analysis/slow_down.h"

namespace sim {
namespace {

// The task that ends the period: a mark of the step's end, or in a program
// without marks any task; of equals the lowest id.
TaskId LastTask(const Program& program, const Timeline& timeline, Time end) {
  TaskId last = TaskId::None();
  for (std::size_t t = 0; t < program.tasks(); ++t) {
    if (timeline.end[t] != end) continue;
    if (program.row(TaskId(t)).task_class == TaskClass::kStepEnd) return TaskId(t);
    if (!last.valid()) last = TaskId(t);
  }
  CHECK(last.valid());
  return last;
}

TaskId LastSeat(const Program& program, const Timeline& timeline, CommunicationId communication) {
  TaskId last = TaskId::None();
  for (const TaskId seat : program.seats_of(communication)) {
    if (!last.valid() || timeline.start[seat.pos()] > timeline.start[last.pos()]) last = seat;
  }
  return last;
}

void AddWork(const Program& program, TaskId task, Interval all, Interval part, CriticalPath& path) {
  const auto task_class = static_cast<std::size_t>(program.row(task).task_class);
  path.work[task_class] += part.length();
  path.slowed += StretchOf(program, task, all, part);
}

void AddTraffic(const Program& program, TaskId seat, Interval all, Interval part, CriticalPath& path) {
  const auto task_class = static_cast<std::size_t>(program.row(seat).task_class);
  const Communication& communication = program.communications[program.communication_of(seat).pos()];
  const Time moving = all.from + program.traffics[communication.traffic.pos()].latency;
  const Duration latency = Clip({all.from, moving}, part).length();
  path.latency[task_class] += latency;
  path.transfer[task_class] += part.length() - latency;
}

}  // namespace

Duration CriticalPath::total() const {
  Duration sum;
  for (const auto* table : {&work, &latency, &transfer}) {
    for (const Duration d : *table) sum += d;
  }
  return sum;
}

CriticalPath CriticalPathOf(const Program& program, const Timeline& timeline,
                            const Predecessors& predecessors, Interval period) {
  CriticalPath path;
  Time at = period.to;  // everything from here on is explained
  TaskId task = LastTask(program, timeline, period.to);
  while (at > period.from) {
    CHECK(task.valid() && timeline.end[task.pos()] == at);
    Interval all = {timeline.start[task.pos()], at};
    const bool is_seat = program.row(task).kind == TaskKind::kSeat;
    if (is_seat) {
      const CommunicationId communication = program.communication_of(task);
      all.from = timeline.begin[communication.pos()];
      const TaskId last = LastSeat(program, timeline, communication);
      CHECK(timeline.start[last.pos()] == all.from);
      // The piece is told where the communication was waited for; the path goes
      // on where it was held up.
      if (!all.empty()) path.pieces.push_back({task, Clip(all, period)});
      if (!all.empty()) AddTraffic(program, task, all, path.pieces.back().time, path);
      task = last;
    } else if (!all.empty()) {
      path.pieces.push_back({task, Clip(all, period)});
      AddWork(program, task, all, path.pieces.back().time, path);
    }
    at = std::max(all.from, period.from);
    task = LatestPredecessor(program, timeline, predecessors, task);
  }
  std::reverse(path.pieces.begin(), path.pieces.end());
  return path;
}

}  // namespace sim
