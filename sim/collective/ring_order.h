// The rings of a group: which member sends to which, on every channel.

#ifndef SIM_COLLECTIVE_RING_ORDER_H_
#define SIM_COLLECTIVE_RING_ORDER_H_

#include <cstdint>
#include <vector>

#include "sim/collective/collective.h"

namespace sim {

// One ring a channel. A ring lists all members; each sends to the next, the
// last to the first.
struct RingOrder {
  std::vector<std::vector<std::uint32_t>> rings;  // positions in the group
  std::uint32_t domains = 0;                      // NVLink domains that the group touches
};

// Members of one domain are neighbours, whatever order the group has them in:
// domains come in order of first appearance, members by rail, or by place where
// the links of a domain make one order better than others.
//
// Within one domain one ring is enough: all of NCCL's channels load the same
// ports. Over several domains there are as many rings as the smallest domain
// has members, so that each brings its own NIC into play: ring c enters every
// domain at its c-th member, goes round to the one before it, and leaves for
// the c-th member of the next domain. If the domains lack different members,
// the c-th counts among the rails that all of them have, when these are enough;
// so a ring keeps to its rail. With 7 whole nodes of 8 and one of 7, that is
// seven rings, and the NICs on the missing rail stay idle.
//
// Source: NCCL, src/graph/search.cc and connect.cc (its rings cross each node
// once per NIC; nodes must agree on the number of channels).
RingOrder OrderRings(const Communicator& group);

// A ring cut where it leaves a domain: the members of each, in the ring's order.
std::vector<std::vector<std::uint32_t>> SplitByDomain(const std::vector<std::uint32_t>& ring,
                                                      const Communicator& group);

}  // namespace sim

#endif  // SIM_COLLECTIVE_RING_ORDER_H_
