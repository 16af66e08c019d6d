// Slow-down: how much longer a rank's work took than it would have alone.

#ifndef SIM_ANALYSIS_SLOW_DOWN_H_
#define SIM_ANALYSIS_SLOW_DOWN_H_

#include <array>

#include "sim/analysis/intervals.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

// Of a piece of work that ran from all.from to all.to, by how much communication that took SMs or memory
// stretched `part` of it: its share of the whole stretch, rounded down.
// REQUIRES: `task` is work; `part` lies in `all`
Duration StretchOf(const Program& program, TaskId task, Interval all, Interval part);

// Of the work on the compute streams of one rank in a window, by TaskClass.
std::array<Duration, kTaskClasses> SlowDownOf(const Program& program, const Timeline& timeline, Rank rank,
                                              Interval window);

}  // namespace sim

#endif  // SIM_ANALYSIS_SLOW_DOWN_H_
