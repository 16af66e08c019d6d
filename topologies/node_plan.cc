#include "topologies/node_plan.h"

#include <utility>

#include "sim/base/check.h"

namespace topologies {
namespace {

// A device's place.
struct Seat {
  std::uint32_t node, device;
};

// Writes a route down, link by link.
class Path {
 public:
  explicit Path(const NodePlan& plan) : plan_(plan) { route_.uses.reserve(12); }

  // From device to device through the node's NVLink switch.
  void Nvlink(std::uint32_t node, std::uint32_t from, std::uint32_t to) {
    Up(plan_.Nvlink(node, from), plan_.shape.nvlink_latency);
    Down(plan_.Nvlink(node, to), plan_.shape.nvlink_latency);
  }
  void DeviceToPcie(Seat from) { Up(plan_.Pcie(from.node, from.device), plan_.shape.pcie_latency); }
  void PcieToDevice(Seat to) { Down(plan_.Pcie(to.node, to.device), plan_.shape.pcie_latency); }
  void ThroughHost(std::uint32_t node, std::uint32_t from_switch, std::uint32_t to_switch) {
    if (from_switch == to_switch) return;
    Up(plan_.Host(node, from_switch), plan_.shape.pcie_latency);
    Down(plan_.Host(node, to_switch), plan_.shape.pcie_latency);
  }
  void PcieToNetwork(std::uint32_t node, std::uint32_t nic) {
    Up(plan_.Adapter(node, nic), plan_.shape.pcie_latency);
    Up(plan_.Port(node, nic), plan_.shape.nic_latency + plan_.switch_latency);
  }
  void NetworkToPcie(std::uint32_t node, std::uint32_t nic) {
    Down(plan_.Port(node, nic), plan_.shape.nic_latency);
    Down(plan_.Adapter(node, nic), plan_.shape.pcie_latency);
  }
  void BetweenLeafs(std::uint32_t rail, std::uint32_t from_leaf, std::uint32_t to_leaf) {
    if (from_leaf == to_leaf) return;
    Up(plan_.Uplink(rail, from_leaf), plan_.switch_latency);
    Down(plan_.Uplink(rail, to_leaf), plan_.switch_latency);
  }
  void DeviceToNetwork(Seat from) {
    Up(plan_.Port(from.node, from.device), plan_.shape.nic_latency + plan_.switch_latency);
  }
  void NetworkToDevice(Seat to) { Down(plan_.Port(to.node, to.device), plan_.shape.nic_latency); }

  Route Take() { return std::move(route_); }

 private:
  void Up(sim::LinkId cable, sim::Duration latency) { Use(cable, latency); }
  void Down(sim::LinkId cable, sim::Duration latency) { Use(sim::LinkId(cable.value() + 1), latency); }
  void Use(sim::LinkId link, sim::Duration latency) {
    route_.uses.push_back({link, 1});
    route_.latency += latency;
  }

  const NodePlan& plan_;
  Route route_;
};

void InsideNode(const NodePlan& plan, Seat from, Seat to, Path& path) {
  if (plan.nvlink) {
    path.Nvlink(from.node, from.device, to.device);
  } else if (plan.device_ports) {
    path.DeviceToNetwork(from);
    path.NetworkToDevice(to);
  } else {
    path.DeviceToPcie(from);
    path.ThroughHost(from.node, plan.PcieSwitchOf(from.device), plan.PcieSwitchOf(to.device));
    path.PcieToDevice(to);
  }
}

void AcrossRails(const NodePlan& plan, Seat from, Seat to, Path& path) {
  const std::uint32_t rail = plan.NicOf(to.device);
  if (plan.NicOf(from.device) != rail && plan.nvlink) {
    path.Nvlink(from.node, from.device, to.device);  // to the device at the destination's place in this node
    from.device = to.device;
  }
  path.DeviceToPcie(from);
  path.ThroughHost(from.node, plan.NicOf(from.device), rail);
  path.PcieToNetwork(from.node, rail);
  path.BetweenLeafs(rail, from.node / plan.nodes_per_leaf, to.node / plan.nodes_per_leaf);
  path.NetworkToPcie(to.node, rail);
  path.PcieToDevice(to);
}

void AcrossSwitch(const NodePlan& plan, Seat from, Seat to, Path& path) {
  if (plan.device_ports) {
    path.DeviceToNetwork(from);
    path.NetworkToDevice(to);
    return;
  }
  path.DeviceToPcie(from);
  path.PcieToNetwork(from.node, plan.NicOf(from.device));
  path.NetworkToPcie(to.node, plan.NicOf(to.device));
  path.PcieToDevice(to);
}

}  // namespace

std::uint32_t NodePlan::NicOf(std::uint32_t device) const {
  const auto in_shape = static_cast<std::uint32_t>(shape.devices);
  const auto nics_in_shape = static_cast<std::uint32_t>(shape.nics);
  return nics_in_shape < in_shape ? device * nics_in_shape / in_shape : device;
}

std::uint32_t NodePlan::ports() const {
  if (network == Network::kNone) return 0;
  return device_ports ? devices : nics;
}

std::uint32_t NodePlan::cables_per_node() const {
  const std::uint32_t pcie = switches > 0 ? devices + switches + nics : 0;
  return (nvlink ? devices : 0) + pcie + ports();
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

sim::LinkId NodePlan::Port(std::uint32_t node, std::uint32_t nic_or_device) const {
  return In(node, cables_per_node() - ports(), nic_or_device);
}

sim::LinkId NodePlan::Uplink(std::uint32_t rail, std::uint32_t leaf) const {
  return sim::LinkId(2 * (nodes * cables_per_node() + rail * leafs + leaf));
}

Route NodeRouter::Between(std::uint32_t from_device, std::uint32_t to_device) const {
  CHECK(from_device < plan_.nodes * plan_.devices && to_device < plan_.nodes * plan_.devices);
  CHECK(from_device != to_device);
  const Seat from{from_device / plan_.devices, from_device % plan_.devices};
  const Seat to{to_device / plan_.devices, to_device % plan_.devices};
  Path path(plan_);
  if (from.node == to.node) {
    InsideNode(plan_, from, to, path);
  } else if (plan_.network == Network::kRails) {
    AcrossRails(plan_, from, to, path);
  } else {
    AcrossSwitch(plan_, from, to, path);
  }
  return path.Take();
}

std::optional<Route> NodeRouter::NvSwitchLink(std::uint32_t device, bool up) const {
  CHECK(device < plan_.nodes * plan_.devices);
  if (!plan_.nvlink) return std::nullopt;
  const sim::LinkId link = plan_.Nvlink(device / plan_.devices, device % plan_.devices);
  return Route{.uses = {{up ? link : sim::LinkId(link.value() + 1), 1}},
               .latency = plan_.shape.nvlink_latency};
}

std::optional<Route> NodeRouter::ToNvSwitch(std::uint32_t device) const { return NvSwitchLink(device, true); }
std::optional<Route> NodeRouter::FromNvSwitch(std::uint32_t device) const {
  return NvSwitchLink(device, false);
}

}  // namespace topologies
