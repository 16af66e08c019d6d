// CriticalPath: the chain of tasks, across ranks, that made the step as long as
// it is. Shorten something off the path and the step stays as long.

#ifndef SIM_ANALYSIS_CRITICAL_PATH_H_
#define SIM_ANALYSIS_CRITICAL_PATH_H_

#include <array>
#include <vector>

#include "sim/analysis/intervals.h"
#include "sim/analysis/predecessors.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

struct CriticalPath {
  // The path's pieces in order of time; each starts where the last one ended.
  // A seat stands for its communication in flight, on the rank of the seat.
  struct Piece {
    TaskId task;
    Interval time;
  };
  std::vector<Piece> pieces;

  // By TaskClass. Together they are the period, exact in picoseconds.
  std::array<Duration, kTaskClasses> work;      // running
  std::array<Duration, kTaskClasses> latency;   // communication: launch, hops
  std::array<Duration, kTaskClasses> transfer;  // communication: bytes on links
  // Part of `work`: by how much communication that held SMs stretched it.
  Duration slowed;

  Duration total() const;
};

// Walks back from the last end in the period: a task started when the last of
// its predecessors ended; a communication began when its last seat arrived.
// REQUIRES: Simulate made the timeline, so the chain has no hole; some task
// ends at period.to; predecessors are of this program
CriticalPath CriticalPathOf(const Program& program, const Timeline& timeline,
                            const Predecessors& predecessors, Interval period);

}  // namespace sim

#endif  // SIM_ANALYSIS_CRITICAL_PATH_H_
