// TorusNetwork: a router a node, each cabled to its neighbours in one to three
// dimensions. Routes go dimension by dimension.

#ifndef TOPOLOGIES_TORUS_NETWORK_H_
#define TOPOLOGIES_TORUS_NETWORK_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/result.h"
#include "topologies/node_plan.h"
#include "topologies/port_network.h"
#include "topologies/topology.h"

namespace topologies {

// Why these nodes do not find their places.
std::optional<sim::Error> RefuseTorus(const TorusSpec& spec, const NodePlan& nodes);

class TorusNetwork final : public PortNetwork {
 public:
  explicit TorusNetwork(const TorusSpec& spec);

  void AddElements(FabricBuilder* builder) override;
  VertexId SwitchOf(Port port) const override { return VertexId(first_router_.value() + port.node); }
  void AddCables(FabricBuilder* builder) override;
  sim::Duration switch_latency() const override { return spec_.switch_latency; }
  bool Joins(Port, Port) const override { return true; }
  std::uint64_t Ways(Port, Port) const override { return 1; }
  std::uint32_t Cross(Port from, Port to, std::uint64_t way, RouteWriter* writer) const override;

 private:
  static constexpr std::size_t kMostDimensions = 3;
  using Place = std::array<std::uint32_t, kMostDimensions>;

  Place PlaceOf(std::uint32_t router) const;
  std::uint32_t RouterAt(const Place& place) const;
  // The neighbour upwards; the cable to it is at router * dimensions + dimension.
  bool HasNext(const Place& place, std::size_t dimension) const;
  // So many hops up (or down) a dimension from `place`, by `parts` of the traffic.
  // Returns what faults add to their latency.
  sim::Duration Walk(Place place, std::size_t dimension, std::uint32_t hops, bool up, std::uint32_t parts,
                     RouteWriter* writer) const;

  TorusSpec spec_;
  Place size_;
  std::uint32_t routers_ = 1;
  VertexId first_router_;
  std::vector<sim::LinkId> cables_;
};

}  // namespace topologies

#endif  // TOPOLOGIES_TORUS_NETWORK_H_
