// speedscope trace: a timeline in speedscope's own format, which it opens twenty times as fast as trace
// events. Source: https://www.speedscope.app/file-format-schema.json

#ifndef SCENARIOS_OUTPUT_SPEEDSCOPE_TRACE_H_
#define SCENARIOS_OUTPUT_SPEEDSCOPE_TRACE_H_

#include "scenarios/output/trace.h"

namespace scenarios {

// One profile a track ("rank 3: compute"), its slices in nanoseconds with picoseconds as decimals. Without
// arguments, so that equal work adds up; the format has no instants, arrows or counters. Fails as
// WriteTrace does.
sim::Result<TraceSummary> WriteSpeedscopeTrace(const sim::Program& program, const sim::Timeline& timeline,
                                               const TraceOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_SPEEDSCOPE_TRACE_H_
