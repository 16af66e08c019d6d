#include "topologies/family_reader.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "proto/topology.pb.h"

namespace topologies {
namespace {

using proto::Field;
using Topology = orrery::config::Topology;

Routing RoutingOf(Topology::Routing routing) {
  switch (routing) {
    case Topology::ECMP:
      return Routing::kEcmp;
    case Topology::DESTINATION:
      return Routing::kDestination;
    default:
      return Routing::kSpray;
  }
}

RailKind RailsOf(Topology::FatTree::Rails rails) {
  switch (rails) {
    case Topology::FatTree::RAIL_OPTIMISED:
      return RailKind::kOptimised;
    case Topology::FatTree::RAIL_ONLY:
      return RailKind::kOnly;
    default:
      return RailKind::kShared;
  }
}

SitesSpec ReadSites(const Topology::Sites& file, const Field& at, Fields& fields) {
  SitesSpec spec;
  spec.nodes_per_site = fields.Within<std::int64_t>(at.At("nodes_per_site"), file.has_nodes_per_site(),
                                                    file.nodes_per_site(), 1, kMostDevices);
  spec.rate = fields.Gigabits(at.At("gbit_per_s"), file.has_gbit_per_s(), file.gbit_per_s());
  spec.latency = sim::Duration::FromSeconds(
      fields.Within(at.At("latency_ms"), file.has_latency_ms(), file.latency_ms(), 0.0, 1000.0) * 1e-3);
  return spec;
}

}  // namespace

std::string Printed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}
std::string Printed(std::int64_t value) { return std::to_string(value); }

RailOptimisedSpec ReadRails(const orrery::config::Topology::RailOptimised& file, const Field& at,
                            Fields& fields) {
  RailOptimisedSpec spec;
  spec.nodes_per_leaf = fields.Within<std::int64_t>(at.At("nodes_per_leaf"), file.has_nodes_per_leaf(),
                                                    file.nodes_per_leaf(), 1, kMostPorts);
  spec.uplinks_per_leaf = fields.Within<std::int64_t>(at.At("uplinks_per_leaf"), file.has_uplinks_per_leaf(),
                                                      file.uplinks_per_leaf(), 0, kMostPorts);
  if (spec.uplinks_per_leaf > 0 || file.has_uplink_gbit_per_s()) {
    spec.uplink =
        fields.Gigabits(at.At("uplink_gbit_per_s"), file.has_uplink_gbit_per_s(), file.uplink_gbit_per_s());
  }
  spec.switch_latency =
      fields.Nanoseconds(at.At("switch_latency_ns"), file.has_switch_latency_ns(), file.switch_latency_ns());
  if (file.has_switch_ports()) {
    spec.switch_ports =
        fields.Within<std::int64_t>(at.At("switch_ports"), true, file.switch_ports(), 1, kMostPorts);
  }
  return spec;
}

SingleSwitchSpec ReadSwitch(const orrery::config::Topology::SingleSwitch& file, const Field& at,
                            Fields& fields) {
  SingleSwitchSpec spec;
  if (file.has_port_gbit_per_s()) {
    spec.port = fields.Gigabits(at.At("port_gbit_per_s"), true, file.port_gbit_per_s());
  }
  spec.switch_latency =
      fields.Nanoseconds(at.At("switch_latency_ns"), file.has_switch_latency_ns(), file.switch_latency_ns());
  if (file.has_switch_ports()) {
    spec.switch_ports =
        fields.Within<std::int64_t>(at.At("switch_ports"), true, file.switch_ports(), 1, kMostDevices);
  }
  return spec;
}

