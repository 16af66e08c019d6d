// What a trace shows of a run, and the one walk through it that all formats are
// written by: rank by rank, track by track, slice by slice, then the links.

#ifndef SCENARIOS_OUTPUT_TRACE_H_
#define SCENARIOS_OUTPUT_TRACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/output/output_file.h"
#include "scenarios/output/trace_tracks.h"
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
  std::string path{};                      // ".gz" at its end: compressed
  std::vector<sim::Rank> ranks{};          // which to show; empty = all
  std::vector<sim::StreamKind> streams{};  // likewise
  // Slices that reach into it, whole: their lengths stay true. None: all.
  std::optional<sim::Interval> window{};
  sim::Duration shortest{};  // slices below are left out; above zero, what takes no time too
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
  std::int64_t bytes = 0;             // of text or messages, before compression
  std::vector<std::string> warnings;  // "1,200,000 slices; ..."
};

// One end of an arrow, from the slice of a pipeline send to that of its receive.
struct ArrowEnd {
  std::int64_t id = 0;  // of both ends; 1 at least
  bool sends = false;
};

// A format. Calls come in this order: Begin; for each rank its tracks, each with its slices by
// time and then its instants; where there are counters, each with its values; End.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // REQUIRES: ranks sorted, each once, not empty
  virtual void Begin(const std::vector<sim::Rank>& ranks) = 0;
  virtual void BeginRank(sim::Rank rank) = 0;
  virtual void BeginTrack(sim::Rank rank, const Track& track, int position) = 0;
  // `next`: where the next slice of the track starts, if there is one.
  virtual void WriteSlice(const Slice& slice, std::optional<sim::Time> next,
                          const std::optional<ArrowEnd>& arrow) = 0;
  virtual void WriteInstant(const Slice& slice) = 0;
  virtual void EndTrack() {}
  virtual void BeginCounters() {}
  virtual void BeginCounter(const TraceCounter& counter) = 0;
  virtual void WriteLoad(sim::Time when, sim::ByteRate load) = 0;
  virtual void End() = 0;
};

// Makes the sink that writes to a file.
using MakeSink = std::function<std::unique_ptr<TraceSink>(OutputFile*)>;

// Walks through what the options choose and writes it, under another name until it is whole. Fails when the
// file cannot be written, a rank does not exist, or it is told to stop.
sim::Result<TraceSummary> WriteTrace(const sim::Program& program, const sim::Timeline& timeline,
                                     const TraceOptions& options, const MakeSink& make_sink);

// Of `ranks`: sorted, each once; all of the program when none is named. Fails where one does not exist.
sim::Result<std::vector<sim::Rank>> RanksToShow(const sim::Program& program, std::vector<sim::Rank> ranks);

// The streams of each rank that is shown, of the kinds that are; by rank.
std::vector<std::vector<sim::StreamId>> StreamsToShow(const sim::Program& program,
                                                      const std::vector<sim::Rank>& ranks,
                                                      const std::vector<sim::StreamKind>& kinds);

// Whether the options' window and shortest length leave it.
bool IsShown(const sim::Interval& time, const TraceOptions& options);

// "send forward", or "send forward (waiting)"; and what viewers colour it by.
std::string NameOf(const sim::Program& program, const Slice& slice);
const char* CategoryOf(const sim::Program& program, const Slice& slice);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_TRACE_H_
