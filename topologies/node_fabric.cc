// The families made of equal nodes: single node, rail optimised, single switch.

#include "topologies/node_fabric.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/check.h"
#include "topologies/fabric_builder.h"
#include "topologies/node_plan.h"

namespace topologies {
namespace {

using std::to_string;

std::uint32_t Narrow(std::int64_t n) { return static_cast<std::uint32_t>(n); }

// Whether a rate of n cables can be told in a ByteRate.
bool Fits(std::int64_t n, sim::ByteRate rate) { return n == 0 || rate.milli() <= INT64_MAX / n; }

// Several cables as one link. REQUIRES: Fits(n, rate)
sim::ByteRate Times(std::int64_t n, sim::ByteRate rate) {
  CHECK(Fits(n, rate));
  return sim::ByteRate::MilliBytesPerSecond(n * rate.milli());
}

std::string Called(const sim::NodeShape& node) { return "node \"" + node.name + "\""; }

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
  const std::pair<const char*, sim::ByteRate> rates[] = {
      {"NVLink", node.nvlink}, {"PCIe", node.pcie}, {"NIC", node.nic}};
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

// What a node has in this fabric, once it is known whether NICs are cabled.
std::optional<sim::Error> Furnish(bool with_nics, NodePlan* plan) {
  const sim::NodeShape& node = plan->shape;
  plan->nvlink = node.nvlink > sim::ByteRate() && plan->devices > 1;
  if (with_nics) {
    plan->nics = plan->NicOf(plan->devices - 1) + 1;
    plan->nics_bundled = Narrow(std::max(1, node.nics / node.devices));
    if (node.nic == sim::ByteRate()) return sim::Error{"the NIC rate of " + Called(node) + " is zero"};
  }
  const bool needs_pcie = with_nics || (!plan->nvlink && !plan->device_ports && plan->devices > 1);
  if (node.pcie > sim::ByteRate()) {
    plan->switches = with_nics ? plan->nics : plan->devices;
  } else if (needs_pcie) {
    return sim::Error{"the PCIe rate of " + Called(node) + " is zero" +
                      (with_nics ? ", so no device reaches its NIC" : " and so is its NVLink rate")};
  }
  return std::nullopt;
}

// The fewest spines that give each of `leafs` leafs the same number of cables
// to each of them; 0 if no number of them has the ports.
std::int64_t SpinesFor(std::int64_t leafs, const RailOptimisedSpec& spec) {
  for (std::int64_t spines = 1; spines <= spec.uplinks_per_leaf; ++spines) {
    if (spec.uplinks_per_leaf % spines != 0) continue;
    if (spec.switch_ports == 0 || leafs * (spec.uplinks_per_leaf / spines) <= spec.switch_ports)
      return spines;
  }
  return 0;
}

std::optional<sim::Error> PlanLeafs(const RailOptimisedSpec& spec, NodePlan* plan) {
  if (spec.nodes_per_leaf < 1)
    return sim::Error{"nodes_per_leaf is " + to_string(spec.nodes_per_leaf) + "; 1 or more"};
  plan->nodes_per_leaf = Narrow(spec.nodes_per_leaf);
  plan->leafs = (plan->nodes + plan->nodes_per_leaf - 1) / plan->nodes_per_leaf;
  plan->switch_latency = spec.switch_latency;
  const std::int64_t nics = spec.nodes_per_leaf * plan->nics_bundled;
  if (spec.switch_ports > 0 && nics + spec.uplinks_per_leaf > spec.switch_ports) {
    return sim::Error{"a leaf has " + to_string(spec.switch_ports) + " ports, too few for " +
                      to_string(nics) + " NICs and " + to_string(spec.uplinks_per_leaf) +
                      " cables to spines"};
  }
  if (plan->leafs == 1) return std::nullopt;
  const std::string need = to_string(plan->nodes) + " nodes need " + to_string(plan->leafs) + " leafs a rail";
  if (spec.uplinks_per_leaf < 1) {
    return sim::Error{need + ", but uplinks_per_leaf is 0; without spines " + to_string(spec.nodes_per_leaf) +
                      " nodes do"};
  }
  if (spec.uplink < kSlowest)
    return sim::Error{"the rate of the cables between leaf and spine is below 1 kB/s"};
  if (!Fits(spec.uplinks_per_leaf, spec.uplink)) {
    return sim::Error{"the cables of a leaf to its spines add up to more than 9.2e15 B/s"};
  }
  const std::int64_t spines = SpinesFor(plan->leafs, spec);
  if (spines == 0) {
    return sim::Error{need + ", more than a spine of " + to_string(spec.switch_ports) +
                      " ports connects; up to " + to_string(spec.switch_ports * spec.nodes_per_leaf) +
                      " nodes do"};
  }
  plan->spines = Narrow(spines);
  return std::nullopt;
}

// Everything in its order: node by node, then leafs rail by rail, then spines.
class Construction {
 public:
  Construction(const std::string& name, const NodePlan& plan) : plan_(plan), builder_(name) {
    pcie_ = plan.devices + (plan.nvlink ? 1 : 0);
    host_ = pcie_ + plan.switches;
    nic_ = host_ + (plan.switches > 0 ? 1 : 0);
    vertices_per_node_ = nic_ + plan.nics;
  }

