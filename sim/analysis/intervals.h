// Interval: a stretch of simulated time; Intervals: a set of instants. With
// them overlap and exposed time are set algebra, exact in picoseconds.

#ifndef SIM_ANALYSIS_INTERVALS_H_
#define SIM_ANALYSIS_INTERVALS_H_

#include <vector>

#include "sim/base/units.h"

namespace sim {

// The instants t with from <= t < to; empty when to <= from.
struct Interval {
  Time from, to;
  constexpr bool empty() const { return to <= from; }
  constexpr Duration length() const { return empty() ? Duration() : to - from; }
  constexpr bool operator==(const Interval&) const = default;
};

// What both hold.
constexpr Interval Clip(Interval a, Interval b) {
  return {a.from < b.from ? b.from : a.from, a.to < b.to ? a.to : b.to};
}

// Sorted, none empty, no two that overlap or touch: one form for one set.
using Intervals = std::vector<Interval>;

// The set of any list of intervals, in any order, overlapping or empty.
Intervals SetOf(std::vector<Interval> list);

Intervals Union(const Intervals& a, const Intervals& b);
Intervals Intersection(const Intervals& a, const Intervals& b);
Intervals Difference(const Intervals& a, const Intervals& b);  // in a, not in b
Duration Length(const Intervals& set);

// How computation and communication share a window. Identities:
// compute + exposed + idle = window; overlap + exposed = communication.
struct Overlap {
  Duration compute, communication, overlap, exposed, idle;
};
Overlap OverlapOf(const Intervals& compute, const Intervals& communication, Interval window);

}  // namespace sim

#endif  // SIM_ANALYSIS_INTERVALS_H_
