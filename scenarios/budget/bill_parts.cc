// What a bill counts: devices, switches and cables, servers and drives, watts.

#include "scenarios/budget/bill_parts.h"

#include <algorithm>

#include "scenarios/budget/plan_request.h"
#include "scenarios/budget/round_up.h"
#include "scenarios/budget/section.h"

namespace scenarios {
namespace {

using sim::Number;

void AddDevices(const BillChoice& c, Bill* bill) {
  const std::int64_t of_node = c.r.device.node.devices;
  Section s("devices", &bill->lines);
  s.AddCount("working", c.r.working, "of the plan");
  s.AddCount("spares", c.bought - c.r.working, "27.8, 17.5.4: the nodes' others too",
             "spares " + Short(c.r.margins.spares) + "; whole nodes");
  s.AddCount("all", c.bought, "working and spares");
  s.AddCount("nodes", c.nodes, "devices over those of a node", Grouped(of_node) + " a node");
  // Four DGX H100 a rack, at most 40.8 kW; what is larger than 32 devices is a rack.
  s.AddCount("racks", RoundUp(Number(c.nodes) / Number(std::max(32 / of_node, std::int64_t{1}))),
             "of nodes alone: NVIDIA DGX SuperPOD H100, four of eight devices", "32 devices a rack");
}

void AddNetwork(const BillChoice& c, Bill* bill) {
  const std::int64_t nics = c.r.device.node.nics;
  Section s("network", &bill->lines);
  if (nics == 0) {
    s.AddUnknown("switches", "", "the device's file has no NICs of its node");
    return;
  }
  s.AddCount("NICs", c.nodes * nics, "those of the nodes", Grouped(nics) + " a node");
  s.AddCount("rails", c.rails, "17.6.10: a network of its own each", "");
  // One node needs no network between nodes.
  const RailNetwork n = c.network.value_or(RailNetwork{.levels = 0});
  s.AddCount("leaf switches", n.leaves, "17.6.10, 17.9.3 as A19: not blocking",
             Grouped(c.ports) + " ports; levels " + std::to_string(n.levels));
  s.AddCount("spine switches", n.spines, "as many ports up as down", "");
  s.AddCount("core switches", n.cores, "beyond ports^2 / 2 nodes", "");
  s.AddCount("cables to nodes", c.network ? c.nodes * c.rails : 0, "nodes x rails", "");
  s.AddCount("cables between switches", n.cables, "half the ports of a level go up", "");
  s.Add("bisection", n.bisection_bytes_per_s, "B/s", "17.9.3 as A19 corrects it",
        Short(c.r.device.nic.wire.bytes_per_second() * 1e-9) + " GB/s a NIC");
}

void AddStorage(const BillChoice& c, Bill* bill) {
  const double save = Number(c.r.save.count());
  const std::int64_t working_nodes = RoundUp(Number(c.r.working) / Number(c.r.device.node.devices));
  Section s("storage", &bill->lines);
  s.AddBytes("one save", c.r.save, "17.7.3 as E19: weights, master, optimizer");
  s.Add("saves kept", save * Number(c.saves_kept), "B", "27.7", Grouped(c.saves_kept) + " of them");
  s.Add("data set", c.r.dataset_bytes, "B", "17.7.1 as A18: tokens", "");
  s.Add("with replicas", c.stored, "B", "17.7.5", Grouped(c.replicas) + " of each byte");
  s.Add("rate to write", save / c.write_s * Number(c.replicas), "B/s", "27.7: C / window, each replica",
        "window " + Short(c.write_s) + " s");
  s.AddCount("servers", c.servers, "17.7.5: for the rate or the bytes",
             "40 GB/s to write, 80 % of it; ten drives of 15.36 TB; replicas on their own");
  s.AddCount("NVMe drives of servers", c.servers * kDrivesOfServer, "table 17-87", "ten a server");
  s.Add("host memory for staging, a node", 2 * save / Number(working_nodes), "B",
        "17.7.5: one save written while the next is copied", Grouped(working_nodes) + " working nodes");
  const double memory = Number(c.r.device.host.memory.count());
  if (memory > 0) {
    s.Add("of the node's memory", 100 * 2 * save / Number(working_nodes) / memory, "%", "the device's file",
          Short(memory * 1e-9) + " GB");
    if (2 * save > memory * Number(working_nodes)) {
      bill->warnings.push_back("storage: two saves do not fit into the memory of the nodes' hosts");
    }
  } else {
    s.AddUnknown("of the node's memory", "%", "the device's file has no host memory");
  }
  const double drives = c.r.device.host.disk_write.bytes_per_second();
  if (drives > 0) {
    s.Add("save on a node's own drives", save / Number(working_nodes) / drives, "s",
          "17.7.5: where saves go there first", Short(drives * 1e-9) + " GB/s, the device's file");
  } else {
    s.AddUnknown("save on a node's own drives", "s", "the device's file has no drives");
  }
}

void AddPower(const BillChoice& c, Bill* bill) {
  const double days = bill->clock.wall_s() / 86400;
  Section s("power", &bill->lines);
  const double devices = Number(c.bought) * c.r.device.tdp_watts;
  s.Add("devices", devices * 1e-6, "MW", "17.5.9: the most they draw",
        Short(c.r.device.tdp_watts) + " W each");
  s.Add("rest of the nodes", Number(c.nodes) * c.host_watts * 1e-6, "MW", "processors, fans, NICs",
        Short(c.host_watts) + " W a node");
  s.AddUnknown("switches and storage", "MW", "no published figure; none is in the sums below");
  s.Add("cooling", c.watts() * c.cooling * 1e-6, "MW", "table 17-67", "cooling " + Short(c.cooling));
  s.Add("together", c.watts() * (1 + c.cooling) * 1e-6, "MW", "IT and cooling", "");
  s.Add("energy", c.watts() * (1 + c.cooling) * 24e-6 * days, "MWh", "power x time",
        Short(days) + " days; less as devices idle");
}

}  // namespace

void AddMaterials(const BillChoice& c, Bill* bill) {
  AddDevices(c, bill);
  AddNetwork(c, bill);
  AddStorage(c, bill);
  AddPower(c, bill);
}

}  // namespace scenarios
