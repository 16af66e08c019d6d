// MaxMinRates: the fair rates of a set of flows, solved in full. Slow and
// plain: it defines what FlowNetwork must give, and is its oracle in the tests.

#ifndef SIM_NETWORK_MAX_MIN_H_
#define SIM_NETWORK_MAX_MIN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/network/flow.h"

namespace sim {

// The rates x, one for each flow, that satisfy
//
//   sum over flows of  weight * x  <=  capacity * weight_denominator   on every link
//   x <= limit                                                         for every flow that has one
//
// and are max-min fair in x / share: no flow's x / share can grow but at the
// cost of one that is not larger. Found by progressive filling: all unfrozen
// flows rise together, x = share * level, until a link is full or a limit is
// reached; the flows that this stops are frozen, and the others go on.
//
// Rates are whole, in 10^-3 B/s. The level at which a link is full is compared
// as an exact rational, all that is reached at the lowest level is frozen
// together at floor(share * level), and only then is it taken from the links.
// So the result depends on the set of flows alone, not on their order or on
// the numbering of links, and flows that a symmetry exchanges get equal rates.
// What a link's rounding leaves unused is less than the sum of its weights.
//
// Volumes do not matter. A flow without links and without a limit gets
// kFastest. Costs O(uses * distinct levels).
// REQUIRES: capacities > 0, weight_denominator >= 1, shares >= 1, weights >= 1,
// each link at most once in a flow
//
// Source: Bertsekas and Gallager, "Data Networks", 2nd edition, 1992, section
// 6.5.2 (max-min flow control), with weights and shares added.
std::vector<ByteRate> MaxMinRates(std::span<const ByteRate> capacities, std::uint32_t weight_denominator,
                                  std::span<const FlowSpec> flows);

}  // namespace sim

#endif  // SIM_NETWORK_MAX_MIN_H_
