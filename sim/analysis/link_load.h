// Link load: how many bytes each link carried, and how its load moved.

#ifndef SIM_ANALYSIS_LINK_LOAD_H_
#define SIM_ANALYSIS_LINK_LOAD_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sim/analysis/intervals.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

// By LinkId; rounded to the nearest byte.
struct LinkBytes {
  std::vector<Bytes> total;   // over the run
  std::vector<Bytes> window;  // as much of it as falls into the window
};

// From the flows' volumes and weights. A communication that reaches into or
// out of the window counts there in proportion to its time after its latency:
// exact where its rate was constant, and in a steady run what one period loses
// at its end it gains at its start.
LinkBytes LinkBytesOf(const Program& program, const Timeline& timeline, Interval window);

// bytes / (capacity * window): 1 is a link that was full all the time. Zero for
// an empty window.
double Utilisation(Bytes bytes, ByteRate capacity, Duration window);

// The load of a set of links from `when` on, until the next change.
struct LoadChange {
  Time when;
  ByteRate mean;  // over the links of the set, rounded down; of one link, what it carries
  constexpr bool operator==(const LoadChange&) const = default;
};

inline constexpr std::uint32_t kNoSet = UINT32_MAX;

// By set, its changes in order of time, one an instant at most. `set_of_link`
// puts each link into one of `sets` sets, or into none with kNoSet.
// REQUIRES: the timeline logged rates (SimulateOptions::log_rates); one entry a link
std::vector<std::vector<LoadChange>> LoadsOverTime(const Program& program, const Timeline& timeline,
                                                   std::span<const std::uint32_t> set_of_link,
                                                   std::size_t sets);

}  // namespace sim

#endif  // SIM_ANALYSIS_LINK_LOAD_H_
