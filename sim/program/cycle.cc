#include "sim/program/cycle.h"

#include <span>
#include <string>
#include <vector>

namespace sim {

// Kahn's algorithm over streams and dependencies. What it cannot order waits
// in a cycle (or behind one): walk backwards from there until a row repeats.
// Nothing waits for another script's tasks, so one player stands for all.
std::optional<Error> FindCycle(const Program& program, const Script& script) {
  const std::span rows = std::span(program.rows).subspan(script.first_row, script.rows);
  const auto for_each_later = [&](const TaskRow& row, auto&& f) {
    if (row.next != kNoRow) f(row.next);
    for (std::uint32_t i = 0; i < row.successors; ++i) f(program.successor[row.first_successor + i]);
  };
  std::vector<std::uint32_t> waits, ready;
  for (const TaskRow& row : rows) {
    if (row.waits_for == 0) ready.push_back(static_cast<std::uint32_t>(waits.size()));
    waits.push_back(row.waits_for);
  }
  std::size_t ordered = 0;
  while (!ready.empty()) {
    const std::uint32_t row = ready.back();
    ready.pop_back();
    ++ordered;
    for_each_later(rows[row], [&](std::uint32_t later) {
      if (--waits[later] == 0) ready.push_back(later);
    });
  }
  if (ordered == rows.size()) return std::nullopt;

  std::vector<std::uint32_t> blocker(rows.size(), kNoRow);  // some unordered row that each one waits for
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    if (waits[row] == 0) continue;
    for_each_later(rows[row], [&](std::uint32_t later) {
      if (waits[later] > 0) blocker[later] = row;
    });
  }
  std::uint32_t at = 0;
  while (waits[at] == 0) ++at;
  std::vector<bool> seen(rows.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    at = blocker[at];
  }
  std::string text = "tasks wait for each other in a cycle:";
  const std::uint32_t first = at;
  int named = 0;
  do {
    const Place place{&script, at, 0};
    text += (named == 0 ? " rank " : " <- rank ") + std::to_string(program.rank_of(place).value()) + " " +
            program.NameOf(place.task());
    at = blocker[at];
  } while (at != first && ++named < 8);
  return Error{text};
}

}  // namespace sim
