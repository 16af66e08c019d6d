// From a specification to a fabric: the choice of the family, and the family
// that is a list of elements and links.

#include "topologies/topology.h"

#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "sim/base/check.h"
#include "topologies/fabric_builder.h"
#include "topologies/faults.h"
#include "topologies/node_fabric.h"
#include "topologies/shortest_path_router.h"

namespace topologies {
namespace {

constexpr std::size_t kGuesses = 20;  // no more faults than that come with a "did you mean"

// "node3" of "node3/gpu5"; "" of "gpu5".
std::string_view DomainName(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

std::string Quoted(const std::string& name) { return '"' + name + '"'; }

// Checks the elements; returns where each name was first given.
std::map<std::string_view, std::size_t> CheckNodes(const ExplicitSpec& spec, std::vector<Fault>* faults) {
  std::map<std::string_view, std::size_t> known;
  bool has_device = false;
  for (std::size_t i = 0; i < spec.nodes.size(); ++i) {
    const ExplicitNode& node = spec.nodes[i];
    has_device |= node.kind == VertexKind::kDevice;
    if (node.name.empty()) {
      faults->push_back({Fault::List::kNodes, i, "name", "is empty; every element needs a name of its own"});
    } else if (const auto [first, is_new] = known.emplace(node.name, i); !is_new) {
      faults->push_back({Fault::List::kNodes, i, "name",
                         Quoted(node.name) + " is already the name of nodes[" +
                             std::to_string(first->second) + "]; every element needs a name of its own"});
    }
  }
  if (!has_device)
    faults->push_back({Fault::List::kNone, 0, "", "there is no device among the elements; give one or more"});
  return known;
}

// `guess` says whether to look for what may be meant, which is slow in a long list.
std::string UnknownName(const std::string& name, const std::map<std::string_view, std::size_t>& known,
                        bool guess) {
  if (name.empty()) return "names no element";
  if (!guess) return Quoted(name) + " is not one of the elements";
  std::vector<std::string> names;
  for (const auto& [one, position] : known) names.emplace_back(one);
  const std::vector<std::string> near = proto::Nearest(name, names);
  return Quoted(name) + " is not one of the elements" +
         (near.empty() ? "" : "; did you mean " + Quoted(near[0]) + '?');
}

}  // namespace

std::vector<Fault> FaultsOf(const ExplicitSpec& spec) {
  std::vector<Fault> faults;
  const std::map<std::string_view, std::size_t> known = CheckNodes(spec, &faults);
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> joined;
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    const ExplicitLink& link = spec.links[i];
    const auto fault = [&](const char* field, std::string what) {
      faults.push_back({Fault::List::kLinks, i, field, std::move(what)});
    };
    const bool guess = faults.size() < kGuesses;
    const std::string ends = link.from + " -> " + link.to;
    if (!known.contains(link.from)) fault("from", UnknownName(link.from, known, guess));
    if (!known.contains(link.to)) fault("to", UnknownName(link.to, known, guess));
    if (link.from == link.to) fault("to", "the link joins " + Quoted(link.from) + " to itself");
    if (link.capacity < kSlowest) {
      fault("bandwidth_gb_per_s_each_way",
            "the rate of " + ends + " is zero or below 1 kB/s; leave out a dead link");
    }
    if (link.latency < sim::Duration() || link.latency > kLongestLatency) {
      fault("latency_ns", "the latency of " + ends + " is not within 0 and 1 s");
    }
    const auto join = [&](std::string_view from, std::string_view to) {
      const auto [first, is_new] = joined.emplace(std::pair(from, to), i);
      if (is_new || first->second == i) return true;
      fault("from", "the link " + std::string(from) + " -> " + std::string(to) +
                        " is already given by links[" + std::to_string(first->second) +
                        "]; give one with the summed rate");
      return false;
    };
    if (link.from != link.to && join(link.from, link.to) && link.duplex) join(link.to, link.from);
  }
  return faults;
}

namespace {

// "links[3].from: ", for lists that were not read from a file.
std::string PlaceOf(const Fault& fault) {
  if (fault.list == Fault::List::kNone) return "";
  return (fault.list == Fault::List::kLinks ? "links[" : "nodes[") + std::to_string(fault.position) + "]." +
         fault.field + ": ";
}

sim::Result<Fabric> BuildExplicit(const std::string& name, const ExplicitSpec& spec,
                                  const std::vector<LinkFault>& link_faults, std::int64_t devices) {
  if (spec.links.size() > kMostLinks) {
    return sim::Error{"topology \"" + name + "\" has " + std::to_string(spec.links.size()) +
                      " links; at most " + std::to_string(kMostLinks) + " can be given one by one"};
  }
  if (const std::vector<Fault> faults = FaultsOf(spec); !faults.empty()) {
    const Fault& first = faults.front();
    return sim::Error{"topology \"" + name + "\": " + PlaceOf(first) + first.what};
  }
  FabricBuilder builder(name);
  std::map<std::string_view, VertexId> vertex_of;
  std::map<std::string_view, std::pair<std::uint32_t, std::uint32_t>> domains;  // number, devices so far
  for (const ExplicitNode& node : spec.nodes) {
    if (node.kind != VertexKind::kDevice) {
      vertex_of[node.name] = builder.Add(node.kind, node.name);
      continue;
    }
    const auto number = static_cast<std::uint32_t>(domains.size());
    auto& [domain, seated] = domains.try_emplace(DomainName(node.name), number, 0).first->second;
    vertex_of[node.name] = builder.AddDevice(node.name, domain, seated++);
  }
  const auto found = static_cast<std::int64_t>(builder.fabric().devices.size());
  if (found < devices) {
    return sim::Error{"topology \"" + name + "\" has " + std::to_string(found) + " devices; " +
                      std::to_string(devices) + " are asked for"};
  }
  for (const ExplicitLink& link : spec.links) {
    const VertexId from = vertex_of.at(link.from), to = vertex_of.at(link.to);
    builder.AddLink(from, to, link.capacity, link.latency);
    if (link.duplex) builder.AddLink(to, from, link.capacity, link.latency);
  }
  const auto applied = ApplyFaults(link_faults, builder.fabric().vertices, builder.links());
  if (!applied.ok()) return sim::Error{"topology \"" + name + "\": " + applied.error().message};
  const auto router = std::make_shared<ShortestPathRouter>(builder.fabric());
  return std::move(builder).Build(router);
}

using OptionalStorage = std::optional<StorageSpec>;

sim::Result<Fabric> BuildFamily(const TopologySpec& spec, const sim::NodeShape& node, std::int64_t devices,
                                const OptionalStorage& storage) {
  if (!std::holds_alternative<ExplicitSpec>(spec.family)) {
    return BuildNodeFabric(spec, node, devices, storage);
  }
  if (storage.has_value()) {
    return sim::Error{
        "topology \"" + spec.name +
        "\" lists its links one by one; copies to hosts need nodes of the hardware's shape: a rail "
        "optimised, single switch or single node topology"};
  }
  return BuildExplicit(spec.name, std::get<ExplicitSpec>(spec.family), spec.faults, devices);
}

}  // namespace

sim::Result<Fabric> BuildFabric(const TopologySpec& spec, const sim::NodeShape& node, std::int64_t devices,
                                const OptionalStorage& storage) {
  if (devices < 1 || devices > kMostDevices) {
    return sim::Error{std::to_string(devices) + " devices; 1 to " + std::to_string(kMostDevices) +
                      " can be built"};
  }
  return BuildFamily(spec, node, devices, storage);
}

}  // namespace topologies
