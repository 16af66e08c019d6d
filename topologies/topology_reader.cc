// Topology files to TopologySpec. Ranges are checked here, field by field;
// what only shows when elements are seen together is FaultsOf's.

#include <filesystem>
#include <string_view>
#include <utility>

#include "proto/field_list.h"
#include "proto/text_reader.h"
#include "proto/topology.pb.h"
#include "topologies/catalogue.h"
#include "topologies/family_reader.h"
#include "topologies/topology.h"

namespace topologies {
namespace {

using proto::Field;

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
                                                   {"fat_tree", file.has_fat_tree()},
                                                   {"torus", file.has_torus()},
                                                   {"dragonfly_plus", file.has_dragonfly_plus()},
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
    fields.Error(root,
                 "no family; give one of single_node, rail_optimised, single_switch, fat_tree, torus, "
                 "dragonfly_plus and explicit");
  }
  if (file.has_rail_optimised())
    spec->family = ReadRails(file.rail_optimised(), root.At("rail_optimised"), fields);
  if (file.has_single_switch())
    spec->family = ReadSwitch(file.single_switch(), root.At("single_switch"), fields);
  if (file.has_fat_tree()) spec->family = ReadFatTree(file.fat_tree(), root.At("fat_tree"), fields);
  if (file.has_torus()) spec->family = ReadTorus(file.torus(), root.At("torus"), fields);
  if (file.has_dragonfly_plus()) {
    spec->family = ReadDragonflyPlus(file.dragonfly_plus(), root.At("dragonfly_plus"), fields);
  }
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
  spec.fields = proto::FieldsOf(file);
  ReadFamily(file, root, fields, &spec);
  for (int i = 0; i < file.faults_size(); ++i) {
    spec.faults.push_back(ReadFault(file.faults(i), root.At("faults", i), fields));
  }
  if (diagnostics->errors().size() > errors_before) return std::nullopt;
  return spec;
}

}  // namespace topologies