  // `port` is the rate between a node's port and the switch it is cabled to,
  // `uplinks` that of all cables between a leaf and its spines.
  sim::Result<Fabric> Build(sim::ByteRate port, sim::ByteRate uplinks,
                            const std::optional<StorageSpec>& storage) && {
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) AddNode(node);
    AddNetwork();
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) {
      CableNode(node);
      CablePorts(node, port);
    }
    if (plan_.spines > 0) CableSpines(uplinks);
    if (storage.has_value()) {
      if (auto refusal = RefuseStorage(plan_, *storage)) return *std::move(refusal);
      std::vector<VertexId> hosts;
      for (std::uint32_t node = 0; node < plan_.nodes; ++node) hosts.push_back(At(node, host_));
      builder_.SetStorage(AttachStorage(plan_, *storage, hosts, &builder_));
    }
    return std::move(builder_).Build(std::make_shared<NodeRouter>(plan_));
  }

 private:
  VertexId At(std::uint32_t node, std::uint32_t position) const {
    return VertexId(node * vertices_per_node_ + position);
  }
  // The switch `position` of the network, numbered after all nodes.
  VertexId Beyond(std::uint32_t position) const { return At(plan_.nodes, position); }

  void AddNode(std::uint32_t node) {
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
  }

  void AddNetwork() {
    if (plan_.network == Network::kSwitch) builder_.Add(VertexKind::kSwitch, "switch");
    if (plan_.network != Network::kRails) return;
    for (std::uint32_t rail = 0; rail < plan_.nics; ++rail) {
      for (std::uint32_t leaf = 0; leaf < plan_.leafs; ++leaf) {
        builder_.Add(VertexKind::kLeaf, "rail" + to_string(rail) + "/leaf" + to_string(leaf));
      }
    }
    for (std::uint32_t rail = 0; plan_.spines > 0 && rail < plan_.nics; ++rail) {
      std::string name = "rail" + to_string(rail) + "/spine0";
      if (plan_.spines > 1) name.append("-").append(to_string(plan_.spines - 1));
      builder_.Add(VertexKind::kSpine, std::move(name), plan_.spines);
    }
  }

  void CableNode(std::uint32_t node) {
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
            Times(plan_.nics_bundled, shape.pcie), shape.pcie_latency);
    }
  }

  void CablePorts(std::uint32_t node, sim::ByteRate rate) {
    const sim::Duration latency = plan_.shape.nic_latency;
    for (std::uint32_t j = 0; j < plan_.ports(); ++j) {
      const VertexId end = At(node, plan_.device_ports ? j : nic_ + j);
      const bool rails = plan_.network == Network::kRails;
      const VertexId beyond = Beyond(rails ? j * plan_.leafs + node / plan_.nodes_per_leaf : 0);
      const sim::LinkId up = builder_.AddCable(end, beyond, rate, latency + plan_.switch_latency, latency);
      CHECK(up == plan_.Port(node, j));
    }
  }

  // Even spraying loads all cables of a leaf alike, so they are one link of
  // their summed rate: x/S on each of S cables of rate c fits when x fits S*c.
  void CableSpines(sim::ByteRate rate) {
    for (std::uint32_t rail = 0; rail < plan_.nics; ++rail) {
      for (std::uint32_t leaf = 0; leaf < plan_.leafs; ++leaf) {
        Cable(plan_.Uplink(rail, leaf), Beyond(rail * plan_.leafs + leaf),
              Beyond(plan_.nics * plan_.leafs + rail), rate, plan_.switch_latency);
      }
    }
  }

  // The router counts on the id that the plan foresees.
  void Cable(sim::LinkId planned, VertexId a, VertexId b, sim::ByteRate rate, sim::Duration latency) {
    CHECK(builder_.AddCable(a, b, rate, latency, latency) == planned);
  }

  NodePlan plan_;
  FabricBuilder builder_;
  std::uint32_t pcie_, host_, nic_, vertices_per_node_;  // positions in a node; devices are first
};

}  // namespace

