// orrery topology: a fabric as text, JSON and a picture, without a job.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>
#include <variant>

#include "hardware/device_reader.h"
#include "scenarios/output/output_file.h"
#include "tools/commands.h"
#include "tools/devices_flag.h"
#include "topologies/capacity.h"
#include "topologies/drawing.h"
#include "topologies/topology.h"

namespace tools {
namespace {

using Json = nlohmann::ordered_json;
using topologies::Fabric;
using topologies::TierCapacity;
using topologies::TopologySpec;

constexpr std::int64_t kNodes = 8;                // drawn where no number of devices is given
constexpr std::size_t kMostSearched = 4'000'000;  // links to look at for pairs whose routes are searched

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// The family and how traffic goes through it, each a few words.
struct Words {
  std::string family, routing;
};

Words WordsOf(const topologies::FatTreeSpec& tree) {
  using topologies::RailKind;
  const char* rails = tree.rails == RailKind::kShared      ? "all NICs of a node on one leaf"
                      : tree.rails == RailKind::kOptimised ? "rail-optimised"
                                                           : "rail-only";
  std::string family = std::string("fat tree, ") + rails;
  if (tree.planes > 1) family += ", " + std::to_string(tree.planes) + " planes";
  std::string routing = topologies::ToText(tree.routing.routing);
  if (tree.routing.routing == topologies::Routing::kEcmp) {
    routing += ", seed " + std::to_string(tree.routing.seed);
    if (tree.routing.flows > 1) routing += ", " + std::to_string(tree.routing.flows) + " flows a pair";
  }
  if (tree.rails != RailKind::kShared) routing += "; by the destination's rail where nodes have NVLink";
  return {family, routing};
}

Words WordsOf(const TopologySpec& spec) {
  return std::visit(
      Overloaded{
          [](const topologies::SingleNodeSpec&) {
            return Words{"single node", "inside the node"};
          },
          [](const topologies::RailOptimisedSpec&) {
            return Words{"rails with spines of their own", "SPRAY; by the destination's rail"};
          },
          [](const topologies::SingleSwitchSpec&) {
            return Words{"single switch", "through it"};
          },
          [](const topologies::FatTreeSpec& tree) { return WordsOf(tree); },
          [](const topologies::TorusSpec& torus) {
            return Words{torus.wrap ? "torus" : "mesh", "dimension by dimension, the shorter way round"};
          },
          [](const topologies::DragonflyPlusSpec&) {
            return Words{"dragonfly plus", "SPRAY over the direct cables between groups"};
          },
          [](const topologies::ExplicitSpec&) {
            return Words{"listed link by link", "evenly over all shortest paths"};
          }},
      spec.family);
}

// What is printed.
struct Subject {
  TopologySpec spec;
  std::string node;  // empty where the topology lists its devices
  Fabric fabric;
};

// "topology.x" and "hardware.x" without their first word, for their readers.
std::vector<proto::Override> Of(const std::string& part, const std::vector<proto::Override>& overrides) {
  std::vector<proto::Override> own;
  for (const proto::Override& set : overrides) {
    if (set.path.starts_with(part)) own.push_back({set.index, set.path.substr(part.size()), set.value, part});
  }
  return own;
}

std::optional<std::int64_t> Whole(const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

std::int64_t DevicesOf(const TopologySpec& spec, const sim::NodeShape& node) {
  if (const auto* list = std::get_if<topologies::ExplicitSpec>(&spec.family)) {
    return std::count_if(list->nodes.begin(), list->nodes.end(), [](const topologies::ExplicitNode& n) {
      return n.kind == topologies::VertexKind::kDevice;
    });
  }
  return std::holds_alternative<topologies::SingleNodeSpec>(spec.family) ? node.devices
                                                                         : kNodes * node.devices;
}

std::optional<Subject> Load(const Arguments& arguments, std::ostream& err) {
  const auto overrides = OverridesOf(arguments);
  proto::Diagnostics diagnostics;
  if (!overrides.ok()) {
    Fail(overrides.error().message, err);
    return std::nullopt;
  }
  for (const proto::Override& set : overrides.value()) {
    if (set.path.starts_with("topology.") || set.path.starts_with("hardware.")) continue;
    diagnostics.Error("--set " + std::to_string(set.index) + ": " + set.path,
                      "is no field here; topology.FIELD or hardware.FIELD is wanted");
  }
  if (arguments.positional.empty()) {
    diagnostics.Error("topology", "no name; `orrery list topologies` names all, or give a file");
  }
  std::optional<DevicesAsked> devices;
  if (arguments.has("devices")) {
    auto read = ReadDevices(arguments.value("devices"));
    if (!read.ok()) diagnostics.Error("--devices", read.error().message);
    if (read.ok()) devices = std::move(read).value();
  }
  std::optional<TopologySpec> spec;
  if (!arguments.positional.empty()) {
    spec = topologies::ReadTopology(arguments.positional[0], Of("topology.", overrides.value()), "",
                                    &diagnostics);
  }
  const auto device =
      hardware::ReadDevice(arguments.value("hardware", "h100_sxm"), Of("hardware.", overrides.value()), "",
                           &diagnostics, "--hardware");
  Print(diagnostics, err);
  if (!diagnostics.ok() || !spec || !device) return std::nullopt;
  auto fabric =
      BuildAsked(*spec, device->node, devices.value_or(DevicesAsked{DevicesOf(*spec, device->node)}));
  if (!fabric.ok()) {
    Fail(fabric.error().message, err);
    return std::nullopt;
  }
  const bool listed = std::holds_alternative<topologies::ExplicitSpec>(spec->family);
  return Subject{*std::move(spec), listed ? "" : device->node.name, std::move(fabric).value()};
}

// Routes that are searched in the graph take a search each.
bool PairsAreQuick(const Subject& subject) {
  const Fabric& fabric = subject.fabric;
  const bool failed = std::any_of(fabric.links.begin(), fabric.links.end(),
                                  [](const topologies::Link& link) { return link.failed; });
  return (!failed && !subject.node.empty()) || fabric.devices.size() * fabric.links.size() <= kMostSearched;
}

std::string RouteText(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  const topologies::Route route = fabric.router->Between(from, to);
  std::string text = "\n  route from device " + std::to_string(from) + " to " + std::to_string(to) + ", " +
                     Format("%.6g", route.latency.seconds() * 1e6) + " us\n";
  for (const topologies::RouteUse& use : route.uses) {
    text += "    " + fabric.LinkName(use.link);
    if (use.parts != route.denominator) {
      text += ", " + std::to_string(use.parts) + " of " + std::to_string(route.denominator);
    }
    text += '\n';
  }
  return text;
}

std::string TierTable(const Fabric& fabric) {
  std::string text =
      "\n  tier         links  cables  GB/s a link     TB/s in all  GB/s a device each way  between\n";
  for (const TierCapacity& tier : topologies::TiersOf(fabric)) {
    std::string rate = Format("%.5g", tier.slowest.bytes_per_second() * 1e-9);
    if (tier.slowest != tier.fastest) {
      rate += " to " + Format("%.5g", tier.fastest.bytes_per_second() * 1e-9);
    }
    char line[160];
    std::snprintf(line, sizeof line, "  %-11s %6llu  %6llu  %-14s  %11.5g  %22.5g", ToText(tier.tier),
                  static_cast<unsigned long long>(tier.links), static_cast<unsigned long long>(tier.cables),
                  rate.c_str(), tier.total * 1e-12,
                  tier.total * 0.5e-9 / static_cast<double>(fabric.devices.size()));
    text += line + std::string("  ") + ToText(tier.a) + ", " + ToText(tier.b);
    if (tier.failed > 0) text += "; and " + std::to_string(tier.failed) + " failed";
    text += '\n';
  }
  return text + "  links count one way; a bundle of cables that is sprayed over is one link\n";
}

std::string Text(const Subject& subject) {
  const Fabric& fabric = subject.fabric;
  const Words words = WordsOf(subject.spec);
  std::string text = fabric.name + ": " + words.family;
  if (!subject.node.empty()) text += ", nodes \"" + subject.node + '"';
  text +=
      "\n  " + topologies::ElementsText(fabric) + "\n  routing: " + words.routing + '\n' + TierTable(fabric);
  const std::size_t devices = fabric.devices.size();
  if (devices < 2) return text;
  const std::string half = std::to_string(devices / 2);
  const double cut = topologies::BisectionOf(fabric);
  text += "\n  bisection  " + Format("%.6g", cut * 1e-12) + " TB/s each way between the first " + half +
          " devices and the others, " + Format("%.5g", cut * 1e-9 / static_cast<double>(devices / 2)) +
          " GB/s for each of them\n";
  if (PairsAreQuick(subject)) {
    text += "  pairs      " + Format("%.5g", topologies::RateOfHalves(fabric) * 1e-9) +
            " GB/s each way between device i and i + " + half + ", all at once on their routes\n";
  } else {
    text += "  pairs      not worked out: each route would be searched in a large graph\n";
  }
  return text;
}

Json Document(const Subject& subject) {
  const Fabric& fabric = subject.fabric;
  const Words words = WordsOf(subject.spec);
  Json document = {{"schema_version", 1},
                   {"name", fabric.name},
                   {"source", subject.spec.source},
                   {"family", words.family},
                   {"routing", words.routing},
                   {"node", subject.node},
                   {"devices", fabric.devices.size()}};
  std::map<std::string, std::uint64_t> elements;
  for (const topologies::Vertex& vertex : fabric.vertices) elements[ToText(vertex.kind)] += vertex.elements;
  document["elements"] = elements;
  document["tiers"] = Json::array();
  for (const TierCapacity& tier : topologies::TiersOf(fabric)) {
    document["tiers"].push_back({{"name", ToText(tier.tier)},
                                 {"between", {ToText(tier.a), ToText(tier.b)}},
                                 {"links", tier.links},
                                 {"cables", tier.cables},
                                 {"failed_links", tier.failed},
                                 {"slowest_bytes_per_s", tier.slowest.bytes_per_second()},
                                 {"fastest_bytes_per_s", tier.fastest.bytes_per_second()},
                                 {"total_bytes_per_s", tier.total}});
  }
  document["bisection_bytes_per_s"] = topologies::BisectionOf(fabric);
  document["pairs_bytes_per_s"] =
      PairsAreQuick(subject) ? Json(topologies::RateOfHalves(fabric)) : Json(nullptr);
  return document;
}

// "0,9": two devices. Error: what else it is.
sim::Result<std::pair<std::uint32_t, std::uint32_t>> PairOf(const std::string& text, std::size_t devices) {
  const std::size_t comma = text.find(',');
  const auto last = static_cast<std::int64_t>(devices) - 1;
  const auto from = Whole(text.substr(0, comma), 0, last);
  const auto to = comma == std::string::npos ? std::nullopt : Whole(text.substr(comma + 1), 0, last);
  if (!from || !to || *from == *to) {
    return sim::Error{"--route: \"" + text + "\" is no pair of devices; two of 0 to " + std::to_string(last) +
                      " are wanted, as 0," + std::to_string(last)};
  }
  return std::pair(static_cast<std::uint32_t>(*from), static_cast<std::uint32_t>(*to));
}

int RunTopology(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const std::string dot = arguments.value("dot");
  if (arguments.has("dot") && (dot.empty() || dot == "-")) {
    return Fail("--dot " + dot + ": the name of a file is wanted", err);
  }
  if (arguments.has("json") && arguments.has("route")) {
    return Fail("--route: is given beside --json; give one", err);
  }
  const std::optional<Subject> subject = Load(arguments, err);
  if (!subject) return kExitUsage;
  if (arguments.has("dot") && !subject->spec.file.empty() && scenarios::IsSameFile(dot, subject->spec.file)) {
    return Fail("--dot " + dot + " is the file to read; another name is wanted", err);
  }
  std::string route;
  if (arguments.has("route")) {
    const auto pair = PairOf(arguments.value("route"), subject->fabric.devices.size());
    if (!pair.ok()) return Fail(pair.error().message, err);
    route = RouteText(subject->fabric, pair.value().first, pair.value().second);
  }
  if (arguments.has("dot")) {
    auto created = scenarios::OutputFile::Create(dot);
    if (!created.ok()) return Fail(created.error().message, err);
    scenarios::OutputFile file = std::move(created).value();
    file.Write(topologies::ToDot(subject->fabric));
    if (const auto written = file.Finish(); !written.ok()) {
      return Fail(written.error().message, err);
    }
  }
  out << (arguments.has("json") ? Document(*subject).dump(2) + '\n' : Text(*subject) + route);
  return kExitDone;
}

}  // namespace

Command TopologyCommand() {
  return {"topology",
          "Shows a fabric: elements, links by tier, bisection, routes; also as a picture.",
          "NAME [OPTION]...",
          1,
          {{"devices", "N", "how many devices, or those of each node, 8,8,5; else 8 nodes", false},
           {"hardware", "NAME", "whose nodes it joins; h100_sxm", false},
           {"set", "PATH=VALUE", "change a field: topology.fat_tree.planes=2, hardware.node.nics=4", true},
           {"route", "A,B", "print the links from device A to device B", false},
           {"dot", "FILE", "write a picture for Graphviz", false},
           {"json", "", "print one JSON document", false}},
          "  orrery topology rail_optimised_ndr --devices 512\n"
          "  orrery topology fat_tree_ndr --set topology.fat_tree.routing=ECMP --route 0,9\n"
          "  orrery topology single_node --hardware gb200_nvl72 --dot rack.dot\n"
          "  orrery topology rail_optimised_ndr --set 'topology.faults[0].from=node3/nic5' \\\n"
          "      --set 'topology.faults[0].to=rail5/leaf*' --set 'topology.faults[0].rate_factor=0.5'\n",
          RunTopology};
}

}  // namespace tools
