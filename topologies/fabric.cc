#include "topologies/fabric.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "sim/base/check.h"

namespace topologies {
namespace {

struct KindName {
  VertexKind kind;
  const char* one;
  const char* many;
};
constexpr KindName kKinds[] = {
    {VertexKind::kDevice, "device", "devices"},
    {VertexKind::kNvSwitch, "NVLink switch", "NVLink switches"},
    {VertexKind::kPcieSwitch, "PCIe switch", "PCIe switches"},
    {VertexKind::kHost, "host", "hosts"},
    {VertexKind::kNic, "NIC", "NICs"},
    {VertexKind::kLeaf, "leaf", "leafs"},
    {VertexKind::kSpine, "spine", "spines"},
    {VertexKind::kCore, "core switch", "core switches"},
    {VertexKind::kSwitch, "switch", "switches"},
    {VertexKind::kMemory, "host memory", "host memories"},
    {VertexKind::kStorage, "storage server", "storage servers"},
};

std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

std::string InGigabytes(sim::ByteRate rate) { return Rounded(rate.bytes_per_second() * 1e-9); }

// "256 x 2 links" where each has its way back, else "3 links".
std::string CountOf(const std::vector<std::pair<VertexId, VertexId>>& sorted) {
  std::size_t with_way_back = 0;
  for (const auto& [from, to] : sorted) {
    with_way_back += std::binary_search(sorted.begin(), sorted.end(), std::pair(to, from)) ? 1 : 0;
  }
  if (with_way_back == sorted.size()) return std::to_string(sorted.size() / 2) + " x 2 links";
  return std::to_string(sorted.size()) + (sorted.size() == 1 ? " link" : " links");
}

std::string TierLine(const Fabric& fabric, Tier tier) {
  std::vector<std::pair<VertexId, VertexId>> ends;
  sim::ByteRate slowest, fastest;
  double total = 0;
  std::size_t failed = 0;
  for (const Link& link : fabric.links) {
    if (link.tier != tier || !fabric.IsThere(link)) continue;
    if (link.failed) {
      ++failed;
      continue;
    }
    slowest = ends.empty() ? link.capacity : std::min(slowest, link.capacity);
    fastest = std::max(fastest, link.capacity);
    total += link.capacity.bytes_per_second();
    ends.emplace_back(link.from, link.to);
  }
  if (ends.empty() && failed == 0) return "";
  std::sort(ends.begin(), ends.end());
  char text[160];
  const std::string rate =
      slowest == fastest ? InGigabytes(slowest) : InGigabytes(slowest) + " to " + InGigabytes(fastest);
  std::snprintf(text, sizeof text, "  %-10s %s of %s GB/s, %s TB/s in all", ToText(tier),
                CountOf(ends).c_str(), rate.c_str(), Rounded(total * 1e-12).c_str());
  return text + (failed > 0 ? "; " + std::to_string(failed) + " failed\n" : "\n");
}

}  // namespace

const char* ToText(Tier tier) {
  switch (tier) {
    case Tier::kNvlink:
      return "NVLink";
    case Tier::kPcie:
      return "PCIe";
    case Tier::kHost:
      return "host";
    case Tier::kNic:
      return "NIC";
    case Tier::kLeafSpine:
      return "leaf-spine";
    case Tier::kSpineCore:
      return "spine-core";
    case Tier::kTorus:
      return "torus";
    case Tier::kGlobal:
      return "global";
    case Tier::kBorder:
      return "border";
    case Tier::kLongHaul:
      return "long haul";
    case Tier::kHostMemory:
      return "host memory";
    case Tier::kFrontend:
      return "front end";
    case Tier::kStorage:
      return "storage";
    case Tier::kOther:
      return "other";
  }
  return "";
}

std::optional<Route> Router::ToNvSwitch(std::uint32_t) const { return std::nullopt; }
std::optional<Route> Router::FromNvSwitch(std::uint32_t) const { return std::nullopt; }

std::string Fabric::LinkName(sim::LinkId link) const {
  CHECK(link.pos() < links.size());
  return vertices[links[link.pos()].from.pos()].name + " -> " + vertices[links[link.pos()].to.pos()].name;
}

std::vector<sim::ByteRate> CapacitiesOf(const Fabric& fabric) {
  std::vector<sim::ByteRate> capacities;
  capacities.reserve(fabric.links.size());
  for (const Link& link : fabric.links) capacities.push_back(link.capacity);
  return capacities;
}

const char* ToText(VertexKind kind) {
  for (const KindName& k : kKinds) {
    if (k.kind == kind) return k.one;
  }
  return "";
}

std::string ElementsText(const Fabric& fabric) {
  std::string text;
  for (const KindName& k : kKinds) {
    std::uint64_t count = 0;
    for (const Vertex& vertex : fabric.vertices) count += vertex.kind == k.kind ? vertex.elements : 0;
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + ' ' + (count == 1 ? k.one : k.many);
  }
  return text;
}

std::string ToText(const Fabric& fabric) {
  std::string text = fabric.name + ": " + ElementsText(fabric) + '\n';
  for (int tier = 0; tier < kTierCount; ++tier) text += TierLine(fabric, static_cast<Tier>(tier));
  return text;
}

}  // namespace topologies
