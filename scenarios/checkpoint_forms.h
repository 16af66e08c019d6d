// Closed forms of checkpointing: how often, how many servers, and what happens
// when saves come faster than they are written.

#ifndef SCENARIOS_CHECKPOINT_FORMS_H_
#define SCENARIOS_CHECKPOINT_FORMS_H_

#include <cstdint>
#include <optional>

#include "sim/base/units.h"

namespace scenarios {

// The cadence of saves, and what one takes. All > 0 but copy, which may be 0.
struct SaveRhythm {
  sim::Duration interval;  // from one save to the next while none is held up
  sim::Duration copy, write;
  std::int64_t slots = 1;  // saves that fit into staging
};

// The shortest interval that never stalls: with room for one save the next copy
// waits for the write, with more the longer of the two paces.
sim::Duration EarliestInterval(const SaveRhythm& rhythm);

// What a queue of saves gains each interval: the bytes that arrive less those
// that the writers manage; zero when they keep up. Source: textbook, exercise 27.8.
sim::Bytes BacklogPerInterval(sim::Bytes save, const SaveRhythm& rhythm);

// The first save that finds staging full.
struct FirstStall {
  std::int64_t save = 0;  // from 1
  sim::Duration since;    // after the first save was due
  sim::Duration lasts;
};
// Save i is due (i - 1) intervals after the first one, and needs the place of save i - slots, whose
// write has ended by then unless this says when.
std::optional<FirstStall> FirstStallOf(const SaveRhythm& rhythm);

// Servers that write `save` bytes, each `replicas` times, within `window`.
// Source: textbook, 17.7.5. REQUIRES: window > 0, rate > 0
std::int64_t ServersNeeded(sim::Bytes save, std::int64_t replicas, sim::ByteRate of_server,
                           sim::Wide window_ps);

// What synchronous saves stall per step, in the long run.
constexpr double StallPerStep(double save_s, std::int64_t every_steps) {
  return save_s / static_cast<double>(every_steps);
}

// The interval that loses least: sqrt(2 C M) for a cost C and a mean time
// between failures M, in one unit. Source: Young, "A first order approximation
// to the optimum checkpoint interval", CACM 17(9), 1974.
double YoungInterval(double cost, double mtbf);
// The part of the time that saves and lost work take at an interval: C / t + t / (2 M); at most 1, where
// this first order leaves no time to train.
constexpr double WasteOf(double cost, double interval, double mtbf) {
  const double waste = cost / interval + interval / (2 * mtbf);
  return waste < 1 ? waste : 1;
}
// The same where a save cannot follow the last one before `earliest`: until then training stalls, which
// is lost as well.
constexpr double WasteWithStalls(double cost, double interval, double earliest, double mtbf) {
  const double stall = earliest > interval ? earliest - interval : 0;
  return WasteOf(cost + stall, interval + stall, mtbf);
}

// How long reading back takes when each of `ranks` reads its share at its own rate: M / (DP BW).
// Source: textbook, 17.7.5.
constexpr double LoadTime(double bytes, std::int64_t ranks, double bytes_per_s_of_rank) {
  return bytes / (static_cast<double>(ranks) * bytes_per_s_of_rank);
}

}  // namespace scenarios

#endif  // SCENARIOS_CHECKPOINT_FORMS_H_