FatTreeSpec ReadFatTree(const Topology::FatTree& file, const Field& at, Fields& fields) {
  const auto count = [&](const char* field, bool has, std::int64_t value, std::int64_t low) {
    return fields.Within<std::int64_t>(at.At(field), has, value, low, kMostPorts);
  };
  FatTreeSpec spec;
  if (!file.has_rails() || file.rails() == Topology::FatTree::RAILS_UNSPECIFIED) {
    fields.Missing(at.At("rails"), "SHARED_LEAF, RAIL_OPTIMISED or RAIL_ONLY");
  }
  spec.rails = RailsOf(file.rails());
  spec.nodes_per_leaf = count("nodes_per_leaf", file.has_nodes_per_leaf(), file.nodes_per_leaf(), 1);
  spec.uplinks_per_leaf = count("uplinks_per_leaf", file.has_uplinks_per_leaf(), file.uplinks_per_leaf(), 0);
  if (spec.uplinks_per_leaf > 0 || file.has_uplink_gbit_per_s()) {
    spec.uplink =
        fields.Gigabits(at.At("uplink_gbit_per_s"), file.has_uplink_gbit_per_s(), file.uplink_gbit_per_s());
  }
  if (file.has_spines()) spec.spines = count("spines", true, file.spines(), 1);
  if (file.has_nodes_per_pod()) {
    spec.nodes_per_pod =
        fields.Within<std::int64_t>(at.At("nodes_per_pod"), true, file.nodes_per_pod(), 1, kMostDevices);
    if (spec.nodes_per_pod % spec.nodes_per_leaf != 0) {
      fields.Error(
          at.At("nodes_per_pod"),
          Printed(spec.nodes_per_pod) + " is no multiple of nodes_per_leaf, " + Printed(spec.nodes_per_leaf));
    }
    spec.uplinks_per_pod = count("uplinks_per_pod", file.has_uplinks_per_pod(), file.uplinks_per_pod(), 1);
  } else if (file.has_uplinks_per_pod() || file.has_core_uplink_gbit_per_s()) {
    fields.Error(at.At(file.has_uplinks_per_pod() ? "uplinks_per_pod" : "core_uplink_gbit_per_s"),
                 "there are cores only where nodes_per_pod is given");
  }
  if (file.has_core_uplink_gbit_per_s()) {
    spec.core_uplink = fields.Gigabits(at.At("core_uplink_gbit_per_s"), true, file.core_uplink_gbit_per_s());
  }
  if (file.has_planes()) {
    spec.planes = fields.Within<std::int64_t>(at.At("planes"), true, file.planes(), 1, 64);
  }
  spec.switch_latency =
      fields.Nanoseconds(at.At("switch_latency_ns"), file.has_switch_latency_ns(), file.switch_latency_ns());
  if (file.has_switch_ports()) spec.switch_ports = count("switch_ports", true, file.switch_ports(), 1);
  spec.routing.routing = RoutingOf(file.routing());
  if (file.has_seed()) {
    constexpr std::int64_t kMostSeed = std::int64_t{1} << 62;
    spec.routing.seed = static_cast<std::uint64_t>(
        fields.Within<std::int64_t>(at.At("seed"), true, file.seed(), 0, kMostSeed));
  }
  if (file.has_flows_per_pair()) {
    spec.routing.flows = static_cast<std::uint32_t>(
        fields.Within<std::int64_t>(at.At("flows_per_pair"), true, file.flows_per_pair(), 1, 64));
    if (spec.routing.routing != Routing::kEcmp) {
      fields.Error(at.At("flows_per_pair"), "only ECMP hashes flows; SPRAY has no use for them");
    }
  }
  if (file.has_sites()) {
    spec.sites = ReadSites(file.sites(), at.At("sites"), fields);
    if (spec.routing.routing != Routing::kSpray) {
      fields.Error(at.At("routing"),
                   std::string(ToText(spec.routing.routing)) + " in several sites; SPRAY would do");
    }
  }
  return spec;
}

TorusSpec ReadTorus(const Topology::Torus& file, const Field& at, Fields& fields) {
  TorusSpec spec;
  if (file.size_size() == 0) fields.Missing(at.At("size"), "give 1 to 3 numbers of routers, as [4, 4, 4]");
  if (file.size_size() > 3) {
    fields.Error(at.At("size", 3), Printed(std::int64_t{file.size_size()}) + " dimensions; 1 to 3 would do");
  }
  for (int i = 0; i < std::min(file.size_size(), 3); ++i) {
    spec.size.push_back(fields.Within<std::int64_t>(at.At("size", i), true, file.size(i), 1, 4096));
  }
  std::int64_t routers = 1;
  for (const std::int64_t n : spec.size) routers *= n;
  constexpr std::int64_t kMostRouters = 262'144;
  if (routers > kMostRouters) {
    fields.Error(at.At("size"),
                 Printed(routers) + " routers; at most " + Printed(kMostRouters) + " can be built");
  }
  spec.wrap = !file.has_wrap() || file.wrap();
  spec.link = fields.Gigabits(at.At("link_gbit_per_s"), file.has_link_gbit_per_s(), file.link_gbit_per_s());
  spec.switch_latency =
      fields.Nanoseconds(at.At("switch_latency_ns"), file.has_switch_latency_ns(), file.switch_latency_ns());
  return spec;
}

