// What a fabric can carry: by tier, between its halves, and pair by pair.

#ifndef TOPOLOGIES_CAPACITY_H_
#define TOPOLOGIES_CAPACITY_H_

#include <cstdint>
#include <vector>

#include "topologies/fabric.h"

namespace topologies {

// The links of one tier between elements of two kinds, both ways counted. So PCIe lanes of devices and those
// of NICs, which traffic crosses one after the other, do not add up. Failed ones only in `failed`.
struct TierCapacity {
  Tier tier = Tier::kOther;
  VertexKind a = VertexKind::kDevice, b = VertexKind::kDevice;  // of the ends, a <= b
  std::uint64_t links = 0, cables = 0, failed = 0;
  sim::ByteRate slowest, fastest;  // of a link
  double total = 0;                // B/s, both ways together
};
std::vector<TierCapacity> TiersOf(const Fabric& fabric);  // those that have links, by tier and ends

// The least sum of links that parts the first half of the devices, in their order, from the
// other half (of an odd number the first is smaller), in the direction that has less; B/s.
// Whatever the routes, but that nothing goes through hosts where NVLink switches join all devices of
// a node. By Dinic's maximum flow. Zero for one device.
double BisectionOf(const Fabric& fabric);

// What each device gets in B/s when device i and device i + n/2 send to each other, all at once
// and all at one rate, on the routes that traffic takes: collisions of hashed routes show here.
// Zero for one device.
double RateOfHalves(const Fabric& fabric);

}  // namespace topologies

#endif  // TOPOLOGIES_CAPACITY_H_
