// Bounds: what a step takes at least, by one kind of thing alone.

#ifndef SCENARIOS_EXPLAIN_BOUNDS_H_
#define SCENARIOS_EXPLAIN_BOUNDS_H_

#include <string>
#include <vector>

#include "scenarios/explain/traffic_bound.h"
#include "scenarios/run.h"

namespace scenarios {

struct StepBound {
  std::string id;    // "compute", "network"; stable
  std::string name;  // for people
  sim::Duration time;
};

// None is above the step, where steps follow each other steadily:
// - compute: the work, alone, of the rank that works most; no dependencies.
// - network: the bytes of the busiest link at its capacity; no dependencies.
// - latency: launches, hops and switches of communication as the tasks depend on them; the rest takes no
// time.
// - transfers: the same with the bytes, each communication as if alone on its links.
// - schedule: work alone as the tasks depend on it, host's launches too; communication takes no time.
// - unshared: all of it, but nobody shares links or SMs: what the step is above that is contention.
//
// The last four are played, with every duration at most what it was: such a program has no later end.
// `run` is changed for a while and left as it was. REQUIRES: the run was not interrupted
std::vector<StepBound> BoundsOf(const Scenario& scenario, RunResult* run,
                                const std::vector<TrafficBound>& traffic);

}  // namespace scenarios

#endif  // SCENARIOS_EXPLAIN_BOUNDS_H_
