// StepTimes: where a run's steps end, and how long one takes.

#ifndef SIM_ANALYSIS_STEP_H_
#define SIM_ANALYSIS_STEP_H_

#include <cstdint>
#include <vector>

#include "sim/analysis/intervals.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

// A step ends when its last rank ends it (TaskClass::kStepEnd, one mark a rank
// and step). The period of step k is end(k) - end(k-1); the step time of a run
// is its last period: what a step costs once steps follow each other, unlike
// first start to last end, which also counts filling and draining.
struct StepTimes {
  std::vector<Time> end;       // by step
  std::vector<Time> rank_end;  // by rank: when it ended the last step
  // [end(k-1), end(k)) of the last step k; of a single step, its start to its end.
  Interval period;
  // The last two periods are equal. Never true of fewer than three steps.
  bool steady = false;

  Duration step_time() const { return period.length(); }

  // The stretch of one step time that ends when `rank` ends its last step. In a
  // steady run that is exactly the rank's own last step, also when it ends
  // before others do; `period` would show such a rank idle at its end, though
  // in any step but the last it goes straight on. In other runs, `period`.
  Interval WindowOf(Rank rank) const;
};

// Ends of the steps that all ranks have ended, in order: those before the first
// that some rank has not. For runs that were stopped.
std::vector<Time> EndedSteps(const Program& program, const Timeline& timeline);

// A program without marks is one step. With `last` the steps after it are left
// out, as if the run had ended there: what the job does before something that
// disturbs it. REQUIRES: steps are numbered from 0 on, each with at least one
// mark; `last` is one of them
StepTimes FindSteps(const Program& program, const Timeline& timeline, std::size_t last = SIZE_MAX);

}  // namespace sim

#endif  // SIM_ANALYSIS_STEP_H_
