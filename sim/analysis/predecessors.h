// Predecessors: what each task waits for: the dependencies of a program turned
// around, and the question that readers ask of them.

#ifndef SIM_ANALYSIS_PREDECESSORS_H_
#define SIM_ANALYSIS_PREDECESSORS_H_

#include <cstdint>
#include <vector>

#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

// By row of the scripts, for players share them too. Build it once for all questions.
struct Predecessors {
  std::vector<std::uint32_t> first;  // by Program::rows, one entry more
  // Rows of the same script: the one ahead in the stream first, then dependencies in order.
  std::vector<std::uint32_t> row;
};
Predecessors FindPredecessors(const Program& program);

// The predecessor that ended last, which is what decided when `task` started.
// Of several that ended together, work comes before a seat and a seat before a
// mark, so that communication that is just hidden is not blamed; then the
// first of the list. None when the task waits for nothing.
TaskId LatestPredecessor(const Program& program, const Timeline& timeline, const Predecessors& predecessors,
                         TaskId task);

}  // namespace sim

#endif  // SIM_ANALYSIS_PREDECESSORS_H_
