// Slack: how much longer a task could take before the step gets longer; the total float of project planning.
//
// Source: Kelley and Walker, "Critical-path planning and scheduling", Eastern Joint Computer Conference 1959.

#ifndef SIM_ANALYSIS_SLACK_H_
#define SIM_ANALYSIS_SLACK_H_

#include <vector>

#include "sim/analysis/predecessors.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

// Of a task that nothing by the horizon waits for.
inline constexpr Duration kNoLimit = Duration::Max();

struct Slack {
  std::vector<Time> latest_end;    // by TaskId: the horizon is met if it ends then; Time::Never() = no limit
  std::vector<Time> latest_begin;  // by CommunicationId; likewise

  // How much longer it may take. A seat stands for its communication.
  Duration of(const Timeline& timeline, TaskId task) const {
    const Time latest = latest_end[task.pos()];
    return latest == Time::Never() ? kNoLimit : latest - timeline.end[task.pos()];
  }
};

// Walks back from the horizon: marks of steps that ended by then may not end later (in a program without
// marks, no task that did), and so on over what each task waited for, with every task as long as it was
// played. Seats of one communication end together and begin together, so the tightest one counts.
//
// Each task's slack is its own: two on one chain share theirs. Exact where durations do not depend on when
// tasks run; a task that moves to where it shares links or SMs with others, or leaves them alone, may change
// them, and then a step can grow before the slack is used up, or later.
//
// REQUIRES: Simulate made the timeline and ran to its end; predecessors are of this program
Slack SlackOf(const Program& program, const Timeline& timeline, const Predecessors& predecessors,
              Time horizon);

}  // namespace sim

#endif  // SIM_ANALYSIS_SLACK_H_
