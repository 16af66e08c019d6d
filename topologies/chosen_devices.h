// Fabrics of which some devices are left idle: nodes that have different numbers of them.

#ifndef TOPOLOGIES_CHOSEN_DEVICES_H_
#define TOPOLOGIES_CHOSEN_DEVICES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/topology.h"

namespace topologies {

// The same elements, links and routes, but only these devices, in this order: device i of it is
// `devices[i]` of the fabric. Those left out keep their vertices, of no element.
// REQUIRES: each is in the fabric, once; one at the least; no storage
Fabric WithDevices(const Fabric& fabric, std::span<const std::uint32_t> devices);

// Nodes of which node i has `devices_of_node[i]` devices, its first ones; the places of others stay empty.
// Its NICs and switches are all there, and a NIC whose device is not is reached through the host or PXN as
// any other one is.
// Error: as BuildFabric; a number that is not from 1 to those of a node; a topology that lists its devices.
sim::Result<Fabric> BuildUnevenFabric(const TopologySpec& spec, const sim::NodeShape& node,
                                      std::span<const std::int64_t> devices_of_node);

}  // namespace topologies

#endif  // TOPOLOGIES_CHOSEN_DEVICES_H_
