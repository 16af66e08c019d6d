#include "topologies/node_construction.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "topologies/cables.h"
#include "topologies/clos_plan.h"
#include "topologies/faults.h"
#include "topologies/node_router.h"
#include "topologies/shortest_path_router.h"

namespace topologies {
namespace {

using std::to_string;

std::uint32_t Narrow(std::int64_t n) { return static_cast<std::uint32_t>(n); }

std::optional<sim::Error> FaultOf(const sim::NodeShape& node) {
  if (node.devices < 1 || node.devices > 1024) {
    return sim::Error{Called(node) + " has " + to_string(node.devices) + " devices; 1 to 1024 can be built"};
  }
  if (node.nics < 0 || (node.nics > node.devices && node.nics % node.devices != 0)) {
    return sim::Error{Called(node) + " has " + to_string(node.nics) +
                      " NICs, which do not divide evenly among " + to_string(node.devices) + " devices"};
  }
  if (!Fits(std::max(1, node.nics / node.devices), std::max(node.pcie, node.nic))) {
    return sim::Error{"the NICs of a device of " + Called(node) + " add up to more than 9.2e15 B/s"};
  }
  const std::pair<const char*, sim::ByteRate> rates[] = {{"NVLink", node.nvlink},
                                                         {"PCIe", node.pcie},
                                                         {"NIC", node.nic},
                                                         {"host bridge", node.host_bridge},
                                                         {"socket", node.between_sockets}};
  for (const auto& [what, rate] : rates) {
    if (rate != sim::ByteRate() && rate < kSlowest) {
      return sim::Error{std::string("the ") + what + " rate of " + Called(node) + " is below 1 kB/s"};
    }
  }
  return std::nullopt;
}

// How many nodes, and how full. Only a lone node may be filled in part.
std::optional<sim::Error> Seat(std::int64_t devices, NodePlan* plan) {
  const std::int64_t per_node = plan->shape.devices;
  if (devices > per_node && devices % per_node != 0) {
    const std::int64_t below = devices / per_node * per_node;
    return sim::Error{to_string(devices) + " devices do not fill nodes of " + to_string(per_node) +
                      " (uneven nodes are not supported); " + to_string(below) + " and " +
                      to_string(below + per_node) + " do"};
  }
  plan->devices = Narrow(std::min(devices, per_node));
  plan->nodes = Narrow(devices / plan->devices);
  return std::nullopt;
}

// What a node has in this fabric, once it is known whether ports are cabled.
std::optional<sim::Error> Furnish(NodePlan* plan) {
  const sim::NodeShape& node = plan->shape;
  const bool with_nics = plan->networked && node.nics > 0;
  plan->device_ports = plan->networked && node.nics == 0;
  plan->nvlink = node.nvlink > sim::ByteRate() && plan->devices > 1;
  if (with_nics) {
    plan->nics = plan->NicOf(plan->devices - 1) + 1;
    plan->nics_bundled = Narrow(std::max(1, node.nics / node.devices));
    if (node.nic == sim::ByteRate()) return sim::Error{"the NIC rate of " + Called(node) + " is zero"};
  }
  const bool needs_pcie = with_nics || (!plan->nvlink && !plan->device_ports && plan->devices > 1);
  if (node.pcie > sim::ByteRate()) {
    const bool through_host = node.host_bridge > sim::ByteRate() && !plan->nvlink && !plan->device_ports;
    plan->shares_switches = through_host && node.nics > 0;
    plan->switches = plan->PcieSwitchOf(plan->devices - 1) + 1;
    if (through_host && plan->switches > 1) plan->bridges = plan->BridgeOf(plan->switches - 1) + 1;
  } else if (needs_pcie) {
    return sim::Error{"the PCIe rate of " + Called(node) + " is zero" +
                      (with_nics ? ", so no device reaches its NIC" : " and so is its NVLink rate")};
  }
  return std::nullopt;
}

// A save's routes have no other way.
std::optional<sim::Error> Delay(const LinkFaults& faults, const Fabric& fabric, std::vector<Route>* routes) {
  for (Route& route : *routes) {
    for (const RouteUse& use : route.uses) {
      if (use.link.pos() >= faults.failed.size()) continue;  // storage's own
      if (faults.failed[use.link.pos()]) {
        return sim::Error{"copies to hosts and saves need " + fabric.LinkName(use.link) +
                          ", which has failed; they do not go round failed links"};
      }
      route.latency += faults.slower[use.link.pos()];
    }
  }
  return std::nullopt;
}

}  // namespace

std::string Called(const sim::NodeShape& node) { return "node \"" + node.name + "\""; }

sim::Result<NodePlan> PlanNodes(const sim::NodeShape& node, std::int64_t devices, bool networked,
                                std::int64_t planes) {
  NodePlan plan;
  plan.shape = node;
  plan.networked = networked;
  plan.planes = Narrow(planes);
  if (const auto fault = FaultOf(node)) return *fault;
  if (const auto fault = Seat(devices, &plan)) return *fault;
  if (const auto fault = Furnish(&plan)) return *fault;
  return plan;
}

NodeConstruction::NodeConstruction(const std::string& name, const NodePlan& plan,
                                   std::shared_ptr<PortNetwork> network)
    : plan_(plan), network_(std::move(network)), builder_(name) {
  pcie_ = plan.devices + (plan.nvlink ? 1 : 0);
  host_ = pcie_ + plan.switches;
  nic_ = host_ + (plan.switches > 0 ? 1 : 0);
  bridge_ = nic_ + plan.nics;
  vertices_per_node_ = bridge_ + plan.bridges;
}

sim::Result<Fabric> NodeConstruction::Build(sim::ByteRate port, const RoutingRule& rule,
                                            const std::vector<LinkFault>& faults,
                                            const std::optional<StorageSpec>& storage) && {
  for (std::uint32_t node = 0; node < plan_.nodes; ++node) AddNode(node);
  if (network_ != nullptr) network_->AddElements(&builder_);
  for (std::uint32_t node = 0; node < plan_.nodes; ++node) {
    CableNode(node);
    CablePorts(node, port);
  }
  if (network_ != nullptr) network_->AddCables(&builder_);
  const auto found = ApplyFaults(faults, builder_.fabric().vertices, builder_.links());
  if (!found.ok()) {
    return sim::Error{"topology \"" + builder_.fabric().name + "\": " + found.error().message};
  }
  std::shared_ptr<const Router> search;
  const auto& links = builder_.fabric().links;
  if (std::any_of(links.begin(), links.end(), [](const Link& link) { return link.failed; })) {
    search = std::make_shared<ShortestPathRouter>(builder_.fabric());
  }
  if (storage.has_value()) {
    if (auto refusal = Attach(*storage, found.value().get())) return *std::move(refusal);
  }
  return std::move(builder_).Build(
      std::make_shared<NodeRouter>(plan_, network_, rule, found.value(), std::move(search)));
}

std::optional<sim::Error> NodeConstruction::Attach(const StorageSpec& storage, const LinkFaults* faults) {
  if (auto refusal = RefuseStorage(plan_, network_.get(), storage)) return refusal;
  std::vector<VertexId> hosts;
  for (std::uint32_t node = 0; node < plan_.nodes; ++node) hosts.push_back(At(node, host_));
  StorageRoutes routes = AttachStorage(plan_, network_.get(), storage, hosts, &builder_);
  for (std::vector<Route>* some : {&routes.to_host, &routes.to_device, &routes.write, &routes.read}) {
    if (faults == nullptr) break;
    if (auto refusal = Delay(*faults, builder_.fabric(), some)) return refusal;
  }
  builder_.SetStorage(std::move(routes));
  return std::nullopt;
}

void NodeConstruction::AddNode(std::uint32_t node) {
  const std::string prefix = "node" + to_string(node) + '/';
  for (std::uint32_t i = 0; i < plan_.devices; ++i) {
    builder_.AddDevice(prefix + "gpu" + to_string(i), node, plan_.nics > 0 ? plan_.NicOf(i) : i);
  }
  if (plan_.nvlink) builder_.Add(VertexKind::kNvSwitch, prefix + "nvswitch");
  for (std::uint32_t j = 0; j < plan_.switches; ++j) {
    builder_.Add(VertexKind::kPcieSwitch, prefix + "pcie" + to_string(j));
  }
  if (plan_.switches > 0) builder_.Add(VertexKind::kHost, prefix + "host");
  for (std::uint32_t j = 0; j < plan_.nics; ++j) {
    builder_.Add(VertexKind::kNic, prefix + "nic" + to_string(j), plan_.nics_bundled);
  }
  for (std::uint32_t j = 0; j < plan_.bridges; ++j) {
    builder_.Add(VertexKind::kPcieSwitch, prefix + "bridge" + to_string(j));
  }
}

void NodeConstruction::CableNode(std::uint32_t node) {
  const sim::NodeShape& shape = plan_.shape;
  for (std::uint32_t i = 0; plan_.nvlink && i < plan_.devices; ++i) {
    Cable(plan_.Nvlink(node, i), At(node, i), At(node, plan_.devices), shape.nvlink, shape.nvlink_latency);
  }
  if (plan_.switches == 0) return;
  for (std::uint32_t i = 0; i < plan_.devices; ++i) {
    Cable(plan_.Pcie(node, i), At(node, i), At(node, pcie_ + plan_.PcieSwitchOf(i)), shape.pcie,
          shape.pcie_latency);
  }
  for (std::uint32_t j = 0; j < plan_.switches; ++j) {
    Cable(plan_.Host(node, j), At(node, pcie_ + j), At(node, host_), shape.pcie, shape.pcie_latency);
  }
  for (std::uint32_t j = 0; j < plan_.nics; ++j) {
    Cable(plan_.Adapter(node, j), At(node, pcie_ + j), At(node, nic_ + j),
          Times(plan_.nics_bundled, shape.pcie), shape.pcie_latency, plan_.nics_bundled);
  }
  for (std::uint32_t j = 0; plan_.bridges > 0 && j < plan_.switches; ++j) {
    Cable(plan_.Bridge(node, j), At(node, pcie_ + j), At(node, bridge_ + plan_.BridgeOf(j)),
          shape.host_bridge, shape.host_bridge_latency);
  }
  if (plan_.bridges == 2) {
    Cable(plan_.Sockets(node), At(node, bridge_), At(node, bridge_ + 1), shape.between_sockets,
          shape.between_sockets_latency);
  }
}

void NodeConstruction::CablePorts(std::uint32_t node, sim::ByteRate rate) {
  const sim::Duration latency = plan_.shape.nic_latency;
  for (std::uint32_t j = 0; j < plan_.ports(); ++j) {
    for (std::uint32_t plane = 0; plane < plan_.planes; ++plane) {
      const VertexId end = At(node, plan_.device_ports ? j : nic_ + j);
      const sim::LinkId up =
          builder_.AddCable(end, network_->SwitchOf({node, j, plane}), rate,
                            latency + network_->switch_latency(), latency, plan_.nics_bundled);
      CHECK(up == plan_.OfPort(node, j, plane));
    }
  }
}

void NodeConstruction::Cable(sim::LinkId planned, VertexId a, VertexId b, sim::ByteRate rate,
                             sim::Duration latency, std::uint32_t cables) {
  CHECK(builder_.AddCable(a, b, rate, latency, latency, cables) == planned);
}

}  // namespace topologies
