// NodePlan: where everything is in a fabric made of equal nodes, in closed
// form, so that a route is a handful of additions.
//
// Each node has the same vertices and the same block of links, in this order:
//
//   NVLink   device i <-> the NVLink switch
//   PCIe     device i <-> PCIe switch (one a NIC, or one a device without NICs)
//   host     PCIe switch j <-> host
//   adapter  PCIe switch j <-> NIC j
//   port     NIC j (device i, without NICs) <-> its leaf or the single switch
//
// After the nodes come the links leaf <-> spines, rail by rail. A link and its
// way back have neighbouring ids; the way up (out of the device) is even.

#ifndef TOPOLOGIES_NODE_PLAN_H_
#define TOPOLOGIES_NODE_PLAN_H_

#include <cstdint>

#include "sim/base/index.h"
#include "sim/base/node_shape.h"
#include "topologies/fabric.h"

namespace topologies {

enum class Network : std::uint8_t { kNone, kRails, kSwitch };

struct NodePlan {
  sim::NodeShape shape;
  Network network = Network::kNone;
  std::uint32_t nodes = 1;
  std::uint32_t devices = 1;       // in each node; fewer than the shape's in a lone partial node
  std::uint32_t nics = 0;          // vertices a node: several NICs of one device are one
  std::uint32_t nics_bundled = 1;  // NICs behind one such vertex
  std::uint32_t switches = 0;      // PCIe switches a node; 0 = no PCIe in this fabric
  bool nvlink = false;
  bool device_ports = false;  // the single switch is cabled to devices, not NICs
  std::uint32_t nodes_per_leaf = 1;
  std::uint32_t leafs = 0;   // a rail
  std::uint32_t spines = 0;  // a rail; 0 = one leaf a rail, nothing above it
  sim::Duration switch_latency;

  // The NIC vertex, PCIe switch and rail of the device with this index in its node.
  std::uint32_t NicOf(std::uint32_t device) const;
  std::uint32_t PcieSwitchOf(std::uint32_t device) const { return nics > 0 ? NicOf(device) : device; }

  // The way up of each cable. The way down is the next id.
  sim::LinkId Nvlink(std::uint32_t node, std::uint32_t device) const { return In(node, 0, device); }
  sim::LinkId Pcie(std::uint32_t node, std::uint32_t device) const;
  sim::LinkId Host(std::uint32_t node, std::uint32_t pcie_switch) const;
  sim::LinkId Adapter(std::uint32_t node, std::uint32_t nic) const;
  sim::LinkId Port(std::uint32_t node, std::uint32_t nic_or_device) const;
  sim::LinkId Uplink(std::uint32_t rail, std::uint32_t leaf) const;

  std::uint32_t ports() const;  // cables from a node to the network
  std::uint32_t cables_per_node() const;

 private:
  sim::LinkId In(std::uint32_t node, std::uint32_t cables_before, std::uint32_t position) const {
    return sim::LinkId(2 * (node * cables_per_node() + cables_before + position));
  }
};

// Routes of such a fabric:
//
//   same node     NVLink; without it PCIe, through the host between PCIe switches
//   other node    PCIe, NIC, leaf (spines, leaf), NIC, PCIe. Where the two rails differ, first one
//                 hop inside the source node to the device beside the destination's NIC (NCCL's
//                 PXN); without NVLink through the host to that NIC's PCIe switch.
//   single switch as between nodes, each device through its own NIC
//
// Source of PXN: NVIDIA, "Doubling all2all performance with NCCL 2.12", 2022.
class NodeRouter final : public Router {
 public:
  explicit NodeRouter(const NodePlan& plan) : plan_(plan) {}
  Route Between(std::uint32_t from_device, std::uint32_t to_device) const override;
  std::optional<Route> ToNvSwitch(std::uint32_t device) const override;
  std::optional<Route> FromNvSwitch(std::uint32_t device) const override;

 private:
  std::optional<Route> NvSwitchLink(std::uint32_t device, bool up) const;

  NodePlan plan_;
};

}  // namespace topologies

#endif  // TOPOLOGIES_NODE_PLAN_H_
