// --devices: how many a fabric has, in all or node by node.

#ifndef TOOLS_DEVICES_FLAG_H_
#define TOOLS_DEVICES_FLAG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "topologies/topology.h"

namespace tools {

struct DevicesAsked {
  std::int64_t count = 1;
  std::vector<std::int64_t> of_node = {};  // where they were given node by node
};

// "64", or "8,8,5" for three nodes. Error: anything else.
sim::Result<DevicesAsked> ReadDevices(const std::string& text);

// Nodes are filled in order; the last one may have fewer devices than the others.
// Error: as topologies::BuildFabric and BuildUnevenFabric.
sim::Result<topologies::Fabric> BuildAsked(const topologies::TopologySpec& spec, const sim::NodeShape& node,
                                           const DevicesAsked& devices);

}  // namespace tools

#endif  // TOOLS_DEVICES_FLAG_H_