DragonflyPlusSpec ReadDragonflyPlus(const Topology::DragonflyPlus& file, const Field& at, Fields& fields) {
  const auto count = [&](const char* field, bool has, std::int64_t value) {
    return fields.Within<std::int64_t>(at.At(field), has, value, 1, kMostPorts);
  };
  DragonflyPlusSpec spec;
  spec.nodes_per_leaf = count("nodes_per_leaf", file.has_nodes_per_leaf(), file.nodes_per_leaf());
  spec.leafs_per_group = count("leafs_per_group", file.has_leafs_per_group(), file.leafs_per_group());
  spec.spines_per_group = count("spines_per_group", file.has_spines_per_group(), file.spines_per_group());
  spec.uplinks_per_leaf = count("uplinks_per_leaf", file.has_uplinks_per_leaf(), file.uplinks_per_leaf());
  spec.global_links = count("global_links", file.has_global_links(), file.global_links());
  spec.uplink =
      fields.Gigabits(at.At("uplink_gbit_per_s"), file.has_uplink_gbit_per_s(), file.uplink_gbit_per_s());
  spec.global_link = fields.Gigabits(at.At("global_link_gbit_per_s"), file.has_global_link_gbit_per_s(),
                                     file.global_link_gbit_per_s());
  if (file.has_global_latency_ns()) {
    spec.global_latency = fields.Nanoseconds(at.At("global_latency_ns"), true, file.global_latency_ns());
  }
  spec.switch_latency =
      fields.Nanoseconds(at.At("switch_latency_ns"), file.has_switch_latency_ns(), file.switch_latency_ns());
  if (file.has_switch_ports()) spec.switch_ports = count("switch_ports", true, file.switch_ports());
  for (const auto& [field, cables] :
       {std::pair("uplinks_per_leaf", spec.uplinks_per_leaf), std::pair("global_links", spec.global_links)}) {
    if (cables % spec.spines_per_group != 0) {
      fields.Error(at.At(field), Printed(cables) + " is no multiple of spines_per_group, " +
                                     Printed(spec.spines_per_group));
    }
  }
  return spec;
}

LinkFault ReadFault(const Topology::Fault& file, const Field& at, Fields& fields) {
  LinkFault fault;
  fault.from = fields.Text(at.At("from"), file.has_from(), file.from());
  fault.to = fields.Text(at.At("to"), file.has_to(), file.to());
  fault.one_way = file.one_way();
  if (file.has_rate_factor()) {
    fault.rate_factor = fields.Within(at.At("rate_factor"), true, file.rate_factor(), 1e-9, 1.0);
  }
  if (file.has_gbit_per_s()) fault.rate = fields.Gigabits(at.At("gbit_per_s"), true, file.gbit_per_s());
  if (file.has_added_latency_ns()) {
    fault.slower = fields.Nanoseconds(at.At("added_latency_ns"), true, file.added_latency_ns());
  }
  fault.failed = file.failed();
  if (file.has_failed_cables()) {
    fault.failed_cables =
        fields.Within<std::int64_t>(at.At("failed_cables"), true, file.failed_cables(), 1, kMostPorts);
  }
  if (!file.has_rate_factor() && !file.has_gbit_per_s() && !file.has_added_latency_ns() &&
      !file.has_failed() && !file.has_failed_cables()) {
    fields.Error(at,
                 "says nothing of the link; give rate_factor, gbit_per_s, added_latency_ns, failed or "
                 "failed_cables");
  }
  return fault;
}

}  // namespace topologies
