// Path causes: the critical path of a step summed by what it spends its time on.

#ifndef SCENARIOS_EXPLAIN_PATH_CAUSES_H_
#define SCENARIOS_EXPLAIN_PATH_CAUSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/explain/traffic_bound.h"
#include "scenarios/explain/work_parts.h"
#include "sim/analysis/critical_path.h"
#include "sim/program/timeline.h"

namespace scenarios {

struct PathCause {
  std::string id;    // "compute.products", "tensor.all_gather.latency"; stable
  std::string name;  // for people
  sim::Duration time;
  std::int64_t pieces = 0;
};

// What a path is read with.
struct PathView {
  const Scenario& scenario;
  const sim::Program& program;
  const sim::Timeline& timeline;
  const sim::CriticalPath& path;
  const std::vector<WorkParts>& parts;      // by row
  const std::vector<TrafficBound>& bounds;  // by TrafficId
};

// A piece of the path in its parts, which add up to it.
struct PieceOfWork {
  const WorkParts* parts = nullptr;
  sim::Duration alone, stretch;  // what communication beside it added
};
PieceOfWork WorkOf(const PathView& view, const sim::CriticalPath::Piece& piece);

struct PieceOfTraffic {
  const TrafficBound* bound = nullptr;
  sim::Duration latency;
  sim::Duration alone;   // bytes, as fast as with nothing else on their links
  sim::Duration shared;  // what others on the same links added
};
PieceOfTraffic TrafficOf(const PathView& view, const sim::CriticalPath::Piece& piece);

// Of every cause that occurs, the longest first; they add up to the path, exactly.
//
// Compute by class of kernels, recomputation, the optimizer; what communication beside all of them added;
// launches; of each kind of communication its latency, its bytes by the links that bound them alone, and
// what shared links added. Bubbles are on no path: a rank that idles waits for one that is on it.
std::vector<PathCause> CausesOf(const PathView& view);

}  // namespace scenarios

#endif  // SCENARIOS_EXPLAIN_PATH_CAUSES_H_
