// Perfetto trace: a timeline in Perfetto's own format, which ui.perfetto.dev and trace_processor open.
// A third of the bytes of trace events, nothing of how readers add times, arrows that belong to slices.

#ifndef SCENARIOS_OUTPUT_PERFETTO_TRACE_H_
#define SCENARIOS_OUTPUT_PERFETTO_TRACE_H_

#include "scenarios/output/trace.h"

namespace scenarios {

// Packets of proto/perfetto_trace.proto, written as they come. One process a rank (pid = rank + 1), below it
// a track a stream; a counter a set of links, in bytes per second. Times are nanoseconds, rounded down: what
// touches still touches. A slice is its begin and its end, an arrow leaves the begin of a send and arrives
// at the end of its receive. Micro-batch, layer and bytes of what moves are annotations, whatever
// options.arguments says. Fails as WriteTrace does.
sim::Result<TraceSummary> WritePerfettoTrace(const sim::Program& program, const sim::Timeline& timeline,
                                             const TraceOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_PERFETTO_TRACE_H_
