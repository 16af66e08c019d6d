// Sensitivity: how the step time follows a parameter, read from the critical path.

#ifndef SCENARIOS_EXPLAIN_SENSITIVITY_H_
#define SCENARIOS_EXPLAIN_SENSITIVITY_H_

#include <array>
#include <optional>
#include <vector>

#include "scenarios/explain/path_causes.h"
#include "scenarios/run.h"

namespace scenarios {

// d(step) / d(ln parameter), in seconds: what the step changes by where the parameter changes by a per cent,
// a hundred times. Rates have negative ones. By Parameter.
//
// Each piece of the path changes by itself: kernels by the cost model's own slopes; latencies in proportion;
// bytes with the links that bound them alone, what shares links with them as much; launches in proportion.
// What communication adds to work beside it lasts as long as the communication does, so its part of a piece
// changes as those that overlap the piece do; where it takes memory, also with the memory's rate.
//
// Leaves out: that the path may become another one; how long partners are waited for; links on which
// communications overlap for part of their time only; rates of hosts.
using Slopes = std::array<double, kParameters>;
Slopes SlopesOf(const PathView& view);
// Of the step that `period` is: those of the path to its end, less those of the path to its start. Where
// steps follow each other steadily that is the path through the step.
Slopes SlopesOfStep(PathView view, const sim::Predecessors& predecessors, sim::Interval period);

// The step when the job is played again with the parameter `factor` times as large.
struct Replayed {
  sim::Duration step;
  bool same_path = false;  // through the same tasks
};
// `run` is the job's, played as `options` say; its program is changed for a while and left as it was.
// An error where the changed job cannot be played, or was interrupted.
sim::Result<Replayed> PlayAgain(const Scenario& scenario, RunResult* run, const sim::CriticalPath& path,
                                Parameter parameter, double factor, const RunOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_EXPLAIN_SENSITIVITY_H_
