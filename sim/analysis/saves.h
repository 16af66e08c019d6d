// Saves: when the checkpoints of a run were copied and written, and how long
// they held up training.

#ifndef SIM_ANALYSIS_SAVES_H_
#define SIM_ANALYSIS_SAVES_H_

#include <cstdint>
#include <vector>

#include "sim/analysis/intervals.h"
#include "sim/analysis/predecessors.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

// One checkpoint over all ranks. Copies are the seats of TaskClass::kCheckpoint
// on copy-out streams, writes those on host streams that move bytes; the label
// has the save's number.
struct Save {
  Interval copy, write;  // from the first begin to the last end
  // Longest over ranks, ties to the lowest. Blocked: the compute stream would
  // have gone on, and waits for this save. Stall: the part of it in which the
  // copy had not begun, because staging was full.
  Duration blocked, stall;
  Rank blocked_rank, stalled_rank;
  Time stalled_since;
};

// By number. REQUIRES: predecessors are of this program; a save that blocks a
// rank has a task on its compute stream among its successors
std::vector<Save> FindSaves(const Program& program, const Timeline& timeline,
                            const Predecessors& predecessors);

}  // namespace sim

#endif  // SIM_ANALYSIS_SAVES_H_
