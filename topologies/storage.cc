#include "topologies/storage.h"

#include <string>
#include <utility>
#include <vector>

#include "sim/base/check.h"
#include "topologies/fabric_builder.h"
#include "topologies/node_plan.h"
#include "topologies/port_network.h"
#include "topologies/topology.h"

namespace topologies {
namespace {

sim::LinkId WayBack(sim::LinkId cable) { return sim::LinkId(cable.value() + 1); }

// What storage adds to the plan.
struct AddedLinks {
  std::vector<sim::LinkId> memory;    // by node; both directions share it, as they share the DRAM
  std::vector<sim::LinkId> frontend;  // by node; the way in is the next id
  sim::LinkId write, read;
};

AddedLinks AddLinks(const NodePlan& plan, const StorageSpec& spec, std::span<const VertexId> hosts,
                    FabricBuilder* builder) {
  AddedLinks added;
  for (std::uint32_t node = 0; node < plan.nodes; ++node) {
    const std::string name = "node" + std::to_string(node) + "/memory";
    const VertexId memory = builder->Add(VertexKind::kMemory, name);
    added.memory.push_back(builder->AddLink(hosts[node], memory, plan.shape.host_memory, {}));
  }
  if (spec.servers == 0) return added;
  const VertexId storage = builder->Add(VertexKind::kStorage, "storage", spec.servers);
  const VertexId disks = builder->Add(VertexKind::kStorage, "disks", 0);
  for (std::uint32_t node = 0; spec.frontend > sim::ByteRate() && node < plan.nodes; ++node) {
    added.frontend.push_back(builder->AddCable(hosts[node], storage, spec.frontend, {}, {}));
  }
  added.write = builder->AddLink(storage, disks, spec.write, {});
  added.read = builder->AddLink(disks, storage, spec.read, {});
  return added;
}

// Copies cross the same cables both ways.
void AddCopies(const NodePlan& plan, std::uint32_t node, std::uint32_t device, sim::LinkId memory,
               StorageRoutes* routes) {
  const sim::LinkId lane = plan.Pcie(node, device), root = plan.Host(node, plan.PcieSwitchOf(device));
  const sim::Duration latency = 2 * plan.shape.pcie_latency;
  routes->to_host.push_back({.uses = {{lane}, {root}, {memory}}, .latency = latency});
  routes->memory.push_back(memory);
  routes->to_device.push_back({.uses = {{memory}, {WayBack(root)}, {WayBack(lane)}}, .latency = latency});
}

void AddTransfers(const NodePlan& plan, const PortNetwork* network, const StorageSpec& spec,
                  std::uint32_t node, std::uint32_t device, const AddedLinks& added, StorageRoutes* routes) {
  Route write{.uses = {{added.memory[node], spec.memory_passes}}};
  Route read{.uses = {{added.read}}};
  if (spec.frontend > sim::ByteRate()) {
    write.uses.push_back({added.frontend[node]});
    read.uses.push_back({WayBack(added.frontend[node])});
  } else {
    const std::uint32_t nic = plan.NicOf(device);
    const sim::LinkId up[] = {WayBack(plan.Host(node, nic)), plan.Adapter(node, nic), plan.OfPort(node, nic)};
    for (const sim::LinkId link : up) write.uses.push_back({link});
    const std::vector<sim::LinkId> climb = network->Climb({node, nic, 0}).value();
    for (const sim::LinkId link : climb) write.uses.push_back({link});
    for (std::size_t i = climb.size(); i-- > 0;) read.uses.push_back({WayBack(climb[i])});
    const sim::LinkId down[] = {WayBack(plan.OfPort(node, nic)), WayBack(plan.Adapter(node, nic)),
                                plan.Host(node, nic)};
    for (const sim::LinkId link : down) read.uses.push_back({link});
    write.latency = 2 * plan.shape.pcie_latency + plan.shape.nic_latency +
                    static_cast<std::int64_t>(climb.size() + 1) * network->switch_latency();
    read.latency = write.latency;
  }
  write.uses.push_back({added.write});
  read.uses.push_back({added.memory[node], spec.memory_passes});
  routes->write.push_back(std::move(write));
  routes->read.push_back(std::move(read));
}

}  // namespace

std::optional<sim::Error> RefuseStorage(const NodePlan& plan, const PortNetwork* network,
                                        const StorageSpec& spec) {
  const std::string node = "node \"" + plan.shape.name + "\"";
  if (plan.switches == 0) {
    return sim::Error{node + " has no PCIe here, so its devices do not reach their host's memory"};
  }
  if (plan.shape.host_memory < kSlowest) {
    return sim::Error{"the host memory of " + node + " has no rate"};
  }
  if (spec.servers > 0 && spec.frontend == sim::ByteRate() && plan.nics == 0) {
    return sim::Error{"NIC needs NICs, and this topology cables none of " + node + "; FRONTEND would do"};
  }
  const bool through_nics = spec.servers > 0 && spec.frontend == sim::ByteRate();
  if (through_nics && (plan.planes > 1 || !network->Climb({0, 0, 0}))) {
    return sim::Error{
        "NIC needs the top switches of one network of leafs that are sprayed over, on one site and in one "
        "plane; FRONTEND would do"};
  }
  return std::nullopt;
}

StorageRoutes AttachStorage(const NodePlan& plan, const PortNetwork* network, const StorageSpec& spec,
                            std::span<const VertexId> hosts, FabricBuilder* builder) {
  CHECK(hosts.size() == plan.nodes && spec.memory_passes > 0);
  const AddedLinks added = AddLinks(plan, spec, hosts, builder);
  StorageRoutes routes;
  for (std::uint32_t node = 0; node < plan.nodes; ++node) {
    for (std::uint32_t device = 0; device < plan.devices; ++device) {
      AddCopies(plan, node, device, added.memory[node], &routes);
      if (spec.servers > 0) AddTransfers(plan, network, spec, node, device, added, &routes);
    }
  }
  return routes;
}

}  // namespace topologies
