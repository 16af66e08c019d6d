#include "topologies/fabric_builder.h"

#include <algorithm>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

#include "sim/base/check.h"

namespace topologies {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

// One word for who reaches whom: devices with equal components reach each other.
std::vector<int> ComponentsOf(const Fabric& fabric) {
  Graph graph(fabric.vertices.size());
  for (const Link& link : fabric.links) {
    if (!link.failed) boost::add_edge(link.from.pos(), link.to.pos(), graph);
  }
  std::vector<int> component(fabric.vertices.size());
  boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, graph)));
  return component;
}

// The first few names of a list, and how many more there are.
std::string Names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

}  // namespace

Tier TierBetween(VertexKind a, VertexKind b) {
  if (b < a) std::swap(a, b);
  using enum VertexKind;
  if (b == kMemory) return Tier::kHostMemory;
  if (b == kStorage) return a == kStorage ? Tier::kStorage : Tier::kFrontend;
  if (b == kNvSwitch || (a == kDevice && b == kDevice)) return Tier::kNvlink;
  if (a == kNvSwitch) return Tier::kNvlink;
  if (b == kHost || a == kHost) return Tier::kHost;
  if (b == kPcieSwitch || a == kPcieSwitch) return Tier::kPcie;
  if (a == kDevice && b == kNic) return Tier::kPcie;
  if (a == kDevice || a == kNic) return Tier::kNic;
  if (a == kLeaf && b == kSpine) return Tier::kLeafSpine;
  if (a == kSpine && b == kCore) return Tier::kSpineCore;
  return Tier::kOther;
}

VertexId FabricBuilder::Add(VertexKind kind, std::string name, std::int64_t elements) {
  fabric_.vertices.push_back({std::move(name), kind, static_cast<std::uint32_t>(elements)});
  return VertexId(fabric_.vertices.size() - 1);
}

VertexId FabricBuilder::AddDevice(std::string name, std::uint32_t domain, std::uint32_t rail) {
  const VertexId id = Add(VertexKind::kDevice, std::move(name));
  fabric_.devices.push_back(id);
  fabric_.domain.push_back(domain);
  fabric_.rail.push_back(rail);
  return id;
}

sim::LinkId FabricBuilder::AddLink(VertexId from, VertexId to, sim::ByteRate capacity,
                                   sim::Duration latency) {
  CHECK(from.pos() < fabric_.vertices.size() && to.pos() < fabric_.vertices.size());
  CHECK(capacity > sim::ByteRate());
  const Tier tier = TierBetween(fabric_.vertices[from.pos()].kind, fabric_.vertices[to.pos()].kind);
  fabric_.links.push_back({from, to, capacity, latency, tier});
  return sim::LinkId(fabric_.links.size() - 1);
}

sim::LinkId FabricBuilder::AddCable(VertexId a, VertexId b, sim::ByteRate capacity, sim::Duration a_to_b,
                                    sim::Duration b_to_a, std::uint32_t cables) {
  const sim::LinkId first = AddLink(a, b, capacity, a_to_b);
  const sim::LinkId second = AddLink(b, a, capacity, b_to_a);
  for (const sim::LinkId way : {first, second}) fabric_.links[way.pos()].cables = cables;
  return first;
}

sim::LinkId FabricBuilder::AddCableIn(Tier tier, VertexId a, VertexId b, sim::ByteRate capacity,
                                      sim::Duration latency, std::uint32_t cables) {
  const sim::LinkId first = AddCable(a, b, capacity, latency, latency, cables);
  for (const std::size_t way : {first.pos(), first.pos() + 1}) fabric_.links[way].tier = tier;
  return first;
}

sim::Result<Fabric> FabricBuilder::Build(std::shared_ptr<const Router> router) && {
  CHECK(!fabric_.devices.empty());
  const std::vector<int> component = ComponentsOf(fabric_);
  std::vector<std::string> apart;
  for (const VertexId device : fabric_.devices) {
    if (component[device.pos()] != component[fabric_.devices[0].pos()]) {
      apart.push_back(fabric_.vertices[device.pos()].name);
    }
  }
  if (!apart.empty()) {
    return sim::Error{"topology \"" + fabric_.name +
                      "\" is disconnected: " + fabric_.vertices[fabric_.devices[0].pos()].name + " and " +
                      Names(apart) + " do not reach each other; links both ways must join them"};
  }
  fabric_.router = std::move(router);
  std::vector<std::uint32_t> device_of(fabric_.vertices.size(), UINT32_MAX);
  for (std::uint32_t d = 0; d < fabric_.devices.size(); ++d) device_of[fabric_.devices[d].pos()] = d;
  for (const Link& link : fabric_.links) {
    const std::uint32_t from = device_of[link.from.pos()], to = device_of[link.to.pos()];
    const bool devices = from != UINT32_MAX && to != UINT32_MAX;
    fabric_.meshed = fabric_.meshed || (devices && fabric_.domain[from] == fabric_.domain[to]);
  }
  return std::move(fabric_);
}

}  // namespace topologies
