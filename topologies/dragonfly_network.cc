#include "topologies/dragonfly_network.h"

#include <string>

#include "topologies/cables.h"
#include "topologies/fabric_builder.h"

namespace topologies {
namespace {

using std::to_string;

constexpr std::int64_t kMostGroups = 1024;  // half a million cables between them

}  // namespace

std::optional<sim::Error> RefuseDragonfly(const DragonflyPlusSpec& spec, const NodePlan& nodes) {
  const std::int64_t groups = RoundUp(RoundUp(nodes.nodes, spec.nodes_per_leaf), spec.leafs_per_group);
  const std::int64_t spines = spec.spines_per_group;
  for (const auto& [cables, what] : {std::pair(spec.uplinks_per_leaf, "cables of a leaf"),
                                     std::pair(spec.global_links, "cables between two groups")}) {
    if (cables % spines == 0) continue;
    return sim::Error{to_string(spines) + " spines do not divide " + to_string(cables) + ' ' + what +
                      "; each is cabled alike"};
  }
  if (!Fits(spec.uplinks_per_leaf, spec.uplink) || !Fits(spec.global_links, spec.global_link)) {
    return sim::Error{"the cables of a leaf, or between two groups, add up to more than 9.2e15 B/s"};
  }
  if (groups > kMostGroups) {
    return sim::Error{to_string(groups) + " groups; at most " + to_string(kMostGroups) + " can be built"};
  }
  if (spec.switch_ports == 0) return std::nullopt;
  const std::int64_t nics = spec.nodes_per_leaf * nodes.ports() * nodes.nics_bundled;
  if (nics + spec.uplinks_per_leaf > spec.switch_ports) {
    return sim::Error{"a leaf has " + to_string(spec.switch_ports) + " ports, too few for " +
                      to_string(nics) + " NICs and " + to_string(spec.uplinks_per_leaf) +
                      " cables to spines"};
  }
  const std::int64_t down = spec.leafs_per_group * (spec.uplinks_per_leaf / spines);
  const std::int64_t global = (groups - 1) * (spec.global_links / spines);
  if (down + global > spec.switch_ports) {
    return sim::Error{"a spine has " + to_string(spec.switch_ports) + " ports, too few for " +
                      to_string(down) + " cables to leafs and " + to_string(global) + " to " +
                      to_string(groups - 1) + " other groups"};
  }
  return std::nullopt;
}

DragonflyNetwork::DragonflyNetwork(const DragonflyPlusSpec& spec, const NodePlan& nodes)
    : spec_(spec),
      leafs_(static_cast<std::size_t>(RoundUp(nodes.nodes, spec.nodes_per_leaf))),
      groups_(static_cast<std::size_t>(RoundUp(static_cast<std::int64_t>(leafs_), spec.leafs_per_group))) {}

void DragonflyNetwork::AddElements(FabricBuilder* builder) {
  for (std::size_t leaf = 0; leaf < leafs_; ++leaf) {
    leaf_.push_back(builder->Add(VertexKind::kLeaf,
                                 "group" + to_string(GroupOf(leaf)) + "/leaf" +
                                     to_string(leaf % static_cast<std::size_t>(spec_.leafs_per_group))));
  }
  for (std::size_t group = 0; group < groups_; ++group) {
    std::string name = "group" + to_string(group) + "/spine0";
    if (spec_.spines_per_group > 1) name += '-' + to_string(spec_.spines_per_group - 1);
    spines_.push_back(builder->Add(VertexKind::kSpine, std::move(name), spec_.spines_per_group));
  }
}

void DragonflyNetwork::AddCables(FabricBuilder* builder) {
  const auto uplinks = static_cast<std::uint32_t>(spec_.uplinks_per_leaf);
  for (std::size_t leaf = 0; leaf < leafs_; ++leaf) {
    up_.push_back(builder->AddCable(leaf_[leaf], spines_[GroupOf(leaf)],
                                    Times(spec_.uplinks_per_leaf, spec_.uplink), spec_.switch_latency,
                                    spec_.switch_latency, uplinks));
  }
  global_.resize(groups_ * groups_);
  for (std::size_t a = 0; a < groups_; ++a) {
    for (std::size_t b = a + 1; b < groups_; ++b) {
      const sim::LinkId there = builder->AddCableIn(
          Tier::kGlobal, spines_[a], spines_[b], Times(spec_.global_links, spec_.global_link),
          spec_.global_latency + spec_.switch_latency, static_cast<std::uint32_t>(spec_.global_links));
      global_[a * groups_ + b] = there;
      global_[b * groups_ + a] = WayBack(there);
    }
  }
}

std::uint32_t DragonflyNetwork::Cross(Port from, Port to, std::uint64_t /*way*/, RouteWriter* writer) const {
  const std::size_t a = LeafOf(from), b = LeafOf(to);
  if (a == b) return 1;
  writer->Use(up_[a], spec_.switch_latency);
  if (GroupOf(a) != GroupOf(b)) {
    writer->Use(global_[GroupOf(a) * groups_ + GroupOf(b)], spec_.global_latency + spec_.switch_latency);
  }
  writer->Use(WayBack(up_[b]), spec_.switch_latency);
  return 1;
}

}  // namespace topologies
