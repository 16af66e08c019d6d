// `ibnetdiscover`: switches, adapters ("Ca") and the cables between them. It
// knows no GPUs: one is put beside each adapter, as in nodes with a NIC a GPU.

#include <algorithm>
#include <map>
#include <utility>

#include "topologies/import/ib_network.h"

namespace topologies {
namespace {

// As in the catalogue's rail_optimised_ndr, which has the source.
constexpr sim::Duration kSwitchLatency = sim::Duration::Nanoseconds(250);

// "node2" before "node10".
bool IsBefore(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}
struct Before {
  bool operator()(const std::string& a, const std::string& b) const { return IsBefore(a, b); }
};

struct Adapter {
  std::string name;  // "mlx5_0"
  const IbElement* element = nullptr;
};

class Ibnetdiscover {
 public:
  Ibnetdiscover(const FabricFile& file, IbNetwork network, proto::Diagnostics* diagnostics)
      : file_(file), network_(std::move(network)), diagnostics_(diagnostics) {}

  std::optional<ImportedFabric> Import() {
    latencies_ = LatenciesOf(file_, &draft_);
    draft_.Note("a switch takes 250 ns, as the catalogue's NDR switches");
    draft_.Note("one GPU is put beside each adapter: the file knows none");
    if (!file_.node)
      draft_.Note("a GPU reaches its adapter as fast as that its network; --hardware says more");
    SortAdapters();
    for (auto& [host, adapters] : hosts_) AddHost(host, adapters);
    AddSwitches();
    for (const auto& [id, element] : network_) CableElement(id, element);
    return std::move(draft_).Finish(file_, "ibnetdiscover", diagnostics_);
  }

 private:
  // Host and adapter: "node1 mlx5_0". What aggregates inside switches is no host's.
  void SortAdapters() {
    std::size_t no_cable = 0;
    for (const auto& [id, element] : network_) {
      if (element.is_switch) continue;
      if (element.description.find("Aggregation Node") != std::string::npos) {
        draft_.Note("left out: aggregation nodes of switches (SHARP)");
        continue;
      }
      if (element.ports.empty()) {
        ++no_cable;
        continue;
      }
      const std::size_t space = element.description.find(' ');
      const std::string host = NamePart(std::string_view(element.description).substr(0, space));
      std::string adapter = space == std::string::npos
                                ? "hca"
                                : NamePart(std::string_view(element.description).substr(space + 1));
      auto& adapters = hosts_[host];
      const bool taken =
          std::any_of(adapters.begin(), adapters.end(), [&](const Adapter& a) { return a.name == adapter; });
      if (taken || adapter.starts_with("gpu") || adapter == "nvswitch") adapter += '-' + NamePart(id);
      adapters.push_back({adapter, &element});
      names_[id] = host + '/' + adapter;
    }
    if (no_cable > 0) draft_.Note("left out: " + std::to_string(no_cable) + " adapters without a cable");
  }

  void AddHost(const std::string& host, std::vector<Adapter>& adapters) {
    std::sort(adapters.begin(), adapters.end(),
              [](const Adapter& a, const Adapter& b) { return IsBefore(a.name, b.name); });
    const std::string prefix = host + '/';
    const bool nvlink = file_.node && file_.node->nvlink >= kSlowest && adapters.size() > 1;
    for (std::size_t i = 0; i < adapters.size(); ++i) {
      draft_.Add(prefix + "gpu" + std::to_string(i), VertexKind::kDevice);
    }
    if (nvlink) draft_.Add(prefix + "nvswitch", VertexKind::kNvSwitch);
    for (std::size_t i = 0; i < adapters.size(); ++i) {
      const std::string gpu = prefix + "gpu" + std::to_string(i), nic = prefix + adapters[i].name;
      double megabits = 0;
      for (const auto& [port, cable] : adapters[i].element->ports) megabits += cable.megabits;
      const bool pcie = file_.node && file_.node->pcie >= kSlowest;
      draft_.Add(nic, VertexKind::kNic);
      draft_.Cable(gpu, nic, pcie ? file_.node->pcie : MegabitsPerSecond(megabits), latencies_.pcie);
      if (nvlink) draft_.Cable(gpu, prefix + "nvswitch", file_.node->nvlink, latencies_.nvlink);
    }
  }

  // By its description, where that is its own; leafs are those with an adapter.
  void AddSwitches() {
    std::map<std::string, int> uses;
    for (const auto& [id, element] : network_) {
      if (element.is_switch) ++uses[NamePart(element.description)];
    }
    for (const auto& [id, element] : network_) {
      if (!element.is_switch) continue;
      std::string name = NamePart(element.description);
      if (uses[name] > 1 || element.description.empty() || draft_.has(name)) name = NamePart(id);
      const bool leaf = std::any_of(element.ports.begin(), element.ports.end(), [&](const auto& port) {
        return !network_.at(port.second.peer).is_switch;
      });
      if (draft_.has(name)) {
        diagnostics_->Error(PlaceOf(file_, element.line),
                            "another element is called " + Quoted(name) + " too");
        continue;
      }
      draft_.Add(name, leaf ? VertexKind::kLeaf : VertexKind::kSpine);
      names_[id] = name;
    }
  }

  void CableElement(const std::string& id, const IbElement& element) {
    for (const auto& [port, cable] : element.ports) {
      const auto a = names_.find(id), b = names_.find(cable.peer);
      const bool second_end = std::pair(cable.peer, cable.peer_port) < std::pair(id, port);
      if (a == names_.end() || b == names_.end() || second_end) continue;
      const bool between = element.is_switch && network_.at(cable.peer).is_switch;
      draft_.Cable(a->second, b->second, MegabitsPerSecond(cable.megabits),
                   between ? kSwitchLatency : latencies_.nic + kSwitchLatency);
    }
  }

  const FabricFile& file_;
  const IbNetwork network_;
  proto::Diagnostics* diagnostics_;
  DraftFabric draft_;
  AssumedLatencies latencies_;
  std::map<std::string, std::vector<Adapter>, Before> hosts_;
  std::map<std::string, std::string> names_;  // by id
};

}  // namespace

std::optional<ImportedFabric> ImportIbnetdiscover(const FabricFile& file, proto::Diagnostics* diagnostics) {
  if (file.devices > 0) {
    diagnostics->Error(file.file,
                       "says itself how many adapters there are; --devices is for files of one node");
    return std::nullopt;
  }
  auto network = ReadIbNetwork(file, diagnostics);
  if (!network) return std::nullopt;
  return Ibnetdiscover(file, *std::move(network), diagnostics).Import();
}

}  // namespace topologies
