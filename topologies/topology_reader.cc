// Topology files to TopologySpec. Ranges are checked here, field by field;
// what only shows when elements are seen together is FaultsOf's.

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include "proto/text_reader.h"
#include "proto/topology.pb.h"
#include "topologies/catalogue.h"
#include "topologies/topology.h"

namespace topologies {
namespace {

using proto::Field;

std::string Printed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}
std::string Printed(std::int64_t value) { return std::to_string(value); }

// The value of a field, checked. Where it is missing or out of range that is
// reported and `high` taken, so that reading can go on without another error.
class Fields {
 public:
  explicit Fields(proto::Diagnostics* diagnostics) : diagnostics_(diagnostics) {}

  template <class T>
  T Within(const Field& at, bool has, T value, T low, T high) {
    if (!has) {
      Missing(at, "give " + Printed(low) + " to " + Printed(high));
    } else if (!(value >= low && value <= high)) {
      diagnostics_->Error(at.place(),
                          Printed(value) + " is not within " + Printed(low) + " and " + Printed(high));
    } else {
      return value;
    }
    return high;
  }
  sim::ByteRate Gigabits(const Field& at, bool has, double value) {
    return sim::ByteRate::GigabytesPerSecond(Within(at, has, value, 8 * kSlowestGb, 8 * kFastestGb) / 8);
  }
  // Too slow is left to FaultsOf, which names both ends.
  sim::ByteRate Gigabytes(const Field& at, bool has, double value) {
    return sim::ByteRate::GigabytesPerSecond(Within(at, has, value, 0.0, kFastestGb));
  }
  sim::Duration Nanoseconds(const Field& at, bool has, double value) {
    return sim::Duration::FromSeconds(Within(at, has, value, 0.0, 1e9) * 1e-9);
  }
  std::string Text(const Field& at, bool has, const std::string& value) {
    if (!has) {
      Missing(at, "give it a text");
    } else if (value.empty()) {
      diagnostics_->Error(at.place(), "is empty");
    }
    return value;
  }
  // A value that was there but refused has been reported by the parser.
  void Missing(const Field& at, const std::string& wanted) {
    if (!at.given()) diagnostics_->Error(at.place(), "missing; " + wanted);
  }
  void Error(const Field& at, const std::string& what) { diagnostics_->Error(at.place(), what); }

