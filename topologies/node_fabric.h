// The families made of equal nodes. For BuildFabric.

#ifndef TOPOLOGIES_NODE_FABRIC_H_
#define TOPOLOGIES_NODE_FABRIC_H_

#include <cstdint>
#include <optional>

#include "sim/base/node_shape.h"
#include "sim/base/result.h"
#include "topologies/fabric.h"
#include "topologies/topology.h"

namespace topologies {

// Any family but the explicit one. REQUIRES: 1 <= devices <= kMostDevices
sim::Result<Fabric> BuildNodeFabric(const TopologySpec& topology, const sim::NodeShape& node,
                                    std::int64_t devices, const std::optional<StorageSpec>& storage);

}  // namespace topologies

#endif  // TOPOLOGIES_NODE_FABRIC_H_
