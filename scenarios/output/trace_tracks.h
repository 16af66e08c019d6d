// Tracks: the streams of one rank as boxes that a viewer can draw.

#ifndef SCENARIOS_OUTPUT_TRACE_TRACKS_H_
#define SCENARIOS_OUTPUT_TRACE_TRACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/analysis/intervals.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace scenarios {

// One box. A seat that waits for partners has two: the wait, then the transfer.
struct Slice {
  sim::Interval time;
  sim::TaskId task;
  bool waiting = false;
};

struct Track {
  std::string name;             // "compute"; further lanes "compute (2)"
  std::string stream;           // "compute"; the rank's second one of a kind "compute 2"
  std::vector<Slice> slices;    // in order of time; none empty, none overlap, ends may touch
  std::vector<Slice> instants;  // what took no time at all
};

// One track a stream, in the order of StreamKind. Slices of a stream that
// overlap, which streams that run in order never have, get lanes of their own:
// viewers drop or garble slices that overlap on one track. `streams` are those
// of one rank, by id. Seats that wait are two slices, or one: a kernel of NCCL's runs while it waits.
enum class Seats : std::uint8_t { kWaitApart, kWhole };
std::vector<Track> TracksOf(const sim::Program& program, const sim::Timeline& timeline,
                            std::vector<sim::StreamId> streams, Seats seats = Seats::kWaitApart);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_TRACE_TRACKS_H_
