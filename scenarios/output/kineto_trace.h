// Kineto trace: a run as PyTorch's profiler would have recorded it, a file a rank, so that tools made for its
// files read ours: HolisticTraceAnalysis, scripts over kernel names.
//
// Source: pytorch/kineto, libkineto/src/output_json.cpp; what HolisticTraceAnalysis needs of it was tried on
// HTA 0.6.1; docs/timelines.md lists the conventions.

#ifndef SCENARIOS_OUTPUT_KINETO_TRACE_H_
#define SCENARIOS_OUTPUT_KINETO_TRACE_H_

#include <optional>
#include <string>

#include "scenarios/output/kineto_rank.h"
#include "scenarios/output/trace.h"
#include "scenarios/scenario.h"
#include "scenarios/step_builder.h"

namespace scenarios {

// A file a rank: options.path with the rank for "{rank}"; without that, a folder (made if there is none) for
// rank_0.json.gz and so on. Counters and arguments of the options have no effect.
//
// Each task is a kernel, a copy or an operation of the host, a seat one kernel from its arrival on, as
// NCCL's runs while it waits. Each kernel has a launch with its correlation: that of the host's stream, where
// launches are simulated and it waits for one; else one just before it starts. Times are whole nanoseconds,
// and kOffset later than the run's clock, for launches of what starts at once. ProfilerStep#k goes from the
// launch of the first kernel that starts after the rank ended step k - 1.
//
// Fails as WriteTrace does. REQUIRES: scenario.fidelity is kFlow
sim::Result<TraceSummary> WriteKinetoTraces(const Scenario& scenario, const StepProgram& steps,
                                            const sim::Timeline& timeline, const TraceOptions& options,
                                            const std::optional<StepRange>& steps_shown = std::nullopt);

// The file of one rank.
std::string KinetoPathOf(const std::string& path, sim::Rank rank);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_KINETO_TRACE_H_
