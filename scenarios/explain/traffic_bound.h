// What bounds the bytes of a communication on its links, alone.

#ifndef SCENARIOS_EXPLAIN_TRAFFIC_BOUND_H_
#define SCENARIOS_EXPLAIN_TRAFFIC_BOUND_H_

#include <optional>
#include <vector>

#include "sim/program/program.h"

namespace scenarios {

// The link that bounds a flow's progress alone; none where it crosses no link.
std::optional<sim::LinkId> NarrowestLink(const sim::Program& program, const sim::TrafficFlow& flow);

struct TrafficBound {
  sim::Duration transfer;  // of all flows together with nothing else on their links; the latency apart
  std::optional<sim::LinkId> link;  // that is busy longest, or the narrowest one of the flow that is limited
  bool limited = false;             // by a flow's own limit: what the device's kernels reach
};

// By TrafficId.
std::vector<TrafficBound> BoundsOfTraffics(const sim::Program& program);

}  // namespace scenarios

#endif  // SCENARIOS_EXPLAIN_TRAFFIC_BOUND_H_
