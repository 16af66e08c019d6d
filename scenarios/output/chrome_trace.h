// Chrome trace: a timeline as trace-event JSON, which Perfetto, speedscope,
// chrome://tracing and HolisticTraceAnalysis open.
//
// Source: "Trace Event Format", Google, 2016; the readers' own rules are cited
// where they matter.

#ifndef SCENARIOS_OUTPUT_CHROME_TRACE_H_
#define SCENARIOS_OUTPUT_CHROME_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace scenarios {

// A graph of load over time: the mean of these links, in GB/s.
struct TraceCounter {
  std::string name;  // "leaf to spine"
  std::vector<sim::LinkId> links;
};

struct TraceOptions {
  std::string path{};              // ".gz" at its end: compressed
  std::vector<sim::Rank> ranks{};  // which to show; empty = all
  // A link in one counter at most. They need a timeline with logged rates
  // (SimulateOptions::log_rates); without, they stay at zero.
  std::vector<TraceCounter> counters{};
  // Writes micro-batch and layer with each slice. Off by default: speedscope
  // takes slices of different arguments for different functions, so that
  // nothing adds up in its tables.
  bool arguments = false;
  // Asked now and then whether to go on; when not, there is no file, and the
  // result is an error. Empty: always.
  std::function<bool()> go_on{};
};

struct TraceSummary {
  std::int64_t slices = 0;    // boxes; a seat that waits has two
  std::int64_t instants = 0;  // tasks that took no time
  std::int64_t arrows = 0;    // pipeline sends between two ranks that are shown
  std::int64_t counter_values = 0;
  std::int64_t bytes = 0;             // of JSON, before compression
  std::vector<std::string> warnings;  // "1,200,000 slices; ..."
};

// One process a rank (pid = rank + 1: readers give pid 0 to the kernel), one
// thread a stream. ts and dur are microseconds with picoseconds as decimals;
// ts is exact, dur is shortened, by one picosecond as a rule, where readers'
// arithmetic would see it reach into the next slice. Written as it goes, under
// another name until it is whole. Fails when the file cannot be written or a
// rank does not exist.
sim::Result<TraceSummary> WriteChromeTrace(const sim::Program& program, const sim::Timeline& timeline,
                                           const TraceOptions& options);

// One file a rank: `folder`/rank_0.json.gz, ..., as HolisticTraceAnalysis wants
// them: each with its own distributedInfo.rank. Makes the folder if there is
// none. options.path is not used.
sim::Result<TraceSummary> WriteRankTraces(const sim::Program& program, const sim::Timeline& timeline,
                                          const std::string& folder, const TraceOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_CHROME_TRACE_H_