 private:
  static constexpr double kSlowestGb = 1e-6, kFastestGb = 9e6;  // 1 kB/s; what ByteRate holds
  proto::Diagnostics* diagnostics_;
};

constexpr std::int64_t kMostPorts = 65'536;

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

VertexKind KindOf(orrery::config::Topology::Element::Kind kind) {
  using Element = orrery::config::Topology::Element;
  switch (kind) {
    case Element::NVSWITCH:
      return VertexKind::kNvSwitch;
    case Element::PCIE_SWITCH:
      return VertexKind::kPcieSwitch;
    case Element::HOST:
      return VertexKind::kHost;
    case Element::NIC:
      return VertexKind::kNic;
    case Element::LEAF:
      return VertexKind::kLeaf;
    case Element::SPINE:
      return VertexKind::kSpine;
    case Element::SWITCH:
      return VertexKind::kSwitch;
    default:
      return VertexKind::kDevice;
  }
}

ExplicitSpec ReadExplicit(const orrery::config::Topology::Explicit& file, const Field& at, Fields& fields) {
  ExplicitSpec spec;
  for (int i = 0; i < file.nodes_size(); ++i) {
    const auto& node = file.nodes(i);
    const Field place = at.At("nodes", i);
    if (node.kind() == orrery::config::Topology::Element::UNSPECIFIED) {
      fields.Missing(place.At("kind"), "DEVICE, NVSWITCH, PCIE_SWITCH, HOST, NIC, LEAF, SPINE or SWITCH");
    }
    spec.nodes.push_back({node.name(), KindOf(node.kind())});
  }
  for (int i = 0; i < file.links_size(); ++i) {
    const auto& link = file.links(i);
    const Field place = at.At("links", i);
    spec.links.push_back(
        {link.from(), link.to(),
         fields.Gigabytes(place.At("bandwidth_gb_per_s_each_way"), link.has_bandwidth_gb_per_s_each_way(),
                          link.bandwidth_gb_per_s_each_way()),
         fields.Nanoseconds(place.At("latency_ns"), link.has_latency_ns(), link.latency_ns()),
         !link.has_duplex() || link.duplex()});
  }
  if (spec.links.size() > kMostLinks) {
    fields.Error(at.At("links"), std::to_string(spec.links.size()) + " links; at most " +
                                     std::to_string(kMostLinks) + " can be given one by one");
    return spec;
  }
  for (const Fault& fault : FaultsOf(spec)) {
    if (fault.list == Fault::List::kNone) {
      fields.Error(at, fault.what);
    } else {
      const char* list = fault.list == Fault::List::kLinks ? "links" : "nodes";
      fields.Error(at.At(list, static_cast<int>(fault.position)).At(fault.field), fault.what);
    }
  }
  return spec;
}

// The family that the file gives, or a report of none or several.
void ReadFamily(const orrery::config::Topology& file, const Field& root, Fields& fields, TopologySpec* spec) {
  const std::pair<const char*, bool> families[] = {{"single_node", file.has_single_node()},
                                                   {"rail_optimised", file.has_rail_optimised()},
                                                   {"single_switch", file.has_single_switch()},
                                                   {"explicit", file.has_explicit_()}};
  std::string given;
  int count = 0;
  for (const auto& [name, has] : families) {
    if (!has) continue;
    if (++count > 1) {
      fields.Error(root.At(name), std::string("this topology is ") + given + " already; give one of the two");
    }
    given = name;
  }
  if (count == 0) {
    fields.Error(root, "no family; give one of single_node, rail_optimised, single_switch and explicit");
  }
  if (file.has_rail_optimised())
    spec->family = ReadRails(file.rail_optimised(), root.At("rail_optimised"), fields);
  if (file.has_single_switch())
    spec->family = ReadSwitch(file.single_switch(), root.At("single_switch"), fields);
  if (file.has_explicit_()) spec->family = ReadExplicit(file.explicit_(), root.At("explicit"), fields);
}

// One file's name and text.
struct Text {
  std::string file;
  std::string text;
};

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::optional<Text> Find(const std::string& name, const std::string& folder, const std::string& place,
                         proto::Diagnostics* diagnostics) {
  const std::string beside = folder.empty() ? "" : folder + '/';
  for (const std::string& path :
       {beside + name, beside + name + ".textproto", beside + name + ".json", name}) {
    if (!IsFile(path)) continue;
    Text found{path, ""};
    if (!proto::ReadFile(path, &found.text, diagnostics)) return std::nullopt;
    return found;
  }
  std::vector<std::string> names;
  for (const proto::CatalogueFile& entry : Catalogue()) {
    if (entry.name == name) return Text{std::string(entry.file), std::string(entry.text)};
    names.emplace_back(entry.name);
  }
  std::string near;
  for (const std::string& one : proto::Nearest(name, names)) near += (near.empty() ? "" : ", ") + one;
  diagnostics->Error(place,
                     '"' + name + "\" is neither a file nor a topology of the catalogue" +
                         (near.empty() ? "; `orrery list` names them" : "; did you mean " + near + '?'));
  return std::nullopt;
}

}  // namespace

std::optional<TopologySpec> ReadTopology(const std::string& name_or_path,
                                         const std::vector<proto::Override>& overrides,
                                         const std::string& beside_folder, proto::Diagnostics* diagnostics,
                                         const std::string& place) {
  const std::optional<Text> found = Find(name_or_path, beside_folder, place, diagnostics);
  if (!found) return std::nullopt;
  const std::size_t errors_before = diagnostics->errors().size();
  orrery::config::Topology file;
  proto::Document document;
  proto::Read(found->file, found->text, overrides, &file, &document, diagnostics);
  if (!document.complete()) return std::nullopt;

  TopologySpec spec;
  Fields fields(diagnostics);
  const Field root = document.root();
  spec.file = found->file;
  spec.name = fields.Text(root.At("name"), file.has_name(), file.name());
  spec.source = fields.Text(root.At("source").At("title"), file.source().has_title(), file.source().title());
  ReadFamily(file, root, fields, &spec);
  if (diagnostics->errors().size() > errors_before) return std::nullopt;
  return spec;
}

}  // namespace topologies
