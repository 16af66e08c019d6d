#include "topologies/import/draft_fabric.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "sim/base/check.h"

namespace topologies {
namespace {

const char* KindText(VertexKind kind) {
  switch (kind) {
    case VertexKind::kNvSwitch:
      return "NVSWITCH";
    case VertexKind::kPcieSwitch:
      return "PCIE_SWITCH";
    case VertexKind::kHost:
      return "HOST";
    case VertexKind::kNic:
      return "NIC";
    case VertexKind::kLeaf:
      return "LEAF";
    case VertexKind::kSpine:
      return "SPINE";
    case VertexKind::kSwitch:
      return "SWITCH";
    default:
      return "DEVICE";
  }
}

std::string Printed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

// A comment's line; a file's text cannot end it.
std::string OnOneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

std::string InQuotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : OnOneLine(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string Text(const ImportedFabric& fabric, const FabricFile& file, const std::string& format) {
  std::string text = "# Imported from " + OnOneLine(file.file) + " (" + format + ").\n";
  for (const std::string& note : fabric.notes) text += "#   " + OnOneLine(note) + '\n';
  text += "name: " + InQuotes(file.name) + '\n';
  text += "source { title: " + InQuotes(format + " of " + file.file) + " }\n";
  text += "explicit {\n";
  for (const ExplicitNode& node : fabric.spec.nodes) {
    text += "  nodes { name: " + InQuotes(node.name) + " kind: " + KindText(node.kind) + " }\n";
  }
  for (const ExplicitLink& link : fabric.spec.links) {
    text += "  links { from: " + InQuotes(link.from) + " to: " + InQuotes(link.to) +
            " bandwidth_gb_per_s_each_way: " + Printed(link.capacity.bytes_per_second() * 1e-9) +
            " latency_ns: " + Printed(static_cast<double>(link.latency.ps()) * 1e-3) + " }\n";
  }
  return text + "}\n";
}

}  // namespace

void DraftFabric::Add(const std::string& name, VertexKind kind) {
  names_.insert(name);
  fabric_.spec.nodes.push_back({name, kind});
}

void DraftFabric::Cable(const std::string& a, const std::string& b, sim::ByteRate rate,
                        sim::Duration latency) {
  const auto [entry, is_new] = link_of_.try_emplace(std::minmax(a, b), fabric_.spec.links.size());
  if (is_new) {
    fabric_.spec.links.push_back({a, b, rate, latency, true});
    return;
  }
  ExplicitLink& link = fabric_.spec.links[entry->second];
  const sim::ByteRate room = sim::ByteRate::MilliBytesPerSecond(INT64_MAX - link.capacity.milli());
  link.capacity = sim::ByteRate::MilliBytesPerSecond(link.capacity.milli() + std::min(rate, room).milli());
  bundles_.try_emplace(entry->second, 1).first->second += 1;
}

void DraftFabric::Note(const std::string& line) {
  if (std::find(fabric_.notes.begin(), fabric_.notes.end(), line) == fabric_.notes.end()) {
    fabric_.notes.push_back(line);
  }
}

std::optional<ImportedFabric> DraftFabric::Finish(const FabricFile& file, const std::string& format,
                                                  proto::Diagnostics* diagnostics) && {
  if (!diagnostics->ok()) return std::nullopt;
  if (!bundles_.empty()) {
    int most = 0;
    for (const auto& [link, cables] : bundles_) most = std::max(most, cables);
    Note(std::to_string(bundles_.size()) + " pairs of elements have several cables (up to " +
         std::to_string(most) + "): one link of their sum, over which traffic is sprayed");
  }
  if (fabric_.spec.links.size() > kMostLinks) {
    diagnostics->Error(file.file, std::to_string(fabric_.spec.links.size()) + " links; at most " +
                                      std::to_string(kMostLinks) + " can be given one by one");
  }
  for (const Fault& fault : FaultsOf(fabric_.spec)) diagnostics->Error(file.file, fault.what);
  if (!diagnostics->ok()) return std::nullopt;
  fabric_.text = Text(fabric_, file, format);
  return std::move(fabric_);
}

AssumedLatencies LatenciesOf(const FabricFile& file, DraftFabric* draft) {
  if (file.node) {
    draft->Note("latencies are those of " + file.node->name);
    return {file.node->nvlink_latency, file.node->pcie_latency, file.node->nic_latency};
  }
  draft->Note("latencies are assumed, as of the catalogue's H100 nodes; --hardware names other ones");
  return {sim::Duration::Nanoseconds(0), sim::Duration::Nanoseconds(500), sim::Duration::Nanoseconds(600)};
}

void AddNodes(const FabricFile& file, const DraftNode& node, sim::Duration nic_latency, DraftFabric* draft,
              proto::Diagnostics* diagnostics) {
  std::int64_t per_node = 0;
  for (const DraftNode::Element& element : node.elements)
    per_node += element.kind == VertexKind::kDevice ? 1 : 0;
  if (per_node == 0) return diagnostics->Error(file.file, "names no GPU");
  const std::int64_t devices = file.devices > 0 ? file.devices : per_node;
  if (devices % per_node != 0 || devices > kMostDevices) {
    return diagnostics->Error(file.file, "has " + std::to_string(per_node) + " GPUs; " +
                                             std::to_string(devices) + " devices do not fill nodes of them");
  }
  const std::int64_t nodes = devices / per_node;
  int unknown = 0;
  for (const DraftNode::Port& port : node.ports) unknown += port.rate > sim::ByteRate() ? 0 : 1;
  if (nodes > 1 && (node.ports.empty() || unknown > 0)) {
    return diagnostics->Error(
        file.file,
        "several nodes are asked for, but " +
            std::string(node.ports.empty() ? "the file names no NIC" : "the rate of a NIC is not known"));
  }
  if (static_cast<std::size_t>(nodes) * (node.cables.size() + node.ports.size()) > kMostLinks) {
    return diagnostics->Error(
        file.file, std::to_string(nodes) + " nodes are more than " + std::to_string(kMostLinks) + " links");
  }
  if (nodes > 1) {
    draft->Add("network", VertexKind::kSwitch);
    draft->Note(std::to_string(nodes) + " copies of the node; one switch that never blocks joins their NICs");
  } else if (!node.ports.empty()) {
    draft->Note(
        std::to_string(node.ports.size()) +
        " NICs lead to a network that the file does not know; --devices makes several nodes of this one");
  }
  for (std::int64_t n = 0; n < nodes; ++n) {
    const std::string prefix = "node" + std::to_string(n) + '/';
    for (const DraftNode::Element& element : node.elements) draft->Add(prefix + element.name, element.kind);
    for (const auto& [a, b, rate, latency] : node.cables) draft->Cable(prefix + a, prefix + b, rate, latency);
    for (const DraftNode::Port& port : node.ports) {
      if (nodes > 1) draft->Cable(prefix + port.nic, "network", port.rate, nic_latency);
    }
  }
}

std::string PlaceOf(const FabricFile& file, std::size_t line) {
  return file.file + ':' + std::to_string(line);
}

std::string NamePart(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ':' || c == '-';
    if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "x" : name;
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kMost = 60;
  return '"' + std::string(text.substr(0, kMost)) + (text.size() > kMost ? "...\"" : "\"");
}

sim::ByteRate MegabitsPerSecond(double megabits) {
  CHECK(megabits >= 0 && megabits <= 7e10);
  return sim::ByteRate::GigabytesPerSecond(megabits / 8000);
}

std::span<const FabricImporter> FabricImporters() {
  static constexpr FabricImporter kImporters[] = {
      {"nccl_topo", "TOPO.xml", "a node, as NCCL_TOPO_DUMP_FILE writes it", false, ImportNcclTopo},
      {"nvidia_smi", "TOPO.txt", "a node, as nvidia-smi topo -m prints it", true, ImportNvidiaSmi},
      {"ibnetdiscover", "NET.txt", "a fabric, as ibnetdiscover prints it", false, ImportIbnetdiscover},
  };
  return kImporters;
}

}  // namespace topologies
