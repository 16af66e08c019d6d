// NodePlan: where everything is in a fabric made of equal nodes, in closed
// form, so that a route is a handful of additions.
//
// Each node has the same vertices and the same block of links, in this order:
//
//   NVLink   device i <-> the NVLink switch
//   PCIe     device i <-> PCIe switch (one a NIC, or one a device without NICs)
//   host     PCIe switch j <-> host
//   adapter  PCIe switch j <-> NIC j
//   bridge   PCIe switch j <-> its processor's host bridge, where shapes have one
//   sockets  the bridges of two processors
//   port     NIC j (device i, without NICs) <-> its switch, in each plane
//
// After the nodes come the links of the network. A link and its way back have
// neighbouring ids; the way up (out of the device) is even.

#ifndef TOPOLOGIES_NODE_PLAN_H_
#define TOPOLOGIES_NODE_PLAN_H_

#include <cstdint>

#include "sim/base/index.h"
#include "sim/base/node_shape.h"
#include "topologies/fabric.h"

namespace topologies {

struct NodePlan {
  sim::NodeShape shape;
  bool networked = false;  // whether ports are cabled
  std::uint32_t nodes = 1;
  std::uint32_t devices = 1;       // in each node; fewer than the shape's in a lone partial node
  std::uint32_t nics = 0;          // vertices a node: several NICs of one device are one
  std::uint32_t nics_bundled = 1;  // NICs behind one such vertex
  std::uint32_t switches = 0;      // PCIe switches a node; 0 = no PCIe in this fabric
  bool nvlink = false;
  std::uint32_t bridges = 0;     // processors whose bridges join PCIe switches; 0 = switches meet at the host
  bool shares_switches = false;  // devices share PCIe switches as they do NICs, also without NICs
  bool device_ports = false;     // the network is cabled to devices, not NICs
  std::uint32_t planes = 1;      // cables of a port, each to a network of its own

  // The NIC vertex, PCIe switch and rail of the device with this index in its node.
  std::uint32_t NicOf(std::uint32_t device) const;
  std::uint32_t PcieSwitchOf(std::uint32_t device) const {
    return nics > 0 || shares_switches ? NicOf(device) : device;
  }
  // The processor whose bridge a PCIe switch is below.
  std::uint32_t BridgeOf(std::uint32_t pcie_switch) const;

  // The way up of each cable. The way down is the next id.
  sim::LinkId Nvlink(std::uint32_t node, std::uint32_t device) const { return In(node, 0, device); }
  sim::LinkId Pcie(std::uint32_t node, std::uint32_t device) const;
  sim::LinkId Host(std::uint32_t node, std::uint32_t pcie_switch) const;
  sim::LinkId Adapter(std::uint32_t node, std::uint32_t nic) const;
  sim::LinkId Bridge(std::uint32_t node, std::uint32_t pcie_switch) const;
  sim::LinkId Sockets(std::uint32_t node) const;  // up is from the first processor's bridge
  sim::LinkId OfPort(std::uint32_t node, std::uint32_t nic_or_device, std::uint32_t plane = 0) const;

  std::uint32_t ports() const;  // of a node; each has a cable a plane
  std::uint32_t cables_per_node() const;

 private:
  sim::LinkId In(std::uint32_t node, std::uint32_t cables_before, std::uint32_t position) const {
    return sim::LinkId(2 * (node * cables_per_node() + cables_before + position));
  }
};

}  // namespace topologies

#endif  // TOPOLOGIES_NODE_PLAN_H_
