#include "topologies/drawing.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

namespace topologies {
namespace {

// Names come from files, too.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string Rate(double bytes_per_second) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g GB/s", bytes_per_second * 1e-9);
  return text;
}

std::string Head(const Fabric& fabric) {
  return "graph " + Quoted(fabric.name) + " {\n  node [shape=box];\n";
}

// "node3" of "node3/gpu5"; "" of "switch".
std::string FolderOf(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

std::string Vertices(const Fabric& fabric) {
  std::map<std::string, std::vector<std::size_t>> clusters;
  for (std::size_t v = 0; v < fabric.vertices.size(); ++v) {
    if (fabric.vertices[v].elements > 0) clusters[FolderOf(fabric.vertices[v].name)].push_back(v);
  }
  std::string text;
  std::size_t number = 0;
  for (const auto& [folder, members] : clusters) {
    const std::string indent = folder.empty() ? "  " : "    ";
    if (!folder.empty()) {
      text += "  subgraph cluster" + std::to_string(number++) + " {\n    label=" + Quoted(folder) + ";\n";
    }
    for (const std::size_t v : members) {
      const Vertex& vertex = fabric.vertices[v];
      const std::string name = folder.empty() ? vertex.name : vertex.name.substr(folder.size() + 1);
      const std::string shape = vertex.kind == VertexKind::kDevice ? ", shape=ellipse" : "";
      text += indent + 'v' + std::to_string(v) + " [label=" + Quoted(name) + shape + "];\n";
    }
    if (!folder.empty()) text += "  }\n";
  }
  return text;
}

std::string Edge(const Link& link, bool both_ways) {
  std::string label = Rate(link.capacity.bytes_per_second());
  if (link.cables > 1) label += " (" + std::to_string(link.cables) + ")";
  std::string text = "  v" + std::to_string(link.from.value()) + " -- v" + std::to_string(link.to.value()) +
                     " [label=" + Quoted(label);
  if (!both_ways) text += ", dir=forward";
  if (link.failed) text += ", style=dashed, color=red";
  return text + "];\n";
}

// A link and an equal one back are one edge.
std::string Edges(const Fabric& fabric) {
  std::map<std::pair<VertexId, VertexId>, std::vector<std::size_t>> ways;  // by ends, not yet drawn
  std::vector<bool> drawn(fabric.links.size());
  for (std::size_t l = 0; l < fabric.links.size(); ++l) {
    ways[{fabric.links[l].from, fabric.links[l].to}].push_back(l);
  }
  std::string text;
  for (std::size_t l = 0; l < fabric.links.size(); ++l) {
    const Link& link = fabric.links[l];
    if (drawn[l] || !fabric.IsThere(link)) continue;
    bool back = false;
    if (const auto found = ways.find({link.to, link.from}); found != ways.end()) {
      for (const std::size_t other : found->second) {
        const Link& one = fabric.links[other];
        if (back || drawn[other] || one.capacity != link.capacity || one.failed != link.failed) continue;
        drawn[other] = back = true;
      }
    }
    text += Edge(link, back);
  }
  return text;
}

std::string ByKind(const Fabric& fabric) {
  std::map<VertexKind, std::uint64_t> elements;
  for (const Vertex& vertex : fabric.vertices) elements[vertex.kind] += vertex.elements;
  struct Sum {
    std::uint64_t links = 0;
    double rate = 0;
  };
  std::map<std::pair<VertexKind, VertexKind>, Sum> sums;  // both ways
  for (const Link& link : fabric.links) {
    if (link.failed || !fabric.IsThere(link)) continue;
    const auto ends = std::minmax(fabric.vertices[link.from.pos()].kind, fabric.vertices[link.to.pos()].kind);
    Sum& sum = sums[{ends.first, ends.second}];
    ++sum.links;
    sum.rate += link.capacity.bytes_per_second();
  }
  std::string text = "  label=" +
                     Quoted(std::to_string(fabric.vertices.size()) +
                            " elements are too many to draw: one box a kind, links both ways added up") +
                     ";\n";
  for (const auto& [kind, count] : elements) {
    text += "  k" + std::to_string(static_cast<int>(kind)) +
            " [label=" + Quoted(std::to_string(count) + " x " + ToText(kind)) + "];\n";
  }
  for (const auto& [ends, sum] : sums) {
    text += "  k" + std::to_string(static_cast<int>(ends.first)) + " -- k" +
            std::to_string(static_cast<int>(ends.second)) +
            " [label=" + Quoted(std::to_string(sum.links) + " links, " + Rate(sum.rate)) + "];\n";
  }
  return text;
}

}  // namespace

std::string ToDot(const Fabric& fabric, std::size_t most) {
  const std::string inside =
      fabric.vertices.size() > most ? ByKind(fabric) : Vertices(fabric) + Edges(fabric);
  return Head(fabric) + inside + "}\n";
}

}  // namespace topologies
