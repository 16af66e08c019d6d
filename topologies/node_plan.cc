#include "topologies/node_plan.h"

namespace topologies {

std::uint32_t NodePlan::NicOf(std::uint32_t device) const {
  const auto in_shape = static_cast<std::uint32_t>(shape.devices);
  const auto nics_in_shape = static_cast<std::uint32_t>(shape.nics);
  return nics_in_shape < in_shape ? device * nics_in_shape / in_shape : device;
}

std::uint32_t NodePlan::BridgeOf(std::uint32_t pcie_switch) const {
  const auto in_shape = static_cast<std::uint32_t>(shape.devices);
  const std::uint32_t all = shape.nics > 0 ? NicOf(in_shape - 1) + 1 : in_shape;
  return shape.between_sockets > sim::ByteRate() ? pcie_switch * 2 / all : 0;
}

std::uint32_t NodePlan::ports() const {
  if (!networked) return 0;
  return device_ports ? devices : nics;
}

std::uint32_t NodePlan::cables_per_node() const {
  std::uint32_t pcie = switches > 0 ? devices + switches + nics : 0;
  if (bridges > 0) pcie += switches + (bridges - 1);
  return (nvlink ? devices : 0) + pcie + ports() * planes;
}

sim::LinkId NodePlan::Pcie(std::uint32_t node, std::uint32_t device) const {
  return In(node, nvlink ? devices : 0, device);
}

sim::LinkId NodePlan::Host(std::uint32_t node, std::uint32_t pcie_switch) const {
  return In(node, (nvlink ? devices : 0) + devices, pcie_switch);
}

sim::LinkId NodePlan::Adapter(std::uint32_t node, std::uint32_t nic) const {
  return In(node, (nvlink ? devices : 0) + devices + switches, nic);
}

sim::LinkId NodePlan::Bridge(std::uint32_t node, std::uint32_t pcie_switch) const {
  return In(node, (nvlink ? devices : 0) + devices + switches + nics, pcie_switch);
}

sim::LinkId NodePlan::Sockets(std::uint32_t node) const { return Bridge(node, switches); }

sim::LinkId NodePlan::OfPort(std::uint32_t node, std::uint32_t nic_or_device, std::uint32_t plane) const {
  return In(node, cables_per_node() - ports() * planes, nic_or_device * planes + plane);
}

}  // namespace topologies
