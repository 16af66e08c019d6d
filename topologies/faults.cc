#include "topologies/faults.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "proto/text_reader.h"
#include "sim/base/check.h"

namespace topologies {
namespace {

constexpr std::size_t kMostGuessed = 20'000;  // names; looking for what may be meant is slow

// Elements that a pattern stands for, by vertex.
std::vector<bool> Standing(const std::string& pattern, const std::vector<Vertex>& vertices) {
  std::vector<bool> matches(vertices.size());
  for (std::size_t v = 0; v < vertices.size(); ++v) matches[v] = Matches(pattern, vertices[v].name);
  return matches;
}

std::string Unknown(const LinkFault& fault, const std::vector<bool>& from, const std::vector<bool>& to,
                    const std::vector<Vertex>& vertices) {
  for (const auto& [pattern, matches] : {std::pair(&fault.from, &from), std::pair(&fault.to, &to)}) {
    if (std::find(matches->begin(), matches->end(), true) != matches->end()) continue;
    std::vector<std::string> names;
    for (const Vertex& vertex : vertices) names.push_back(vertex.name);
    std::vector<std::string> near;
    if (names.size() <= kMostGuessed) near = proto::Nearest(*pattern, names);
    return '"' + *pattern + "\" is no element of this fabric" +
           (near.empty() ? "; `orrery topology` shows its names" : "; did you mean \"" + near[0] + "\"?");
  }
  return "no link joins \"" + fault.from + "\" to \"" + fault.to +
         "\"; `orrery topology` shows which are there";
}

// Slower and later. Returns what is wrong.
std::string Degrade(const LinkFault& fault, const std::string& name, Link* link) {
  if (fault.rate_factor < 1) {
    link->capacity = sim::ByteRate::MilliBytesPerSecond(
        static_cast<std::int64_t>(static_cast<double>(link->capacity.milli()) * fault.rate_factor));
  }
  if (fault.rate > sim::ByteRate()) link->capacity = std::min(link->capacity, fault.rate);
  link->latency += fault.slower;
  if (link->capacity < kSlowest) return name + " is left with less than 1 kB/s; failed: true cuts it off";
  if (link->latency > kLongestLatency) return name + " would take more than 1 s";
  return "";
}

// Takes up to `wanted` of a link's cables away; returns how many.
std::int64_t Cut(std::int64_t wanted, Link* link) {
  if (link->failed) return 0;
  const std::int64_t all = link->cables, cut = std::min(wanted, all);
  if (cut == all) {
    link->failed = true;
  } else {
    const sim::Wide left = sim::Wide{link->capacity.milli()} * (all - cut) / all;
    link->capacity = sim::ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(left));
    link->cables = static_cast<std::uint32_t>(all - cut);
  }
  return cut;
}

std::string Apply(const LinkFault& fault, const std::vector<Vertex>& vertices, std::vector<Link>* links) {
  const std::vector<bool> from = Standing(fault.from, vertices), to = Standing(fault.to, vertices);
  std::map<std::pair<VertexId, VertexId>, std::int64_t> to_cut;  // what is still to fail between two elements
  bool any = false;
  for (Link& link : *links) {
    const bool there = from[link.from.pos()] && to[link.to.pos()];
    const bool back = !fault.one_way && from[link.to.pos()] && to[link.from.pos()];
    if (!there && !back) continue;
    any = true;
    const std::string name = vertices[link.from.pos()].name + " -> " + vertices[link.to.pos()].name;
    if (std::string error = Degrade(fault, name, &link); !error.empty()) return error;
    if (fault.failed) link.failed = true;
    if (fault.failed_cables == 0) continue;
    const auto entry = to_cut.try_emplace({link.from, link.to}, fault.failed_cables).first;
    entry->second -= Cut(entry->second, &link);
  }
  if (!any) return Unknown(fault, from, to, vertices);
  for (const auto& [ends, missing] : to_cut) {
    if (missing == 0) continue;
    return vertices[ends.first.pos()].name + " -> " + vertices[ends.second.pos()].name + " has " +
           std::to_string(fault.failed_cables - missing) + " cables, not " +
           std::to_string(fault.failed_cables);
  }
  return "";
}

}  // namespace

bool Matches(std::string_view pattern, std::string_view name) {
  // The last '*' may stand for ever more; nothing before it has to be looked at again.
  std::size_t p = 0, n = 0, star = pattern.npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

sim::Result<std::shared_ptr<const LinkFaults>> ApplyFaults(const std::vector<LinkFault>& faults,
                                                           const std::vector<Vertex>& vertices,
                                                           std::vector<Link>* links) {
  if (faults.empty()) return std::shared_ptr<const LinkFaults>();
  auto found = std::make_shared<LinkFaults>();
  for (const Link& link : *links) found->slower.push_back(sim::Duration() - link.latency);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string error = Apply(faults[i], vertices, links);
    if (!error.empty()) return sim::Error{"faults[" + std::to_string(i) + "]: " + error};
  }
  bool any = false;
  for (std::size_t l = 0; l < links->size(); ++l) {
    const Link& link = (*links)[l];
    found->failed.push_back(link.failed);
    found->slower[l] += link.latency;
    any |= link.failed || found->slower[l] > sim::Duration();
  }
  return any ? std::shared_ptr<const LinkFaults>(std::move(found)) : nullptr;
}

}  // namespace topologies
