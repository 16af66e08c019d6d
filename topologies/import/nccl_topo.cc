// The XML that NCCL writes to NCCL_TOPO_DUMP_FILE: processors, under them the
// PCI tree, in its leaves GPUs (with their NVLinks) and NICs (with their ports).
//
// Rates are what NCCL counts on, not the wires'. Source of them and of what
// stands for missing attributes: NCCL 2.30, src/graph/topo.h and topo.cc.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <pugixml.hpp>

#include "topologies/import/draft_fabric.h"

namespace topologies {
namespace {

constexpr int kDeepest = 64;         // a PCI tree has five levels or so
constexpr double kNicLimit = 6.4e7;  // Mb/s of one port; 160 times that of today's

// One lane, in Gb/s, of what moves in practice: three quarters of the signalling
// rate, less 8b/10b coding up to 5 GT/s.
constexpr std::pair<double, double> kLaneRates[] = {{2.5, 1.5}, {5, 3}, {8, 6}, {16, 12}, {32, 24}, {64, 48}};

// One NVLink each way in GB/s, by compute capability.
double NvlinkRate(int sm) {
  if (sm >= 100) return 40.1;
  if (sm >= 90) return 20.6;
  if (sm == 86 || sm == 89) return 12.0;
  return sm >= 70 ? 20.0 : 18.0;
}

// Between two processors in GB/s.
double SocketRate(const pugi::xml_node& cpu) {
  const std::string_view arch = cpu.attribute("arch").value(), vendor = cpu.attribute("vendor").value();
  if (arch == "ppc64") return 32;
  if (arch != "x86_64") return 6;
  if (vendor == "AuthenticAMD") return 16;
  if (vendor != "GenuineIntel") return 6;
  const int model = cpu.attribute("modelid").as_int();
  if (model >= 0xcf) return 40;
  if (model >= 0x8f) return 22;
  return model >= 0x55 ? 10 : 6;
}

struct Gpu {
  std::string name;
  int sm = 0;
  pugi::xml_node xml;
};

class NcclTopo {
 public:
  NcclTopo(const FabricFile& file, proto::Diagnostics* diagnostics) : file_(file), diagnostics_(diagnostics) {
    for (std::size_t i = 0; i < file.text.size(); ++i) {
      if (file.text[i] == '\n') line_ends_.push_back(static_cast<std::ptrdiff_t>(i));
    }
  }

  std::optional<ImportedFabric> Import() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed =
        document.load_buffer(file_.text.data(), file_.text.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) {
      diagnostics_->Error(PlaceOf(file_, LineOf(parsed.offset)),
                          std::string("no XML: ") + parsed.description());
      return std::nullopt;
    }
    const pugi::xml_node system = document.child("system");
    if (!system) {
      diagnostics_->Error(file_.file, "has no <system>; the XML of NCCL_TOPO_DUMP_FILE is wanted");
      return std::nullopt;
    }
    const std::string_view version = system.attribute("version").value();
    if (version != "1") {
      Error(system, "version is " + Quoted(version) + "; only 1 is known");
      return std::nullopt;
    }
    latencies_ = LatenciesOf(file_, &draft_);
    draft_.Note("rates of PCI, NVLink and between processors are those that NCCL counts on");
    Walk(system);
    if (!diagnostics_->ok()) return std::nullopt;
    AddNodes(file_, node_, latencies_.nic, &draft_, diagnostics_);
    return std::move(draft_).Finish(file_, "nccl_topo", diagnostics_);
  }

 private:
  std::size_t LineOf(std::ptrdiff_t offset) const {
    return static_cast<std::size_t>(std::lower_bound(line_ends_.begin(), line_ends_.end(), offset) -
                                    line_ends_.begin()) +
           1;
  }
  void Error(const pugi::xml_node& at, const std::string& what) {
    diagnostics_->Error(PlaceOf(file_, LineOf(at.offset_debug())), std::string(at.name()) + ": " + what);
  }

  // A number within these, or an error at its element and `low`.
  double Number(const pugi::xml_node& at, const char* attribute, double low, double high) {
    const std::string_view text = at.attribute(attribute).value();
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value >= low &&
        value <= high) {
      return value;
    }
    Error(at, std::string(attribute) + " is " + Quoted(text) + "; a number of " +
                  std::to_string(static_cast<std::int64_t>(low)) + " to " +
                  std::to_string(static_cast<std::int64_t>(high)) + " is wanted");
    return low;
  }
  int WholeNumber(const pugi::xml_node& at, const char* attribute, int low, int high) {
    const double value = Number(at, attribute, low, high);
    if (value != std::floor(value)) Error(at, std::string(attribute) + " is no whole number");
    return static_cast<int>(value);
  }

