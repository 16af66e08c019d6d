// Small arithmetic of cables that all networks share.

#ifndef TOPOLOGIES_CABLES_H_
#define TOPOLOGIES_CABLES_H_

#include <cstdint>

#include "sim/base/check.h"
#include "sim/base/index.h"
#include "sim/base/units.h"

namespace topologies {

// The link the other way. A cable is two links, one after the other.
inline sim::LinkId WayBack(sim::LinkId cable) { return sim::LinkId(cable.value() + 1); }

// REQUIRES: n >= 0, by >= 1
inline std::int64_t RoundUp(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

// Whether `n` such cables have a rate that 63 bits hold.
inline bool Fits(std::int64_t n, sim::ByteRate rate) { return n == 0 || rate.milli() <= INT64_MAX / n; }

// Several cables as one link. REQUIRES: Fits(n, rate)
inline sim::ByteRate Times(std::int64_t n, sim::ByteRate rate) {
  CHECK(Fits(n, rate));
  return sim::ByteRate::MilliBytesPerSecond(n * rate.milli());
}

}  // namespace topologies

#endif  // TOPOLOGIES_CABLES_H_
