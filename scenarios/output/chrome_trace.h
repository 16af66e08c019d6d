// Chrome trace: a timeline as trace-event JSON, which Perfetto, speedscope and
// chrome://tracing open.
//
// Source: "Trace Event Format", Google, 2016; the readers' own rules are cited
// where they matter.

#ifndef SCENARIOS_OUTPUT_CHROME_TRACE_H_
#define SCENARIOS_OUTPUT_CHROME_TRACE_H_

#include "scenarios/output/trace.h"

namespace scenarios {

// One process a rank (pid = rank + 1: readers give pid 0 to the kernel), one
// thread a stream. ts and dur are microseconds with picoseconds as decimals;
// ts is exact, dur is shortened, by one picosecond as a rule, where readers'
// arithmetic would see it reach into the next slice. Written as it goes, under
// another name until it is whole. Fails when the file cannot be written or a
// rank does not exist.
sim::Result<TraceSummary> WriteChromeTrace(const sim::Program& program, const sim::Timeline& timeline,
                                           const TraceOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_CHROME_TRACE_H_
