// The best ring over devices that a mesh of links joins, as NVLinks do in a node without a switch.

#ifndef TOPOLOGIES_RING_SEARCH_H_
#define TOPOLOGIES_RING_SEARCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/fabric.h"

namespace topologies {

// Up to so many devices are searched, which takes so many tries to extend a ring at the most; beyond them
// it is the best ring so far.
inline constexpr std::size_t kMostInSearchedRing = 16;
inline constexpr std::int64_t kMostRingTries = 200'000;

// An order of the devices whose ring, each sending to the next and the last to the first on their routes,
// keeps its busiest link busy for the shortest time. The order given where none is better, and of
// several the first in the order of the list.
// Up to nine devices it is the best of all.
// Source: what NCCL's search does with NVLinks (src/graph/search.cc); here it is exact, and of one ring.
// REQUIRES: each device once
std::vector<std::uint32_t> BestRing(const Fabric& fabric, std::span<const std::uint32_t> devices);

}  // namespace topologies

#endif  // TOPOLOGIES_RING_SEARCH_H_
