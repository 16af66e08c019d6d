// The graphs of link load that a trace of a scenario has.

#ifndef TOOLS_LINK_COUNTERS_H_
#define TOOLS_LINK_COUNTERS_H_

#include <iosfwd>
#include <vector>

#include "scenarios/output/trace.h"
#include "scenarios/scenario.h"

namespace tools {

// One graph a tier of links; none, with a warning, where there are so many tasks that the rates of all flows
// would take as much memory again as the run.
std::vector<scenarios::TraceCounter> LinkCounters(const scenarios::Scenario& scenario, std::ostream& err);

}  // namespace tools

#endif  // TOOLS_LINK_COUNTERS_H_