sim::Result<Fabric> BuildSingleNode(const std::string& name, const sim::NodeShape& node, std::int64_t devices,
                                    const std::optional<StorageSpec>& storage) {
  NodePlan plan;
  plan.shape = node;
  if (const auto fault = FaultOf(node)) return *fault;
  if (devices > node.devices) {
    return sim::Error{Called(node) + " has " + to_string(node.devices) + " devices, not " +
                      to_string(devices) + "; topology \"" + name +
                      "\" is a single node; rail_optimised_ndr connects many"};
  }
  if (const auto fault = Seat(devices, &plan)) return *fault;
  if (const auto fault = Furnish(false, &plan)) return *fault;
  return Construction(name, plan).Build(sim::ByteRate(), sim::ByteRate(), storage);
}

sim::Result<Fabric> BuildRailOptimised(const std::string& name, const RailOptimisedSpec& spec,
                                       const sim::NodeShape& node, std::int64_t devices,
                                       const std::optional<StorageSpec>& storage) {
  NodePlan plan;
  plan.shape = node;
  if (const auto fault = FaultOf(node)) return *fault;
  if (const auto fault = Seat(devices, &plan)) return *fault;
  if (node.nics == 0 && plan.nodes > 1) {
    return sim::Error{Called(node) + " has no NIC, so topology \"" + name + "\" cannot connect " +
                      to_string(plan.nodes) + " of them"};
  }
  plan.network = node.nics > 0 ? Network::kRails : Network::kNone;
  if (const auto fault = Furnish(node.nics > 0, &plan)) return *fault;
  if (const auto fault = PlanLeafs(spec, &plan)) return *fault;
  return Construction(name, plan)
      .Build(Times(plan.nics_bundled, node.nic), Times(spec.uplinks_per_leaf, spec.uplink), storage);
}

sim::Result<Fabric> BuildSingleSwitch(const std::string& name, const SingleSwitchSpec& spec,
                                      const sim::NodeShape& node, std::int64_t devices,
                                      const std::optional<StorageSpec>& storage) {
  NodePlan plan;
  plan.shape = node;
  plan.network = Network::kSwitch;
  plan.switch_latency = spec.switch_latency;
  if (const auto fault = FaultOf(node)) return *fault;
  if (const auto fault = Seat(devices, &plan)) return *fault;
  plan.device_ports = node.nics == 0;
  if (const auto fault = Furnish(node.nics > 0, &plan)) return *fault;
  const bool ports_given = spec.port > sim::ByteRate();
  if (plan.device_ports && !ports_given) {
    return sim::Error{"topology \"" + name + "\" gives its ports no rate, and " + Called(node) +
                      " has no NIC that would"};
  }
  const std::int64_t cables = std::int64_t{plan.nodes} * plan.ports() * plan.nics_bundled;
  if (spec.switch_ports > 0 && cables > spec.switch_ports) {
    return sim::Error{to_string(cables) + " cables need as many ports; the switch of topology \"" + name +
                      "\" has " + to_string(spec.switch_ports)};
  }
  const sim::ByteRate port = plan.device_ports ? spec.port
                             : ports_given     ? std::min(spec.port, node.nic)
                                               : node.nic;
  return Construction(name, plan).Build(Times(plan.nics_bundled, port), sim::ByteRate(), storage);
}

}  // namespace topologies
