// NodeConstruction: nodes, their cables, a network and its faults become a
// fabric. For the builders of families.

#ifndef TOPOLOGIES_NODE_CONSTRUCTION_H_
#define TOPOLOGIES_NODE_CONSTRUCTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/result.h"
#include "topologies/fabric_builder.h"
#include "topologies/node_plan.h"
#include "topologies/port_network.h"
#include "topologies/storage.h"
#include "topologies/topology.h"

namespace topologies {

// What one kind of node has in a fabric. Error: what cannot be built of such nodes.
// REQUIRES: 1 <= devices <= kMostDevices
sim::Result<NodePlan> PlanNodes(const sim::NodeShape& node, std::int64_t devices, bool networked,
                                std::int64_t planes = 1);

std::string Called(const sim::NodeShape& node);  // for messages

// Everything in its order: node by node, then the network.
class NodeConstruction {
 public:
  // `network` is null for nodes that stand alone.
  NodeConstruction(const std::string& name, const NodePlan& plan, std::shared_ptr<PortNetwork> network);

  // `port` is the rate of each cable of a port. Error: faults that cannot be, storage that cannot be
  // reached, devices that cannot reach each other.
  sim::Result<Fabric> Build(sim::ByteRate port, const RoutingRule& rule, const std::vector<LinkFault>& faults,
                            const std::optional<StorageSpec>& storage) &&;

 private:
  VertexId At(std::uint32_t node, std::uint32_t position) const {
    return VertexId(node * vertices_per_node_ + position);
  }
  void AddNode(std::uint32_t node);
  void CableNode(std::uint32_t node);
  void CablePorts(std::uint32_t node, sim::ByteRate rate);
  std::optional<sim::Error> Attach(const StorageSpec& storage, const LinkFaults* faults);
  // The router counts on the id that the plan foresees.
  void Cable(sim::LinkId planned, VertexId a, VertexId b, sim::ByteRate rate, sim::Duration latency,
             std::uint32_t cables = 1);

  NodePlan plan_;
  std::shared_ptr<PortNetwork> network_;
  FabricBuilder builder_;
  std::uint32_t pcie_, host_, nic_, bridge_, vertices_per_node_;  // positions in a node; devices are first
};

}  // namespace topologies

#endif  // TOPOLOGIES_NODE_CONSTRUCTION_H_
