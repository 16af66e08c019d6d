// The families made of equal nodes. For BuildFabric.

#ifndef TOPOLOGIES_NODE_FABRIC_H_
#define TOPOLOGIES_NODE_FABRIC_H_

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/node_shape.h"
#include "sim/base/result.h"
#include "topologies/fabric.h"
#include "topologies/topology.h"

namespace topologies {

// REQUIRES: 1 <= devices <= kMostDevices
sim::Result<Fabric> BuildSingleNode(const std::string& name, const sim::NodeShape& node, std::int64_t devices,
                                    const std::optional<StorageSpec>& storage);
sim::Result<Fabric> BuildRailOptimised(const std::string& name, const RailOptimisedSpec& spec,
                                       const sim::NodeShape& node, std::int64_t devices,
                                       const std::optional<StorageSpec>& storage);
sim::Result<Fabric> BuildSingleSwitch(const std::string& name, const SingleSwitchSpec& spec,
                                      const sim::NodeShape& node, std::int64_t devices,
                                      const std::optional<StorageSpec>& storage);

}  // namespace topologies

#endif  // TOPOLOGIES_NODE_FABRIC_H_
