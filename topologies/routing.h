// How traffic chooses among equal ways through a network.

#ifndef TOPOLOGIES_ROUTING_H_
#define TOPOLOGIES_ROUTING_H_

#include <cstdint>

namespace topologies {

enum class Routing : std::uint8_t {
  kSpray,        // evenly over all of them, packet by packet
  kEcmp,         // one, by a hash of source, destination and seed
  kDestination,  // one, by the destination alone (d-mod-k)
};

const char* ToText(Routing routing);  // "SPRAY", ...

struct RoutingRule {
  Routing routing = Routing::kSpray;
  std::uint64_t seed = 0;   // of kEcmp
  std::uint32_t flows = 1;  // of kEcmp: connections of a pair, each hashed, with equal parts of its traffic
  bool pxn = false;         // out through the destination's rail
};

}  // namespace topologies

#endif  // TOPOLOGIES_ROUTING_H_
