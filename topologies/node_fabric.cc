#include "topologies/node_fabric.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "sim/base/check.h"
#include "topologies/cables.h"
#include "topologies/clos_plan.h"
#include "topologies/dragonfly_network.h"
#include "topologies/node_construction.h"
#include "topologies/torus_network.h"

namespace topologies {
namespace {

using std::to_string;

// What every family builds from.
struct Job {
  const TopologySpec& topology;
  const sim::NodeShape& node;
  std::int64_t devices;
  const std::optional<StorageSpec>& storage;

  sim::Result<Fabric> Build(const NodePlan& plan, std::shared_ptr<PortNetwork> network, sim::ByteRate port,
                            const RoutingRule& rule) const {
    return NodeConstruction(topology.name, plan, std::move(network))
        .Build(port, rule, topology.faults, storage);
  }
};

sim::Error NoNic(const Job& job, std::uint32_t nodes) {
  return {Called(job.node) + " has no NIC, so topology \"" + job.topology.name + "\" cannot connect " +
          to_string(nodes) + " of them"};
}

sim::Result<Fabric> Build(const SingleNodeSpec&, const Job& job) {
  if (job.node.devices > 0 && job.devices > job.node.devices) {
    return sim::Error{Called(job.node) + " has " + to_string(job.node.devices) + " devices, not " +
                      to_string(job.devices) + "; topology \"" + job.topology.name +
                      "\" is a single node; rail_optimised_ndr connects many"};
  }
  const auto plan = PlanNodes(job.node, job.devices, /*networked=*/false);
  if (!plan.ok()) return plan.error();
  return job.Build(plan.value(), nullptr, {}, {});
}

sim::Result<Fabric> Build(const RailOptimisedSpec& spec, const Job& job) {
  const auto plan = PlanNodes(job.node, job.devices, job.node.nics > 0);
  if (!plan.ok()) return plan.error();
  const NodePlan& nodes = plan.value();
  if (!nodes.networked && nodes.nodes > 1) return NoNic(job, nodes.nodes);
  const auto leafs = PlanRails(spec, nodes);
  if (!leafs.ok()) return leafs.error();
  if (!nodes.networked) return job.Build(nodes, nullptr, {}, {});
  return job.Build(nodes, std::make_shared<ClosNetwork>(leafs.value()),
                   Times(nodes.nics_bundled, job.node.nic), {.pxn = true});
}

sim::Result<Fabric> Build(const SingleSwitchSpec& spec, const Job& job) {
  const auto plan = PlanNodes(job.node, job.devices, /*networked=*/true);
  if (!plan.ok()) return plan.error();
  const NodePlan& nodes = plan.value();
  const bool ports_given = spec.port > sim::ByteRate();
  if (nodes.device_ports && !ports_given) {
    return sim::Error{"topology \"" + job.topology.name + "\" gives its ports no rate, and " +
                      Called(job.node) + " has no NIC that would"};
  }
  const std::int64_t cables = std::int64_t{nodes.nodes} * nodes.ports() * nodes.nics_bundled;
  if (spec.switch_ports > 0 && cables > spec.switch_ports) {
    return sim::Error{to_string(cables) + " cables need as many ports; the switch of topology \"" +
                      job.topology.name + "\" has " + to_string(spec.switch_ports)};
  }
  const sim::ByteRate port = nodes.device_ports ? spec.port
                             : ports_given      ? std::min(spec.port, job.node.nic)
                                                : job.node.nic;
  return job.Build(nodes, std::make_shared<SwitchNetwork>(spec.switch_latency),
                   Times(nodes.nics_bundled, port), {});
}

sim::Result<Fabric> Build(const FatTreeSpec& spec, const Job& job) {
  const auto plan = PlanNodes(job.node, job.devices, job.node.nics > 0, spec.planes);
  if (!plan.ok()) return plan.error();
  const NodePlan& nodes = plan.value();
  if (!nodes.networked) {
    if (nodes.nodes > 1) return NoNic(job, nodes.nodes);
    return job.Build(nodes, nullptr, {}, {});
  }
  if (spec.rails == RailKind::kOnly && nodes.nics > 1 && !nodes.nvlink) {
    return sim::Error{"rails that no switch joins need NVLink between the devices of a node; " +
                      Called(job.node) + " has none"};
  }
  const auto clos = PlanFatTree(spec, nodes);
  if (!clos.ok()) return clos.error();
  const sim::ByteRate port =
      sim::ByteRate::MilliBytesPerSecond(Times(nodes.nics_bundled, job.node.nic).milli() / spec.planes);
  if (port < kSlowest) return sim::Error{"a NIC's part of a plane is below 1 kB/s"};
  RoutingRule rule = spec.routing;
  rule.pxn = spec.rails != RailKind::kShared && nodes.nvlink;
  return job.Build(nodes, std::make_shared<ClosNetwork>(clos.value()), port, rule);
}

// Tori and dragonflies: a network of one plane, without rails.
template <class Spec, class Refuse, class Make>
sim::Result<Fabric> BuildPlain(const Spec& spec, const Job& job, Refuse refuse, Make make) {
  const auto plan = PlanNodes(job.node, job.devices, job.node.nics > 0);
  if (!plan.ok()) return plan.error();
  const NodePlan& nodes = plan.value();
  if (!nodes.networked && nodes.nodes > 1) return NoNic(job, nodes.nodes);
  if (const auto refusal = refuse(spec, nodes)) return *refusal;
  if (!nodes.networked) return job.Build(nodes, nullptr, {}, {});
  return job.Build(nodes, make(nodes), Times(nodes.nics_bundled, job.node.nic), {});
}

sim::Result<Fabric> Build(const TorusSpec& spec, const Job& job) {
  return BuildPlain(spec, job, RefuseTorus,
                    [&](const NodePlan&) { return std::make_shared<TorusNetwork>(spec); });
}

sim::Result<Fabric> Build(const DragonflyPlusSpec& spec, const Job& job) {
  return BuildPlain(spec, job, RefuseDragonfly,
                    [&](const NodePlan& nodes) { return std::make_shared<DragonflyNetwork>(spec, nodes); });
}

sim::Result<Fabric> Build(const ExplicitSpec&, const Job&) {
  CHECK(false);
  return sim::Error{""};
}

}  // namespace

sim::Result<Fabric> BuildNodeFabric(const TopologySpec& topology, const sim::NodeShape& node,
                                    std::int64_t devices, const std::optional<StorageSpec>& storage) {
  const Job job{topology, node, devices, storage};
  return std::visit([&](const auto& family) { return Build(family, job); }, topology.family);
}

}  // namespace topologies
