#include "sim/analysis/predecessors.h"

#include <numeric>

namespace sim {

Predecessors FindPredecessors(const Program& program) {
  Predecessors result;
  result.first.assign(program.rows.size() + 1, 0);
  for (std::size_t r = 0; r < program.rows.size(); ++r) result.first[r + 1] = program.rows[r].waits_for;
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  result.row.resize(result.first.back());

  std::vector<std::uint32_t> at(result.first.begin(), result.first.end() - 1);
  for (const Script& script : program.scripts) {
    const auto add = [&](std::uint32_t earlier, std::uint32_t later) {
      result.row[at[script.first_row + later]++] = earlier;
    };
    for (std::uint32_t r = 0; r < script.rows; ++r) {
      const TaskRow& row = program.rows[script.first_row + r];
      if (row.next != kNoRow) add(r, row.next);
    }
    for (std::uint32_t r = 0; r < script.rows; ++r) {
      const TaskRow& row = program.rows[script.first_row + r];
      for (std::uint32_t i = 0; i < row.successors; ++i) add(r, program.successor[row.first_successor + i]);
    }
  }
  return result;
}

TaskId LatestPredecessor(const Program& program, const Timeline& timeline, const Predecessors& predecessors,
                         TaskId task) {
  const Place at = program.PlaceOf(task);
  const std::size_t row = at.script->first_row + at.row;
  TaskId latest = TaskId::None();
  Time latest_end;
  TaskKind latest_kind = TaskKind::kMark;
  for (std::uint32_t i = predecessors.first[row]; i < predecessors.first[row + 1]; ++i) {
    const Place place{at.script, predecessors.row[i], at.player};
    const TaskId earlier = place.task();
    const Time end = timeline.end[earlier.pos()];
    const TaskKind kind = program.row(place).kind;
    const bool decides = end != latest_end ? end > latest_end : kind < latest_kind;
    if (latest.valid() && !decides) continue;
    latest = earlier;
    latest_end = end;
    latest_kind = kind;
  }
  return latest;
}

}  // namespace sim
