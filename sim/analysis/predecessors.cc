#include "sim/analysis/predecessors.h"

#include <numeric>

namespace sim {

Predecessors FindPredecessors(const Program& program) {
  Predecessors result;
  result.first.assign(program.tasks() + 1, 0);
  for (std::size_t t = 0; t < program.tasks(); ++t) result.first[t + 1] = program.waits_for[t];
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  result.task.resize(result.first.back());

  std::vector<std::uint32_t> at(result.first.begin(), result.first.end() - 1);
  const auto add = [&](TaskId earlier, TaskId later) { result.task[at[later.pos()]++] = earlier; };
  for (std::size_t t = 0; t < program.tasks(); ++t) {
    if (program.next_in_stream[t].valid()) add(TaskId(t), program.next_in_stream[t]);
  }
  for (std::size_t t = 0; t < program.tasks(); ++t) {
    for (const TaskId later : program.successors_of(TaskId(t))) add(TaskId(t), later);
  }
  return result;
}

TaskId LatestPredecessor(const Program& program, const Timeline& timeline, const Predecessors& predecessors,
                         TaskId task) {
  TaskId latest = TaskId::None();
  const auto decides = [&](TaskId a, TaskId b) {
    const Time a_end = timeline.end[a.pos()], b_end = timeline.end[b.pos()];
    return a_end != b_end ? a_end > b_end : program.kind[a.pos()] < program.kind[b.pos()];
  };
  for (const TaskId p : predecessors.of(task)) {
    if (!latest.valid() || decides(p, latest)) latest = p;
  }
  return latest;
}

}  // namespace sim
