// What ranks computed and when as an SVG picture for documents: a lane a rank, time to the right, idle time
// grey.

#ifndef SCENARIOS_OUTPUT_TIMELINE_SVG_H_
#define SCENARIOS_OUTPUT_TIMELINE_SVG_H_

#include <string>

#include "scenarios/output/trace.h"

namespace scenarios {

// The compute streams of the options' ranks, from the begin to the end of the options' window, or of the run.
// Places are whole quarters of a pixel: what is narrower is not drawn, so that a picture has as many shapes
// as it has room for, however long the run. options.streams and counters have no effect. Fails as WriteTrace
// does.
sim::Result<TraceSummary> WriteTimelineSvg(const sim::Program& program, const sim::Timeline& timeline,
                                           const std::string& title, const TraceOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_TIMELINE_SVG_H_