  void AddElement(const pugi::xml_node& at, const std::string& name, VertexKind kind) {
    if (!names_.insert(name).second) return Error(at, name + " is in this file twice");
    node_.elements.push_back({name, kind});
  }

  void Walk(const pugi::xml_node& system) {
    std::vector<std::pair<std::string, double>> sockets;
    for (const pugi::xml_node& cpu : system.children()) {
      if (std::string_view(cpu.name()) != "cpu") {
        draft_.Note("! left out: " + NamePart(cpu.name()) + " beside the processors");
        continue;
      }
      const std::string name = "cpu" + std::to_string(WholeNumber(cpu, "numaid", -1, 65'535));
      AddElement(cpu, name, VertexKind::kHost);
      sockets.emplace_back(name, SocketRate(cpu));
      for (const pugi::xml_node& pci : cpu.children()) Visit(pci, name, 0);
    }
    for (std::size_t a = 0; a < sockets.size(); ++a) {
      for (std::size_t b = a + 1; b < sockets.size(); ++b) {
        node_.cables.push_back(
            {sockets[a].first, sockets[b].first,
             sim::ByteRate::GigabytesPerSecond(std::min(sockets[a].second, sockets[b].second)),
             latencies_.pcie});
      }
    }
    CableNvlinks();
  }

  // A child of a processor or of a PCI switch, which `parent` is.
  void Visit(const pugi::xml_node& at, const std::string& parent, int depth) {
    const std::string_view tag = at.name();
    if (tag != "pci") {
      // A NIC that is no PCI device sits at its processor.
      if (tag == "nic" && parent.starts_with("cpu"))
        return AddNic(at, parent, sim::ByteRate::GigabytesPerSecond(5000));
      draft_.Note("! left out: " + NamePart(tag) + " elements");
      return;
    }
    if (depth == kDeepest) return Error(at, "deeper than " + std::to_string(kDeepest) + " levels");
    const pugi::xml_node gpu = at.child("gpu"), nic = at.child("nic");
    const bool below = at.find_node([](const pugi::xml_node& node) {
      return std::string_view(node.name()) == "gpu" || std::string_view(node.name()) == "nic";
    });
    if (!below) return;  // NVSwitches, drives
    const std::string busid = at.attribute("busid").value();
    if (!busid.empty() && !busids_.insert(busid).second) {
      return Error(at, "busid " + Quoted(busid) + " is in this file twice");
    }
    const sim::ByteRate rate = PciRate(at);
    if (gpu) return AddGpu(at, gpu, parent, rate);
    if (nic) return AddNic(nic, parent, rate);
    const std::string name = "pci-" + NamePart(at.attribute("busid").value());
    AddElement(at, name, VertexKind::kPcieSwitch);
    node_.cables.push_back({name, parent, rate, latencies_.pcie});
    for (const pugi::xml_node& child : at.children()) Visit(child, name, depth + 1);
  }

  // Of a device's or switch's link to what is above it.
  sim::ByteRate PciRate(const pugi::xml_node& pci) {
    const std::string_view speed = pci.attribute("link_speed").value();
    double lanes = 16, lane = 6;
    if (std::string_view(pci.attribute("link_width").value()).empty() || speed.empty() ||
        speed.starts_with("Unknown")) {
      draft_.Note(
          "PCI links whose speed or width is not known are taken as 8 GT/s and 16 lanes, as NCCL does");
    }
    if (*pci.attribute("link_width").value() != '\0') {
      lanes = WholeNumber(pci, "link_width", 0, 32);
      if (lanes == 0) lanes = 16;
    }
    if (!speed.empty() && !speed.starts_with("Unknown")) {
      double gigatransfers = 0;
      const auto parsed = std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
      const std::string_view unit(parsed.ptr,
                                  static_cast<std::size_t>(speed.data() + speed.size() - parsed.ptr));
      const auto* row = std::find_if(std::begin(kLaneRates), std::end(kLaneRates),
                                     [&](const auto& r) { return r.first == gigatransfers; });
      if (parsed.ec != std::errc() || !unit.starts_with(" GT/s") || row == std::end(kLaneRates)) {
        Error(pci, "link_speed is " + Quoted(speed) + "; 2.5, 5, 8, 16, 32 or 64 GT/s is wanted");
      } else {
        lane = row->second;
      }
    }
    return MegabitsPerSecond(lane * lanes * 1000);
  }

  void AddGpu(const pugi::xml_node& pci, const pugi::xml_node& gpu, const std::string& parent,
              sim::ByteRate rate) {
    const std::string name = "gpu" + std::to_string(WholeNumber(gpu, "dev", 0, 65'535));
    AddElement(gpu, name, VertexKind::kDevice);
    node_.cables.push_back({name, parent, rate, latencies_.pcie});
    gpus_[pci.attribute("busid").value()] = {name, WholeNumber(gpu, "sm", 30, 9'999), gpu};
  }

  // Ports of one adapter share its PCI link.
  void AddNic(const pugi::xml_node& nic, const std::string& parent, sim::ByteRate rate) {
    double megabits = 0;
    std::string name;
    for (const pugi::xml_node& net : nic.children("net")) {
      if (name.empty()) name = "nic-" + NamePart(net.attribute("name").value());
      megabits += Number(net, "speed", 1, kNicLimit);
    }
    if (name.empty()) return Error(nic, "has no net");
    AddElement(nic, name, VertexKind::kNic);
    node_.cables.push_back({name, parent, rate, latencies_.pcie});
    node_.ports.push_back({name, MegabitsPerSecond(std::min(megabits, kNicLimit))});
  }

  void CableNvlinks() {
    std::map<std::pair<std::string, std::string>, int> direct;  // from GPU to GPU: links
    for (const auto& [busid, gpu] : gpus_) {
      int to_switch = 0;
      for (const pugi::xml_node& link : gpu.xml.children()) {
        if (std::string_view(link.name()) != "nvlink") {
          draft_.Note("! left out: " + NamePart(link.name()) + " links of GPUs");
          continue;
        }
        const int count = WholeNumber(link, "count", 1, 1000);
        const std::string target = link.attribute("target").value();
        if (std::string_view(link.attribute("tclass").value()).starts_with("0x0680")) {
          to_switch += count;
        } else if (const auto other = gpus_.find(target); other == gpus_.end() || other->first == busid) {
          Error(link, "target " + Quoted(target) + " is neither an NVSwitch nor another GPU of this file");
        } else {
          direct[{gpu.name, other->second.name}] += count;
        }
      }
      if (to_switch > 0) CableToSwitch(gpu, to_switch);
    }
    for (const auto& [ends, count] : direct) {
      const auto back = direct.find({ends.second, ends.first});
      if (back == direct.end() || back->second != count) {
        diagnostics_->Error(file_.file, ends.first + " has " + std::to_string(count) + " NVLinks to " +
                                            ends.second + ", which has " +
                                            std::to_string(back == direct.end() ? 0 : back->second) +
                                            " back");
      } else if (ends.first < ends.second) {
        node_.cables.push_back({ends.first, ends.second, NvlinkRateOf(ends.first, count), latencies_.nvlink});
      }
    }
  }

  void CableToSwitch(const Gpu& gpu, int links) {
    if (names_.insert("nvswitch").second) {
      node_.elements.push_back({"nvswitch", VertexKind::kNvSwitch});
      draft_.Note("all NVSwitches are one that never blocks");
    }
    node_.cables.push_back({gpu.name, "nvswitch",
                            sim::ByteRate::GigabytesPerSecond(links * NvlinkRate(gpu.sm)),
                            latencies_.nvlink});
  }

  sim::ByteRate NvlinkRateOf(const std::string& name, int links) const {
    const auto gpu =
        std::find_if(gpus_.begin(), gpus_.end(), [&](const auto& g) { return g.second.name == name; });
    return sim::ByteRate::GigabytesPerSecond(links * NvlinkRate(gpu->second.sm));
  }

  const FabricFile& file_;
  proto::Diagnostics* diagnostics_;
  std::vector<std::ptrdiff_t> line_ends_;
  DraftFabric draft_;
  DraftNode node_;
  AssumedLatencies latencies_;
  std::set<std::string> names_, busids_;
  std::map<std::string, Gpu> gpus_;  // by bus id
};

}  // namespace

std::optional<ImportedFabric> ImportNcclTopo(const FabricFile& file, proto::Diagnostics* diagnostics) {
  return NcclTopo(file, diagnostics).Import();
}

}  // namespace topologies
