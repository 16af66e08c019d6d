// NodeRouter: routes of fabrics made of equal nodes.
//
//   same node     NVLink; without it PCIe, through the host between PCIe switches
//   other node    PCIe, NIC, the network, NIC, PCIe. The NIC is the device's own, but for `pxn`:
//                 then it is the one of the destination's rail, reached by one hop inside the
//                 source node to the device beside it (NCCL's PXN), or without NVLink through
//                 the host.
//   planes        evenly over all of them
//
// Of the network's equal ways one is taken: by a hash of source, destination, flow and
// seed (kEcmp, as switches that hash packet headers do: collisions appear), or
// by the destination alone (kDestination, d-mod-k, as InfiniBand's subnet
// managers route fat trees: shifts do not collide). Under kSpray networks have one
// way, in which all cables of a switch are a bundle.
//
// Faults. A way that crosses a failed link is left for the next one: of the
// ways through the network, then other NICs of the nodes; at the destination these
// reach the device through the host. What still has no way is searched in the
// graph (ShortestPathRouter).
//
// Sources: PXN: NVIDIA, "Doubling all2all performance with NCCL 2.12", 2022. d-mod-k: Zahavi,
// "Fat-tree routing and node ordering providing contention free traffic for MPI global
// collectives", J. Parallel Distrib. Comput. 72 (2012).

#ifndef TOPOLOGIES_NODE_ROUTER_H_
#define TOPOLOGIES_NODE_ROUTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "topologies/node_plan.h"
#include "topologies/port_network.h"
#include "topologies/routing.h"

namespace topologies {

class NodeRouter final : public Router {
 public:
  // `network` is null for a node that stands alone; `faults` and `search` are null without faults,
  // `search` also where all links are there.
  NodeRouter(const NodePlan& plan, std::shared_ptr<const PortNetwork> network, RoutingRule rule,
             std::shared_ptr<const LinkFaults> faults, std::shared_ptr<const Router> search)
      : plan_(plan),
        network_(std::move(network)),
        rule_(rule),
        faults_(std::move(faults)),
        search_(std::move(search)) {}

  Route Between(std::uint32_t from_device, std::uint32_t to_device) const override;
  std::optional<Route> ToNvSwitch(std::uint32_t device) const override;
  std::optional<Route> FromNvSwitch(std::uint32_t device) const override;

 private:
  std::optional<Route> NvSwitchLink(std::uint32_t device, bool up) const;

  // A device's place.
  struct Seat {
    std::uint32_t node, device;
  };

  void InsideNode(Seat from, Seat to, RouteWriter* writer) const;
  // From one PCIe switch to another of the node.
  void BetweenSwitches(std::uint32_t node, std::uint32_t from, std::uint32_t to, RouteWriter* writer) const;
  // Between a device and the port `index` of its node, but for the port's cable.
  void ToPort(Seat from, std::uint32_t index, std::uint32_t beside, RouteWriter* writer) const;
  void FromPort(std::uint32_t index, Seat to, RouteWriter* writer) const;
  // Out of one port and into the other through one plane, after what `writer` has and before
  // what `FromPort` adds if `whole`. Nothing where each way has a failed link. `flow` is one of the pair's.
  std::optional<Route> Through(Seat from, Seat to, Port exit, Port entry, std::uint32_t flow,
                               RouteWriter writer, bool whole) const;
  std::optional<Route> Across(Seat from, Seat to, std::uint32_t exit, std::uint32_t entry) const;
  std::optional<Route> AcrossNetwork(Seat from, Seat to) const;
  std::uint64_t FirstWay(Seat from, Seat to, Port exit, Port entry, std::uint32_t flow,
                         std::uint64_t ways) const;

  NodePlan plan_;
  std::shared_ptr<const PortNetwork> network_;
  RoutingRule rule_;
  std::shared_ptr<const LinkFaults> faults_;
  std::shared_ptr<const Router> search_;
};

}  // namespace topologies

#endif  // TOPOLOGIES_NODE_ROUTER_H_
