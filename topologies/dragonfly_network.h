// DragonflyNetwork: groups of leafs and spines, and global cables between the
// spines of any two groups (Dragonfly+). Routes are minimal.
//
// The cables of a leaf are one link, and those between two groups: each leaf is cabled
// to all spines of its group alike, and each of these to every other group alike, so even spraying
// loads all of them alike.

#ifndef TOPOLOGIES_DRAGONFLY_NETWORK_H_
#define TOPOLOGIES_DRAGONFLY_NETWORK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/result.h"
#include "topologies/node_plan.h"
#include "topologies/port_network.h"
#include "topologies/topology.h"

namespace topologies {

// Why these nodes cannot be joined like this.
std::optional<sim::Error> RefuseDragonfly(const DragonflyPlusSpec& spec, const NodePlan& nodes);

class DragonflyNetwork final : public PortNetwork {
 public:
  // REQUIRES: RefuseDragonfly has nothing to say
  DragonflyNetwork(const DragonflyPlusSpec& spec, const NodePlan& nodes);

  void AddElements(FabricBuilder* builder) override;
  VertexId SwitchOf(Port port) const override { return leaf_[LeafOf(port)]; }
  void AddCables(FabricBuilder* builder) override;
  sim::Duration switch_latency() const override { return spec_.switch_latency; }
  bool Joins(Port, Port) const override { return true; }
  std::uint64_t Ways(Port, Port) const override { return 1; }
  std::uint32_t Cross(Port from, Port to, std::uint64_t way, RouteWriter* writer) const override;

 private:
  std::size_t LeafOf(Port port) const { return port.node / static_cast<std::uint32_t>(spec_.nodes_per_leaf); }
  std::size_t GroupOf(std::size_t leaf) const {
    return leaf / static_cast<std::size_t>(spec_.leafs_per_group);
  }

  DragonflyPlusSpec spec_;
  std::size_t leafs_, groups_;
  std::vector<VertexId> leaf_, spines_;
  std::vector<sim::LinkId> up_;      // by leaf
  std::vector<sim::LinkId> global_;  // from group * groups + to
};

}  // namespace topologies

#endif  // TOPOLOGIES_DRAGONFLY_NETWORK_H_
