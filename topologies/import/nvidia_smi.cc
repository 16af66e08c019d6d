// `nvidia-smi topo -m`: classes of connection, without rates. The tree behind
// them is that of fewest elements which gives every pair its class:
//
//   PIX          one PCI switch
//   PXB          a PCI switch above those
//   PHB, NODE    one processor
//   SYS          two processors, joined at the rate of PCI
//
// Between GPUs with NVLinks the matrix hides the class on PCI; then the NICs
// beside them and the NUMA column tell it.

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/check.h"
#include "topologies/import/nvidia_smi_matrix.h"

namespace topologies {
namespace {

// The most NVLinks that a GPU has had: Hopper's and Blackwell's 18.
constexpr std::size_t kMostLinksOfGpu = 18;

// Which elements are together; the number of a set is that of its first element.
class Sets {
 public:
  explicit Sets(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t Of(std::size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void Join(std::size_t a, std::size_t b) {
    a = Of(a);
    b = Of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

class NvidiaSmi {
 public:
  NvidiaSmi(const FabricFile& file, SmiMatrix matrix, proto::Diagnostics* diagnostics)
      : file_(file), matrix_(std::move(matrix)), diagnostics_(diagnostics), shape_(*file.node) {}

  std::optional<ImportedFabric> Import() {
    const AssumedLatencies latencies = LatenciesOf(file_, &draft_);
    draft_.Note("the file has classes of connection; all rates are those of " + shape_.name);
    for (const SmiMatrix::Element& element : matrix_.elements) {
      node_.elements.push_back({element.name, element.is_gpu ? VertexKind::kDevice : VertexKind::kNic});
      if (!element.is_gpu) node_.ports.push_back({element.name, shape_.nic});
    }
    AddPci();
    AddNvlinks();
    if (!diagnostics_->ok()) return std::nullopt;
    AddNodes(file_, node_, latencies.nic, &draft_, diagnostics_);
    return std::move(draft_).Finish(file_, "nvidia-smi topo -m", diagnostics_);
  }

 private:
  std::size_t size() const { return matrix_.elements.size(); }

  // Sets of what is at most so far from each other, NVLinks aside.
  Sets Within(Nearness most) const {
    Sets sets(size());
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const Nearness near = matrix_.cells[a][b].near;
        const bool same_numa = near == Nearness::kNvlink && most == Nearness::kNode &&
                               matrix_.elements[a].numa == matrix_.elements[b].numa;
        if (same_numa || (near >= Nearness::kPix && near <= most)) sets.Join(a, b);
      }
    }
    return sets;
  }

  void Cable(const std::string& a, const std::string& b) {
    node_.cables.push_back({a, b, shape_.pcie, shape_.pcie_latency});
  }

  void AddPci() {
    if (shape_.pcie < kSlowest) {
      diagnostics_->Error(file_.file, "the device " + shape_.name + " has no PCIe rate");
      return;
    }
    const Sets pix = Within(Nearness::kPix), pxb = Within(Nearness::kPxb), host = Within(Nearness::kNode);
    // PIX of two that are also said to be farther apart, through a third: no tree gives that.
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const Nearness near = matrix_.cells[a][b].near;
        if (near == Nearness::kNvlink) continue;
        const bool contradicts = (near > Nearness::kPix && pix.Of(a) == pix.Of(b)) ||
                                 (near > Nearness::kPxb && pxb.Of(a) == pxb.Of(b)) ||
                                 (near > Nearness::kNode && host.Of(a) == host.Of(b));
        if (!contradicts) continue;
        diagnostics_->Error(PlaceOf(file_, matrix_.elements[a].line),
                            matrix_.elements[a].name + " and " + matrix_.elements[b].name +
                                " are nearer by way of another element than this row says");
      }
    }
    std::vector<std::string> hosts;
    for (std::size_t i = 0; i < size(); ++i) {
      const std::string processor = "cpu" + std::to_string(host.Of(i));
      const std::string upper = "pci-upper" + std::to_string(pxb.Of(i));
      const std::string lower = "pci" + std::to_string(pix.Of(i));
      if (host.Of(i) == i) {
        node_.elements.push_back({processor, VertexKind::kHost});
        for (const std::string& other : hosts) Cable(other, processor);
        hosts.push_back(processor);
      }
      const bool several = SeveralLower(pix, pxb, i);
      if (pxb.Of(i) == i && several) {
        node_.elements.push_back({upper, VertexKind::kPcieSwitch});
        Cable(upper, processor);
      }
      if (pix.Of(i) == i) {
        node_.elements.push_back({lower, VertexKind::kPcieSwitch});
        Cable(lower, several ? upper : processor);
      }
      Cable(matrix_.elements[i].name, lower);
    }
    if (hosts.size() > 1) draft_.Note("processors are joined at the rate of PCIe: an assumption");
  }

  // Whether the upper PCI switch over element `i` has several lower ones.
  bool SeveralLower(const Sets& pix, const Sets& pxb, std::size_t i) const {
    for (std::size_t other = 0; other < size(); ++other) {
      if (pxb.Of(other) == pxb.Of(i) && pix.Of(other) != pix.Of(i)) return true;
    }
    return false;
  }

  void AddNvlinks() {
    std::size_t gpus = 0, linked = 0, most = 0;  // most: of one GPU, to all others
    std::size_t least_of_pair = SIZE_MAX, most_of_pair = 0;
    for (std::size_t a = 0; a < size(); ++a) {
      gpus += matrix_.elements[a].is_gpu ? 1 : 0;
      std::size_t of_gpu = 0;
      for (std::size_t b = 0; b < size(); ++b) {
        const SmiMatrix::Cell& cell = matrix_.cells[a][b];
        if (cell.near != Nearness::kNvlink) continue;
        const auto links = static_cast<std::size_t>(cell.nvlinks);
        ++linked;
        of_gpu += links;
        least_of_pair = std::min(least_of_pair, links);
        most_of_pair = std::max(most_of_pair, links);
      }
      most = std::max(most, of_gpu);
    }
    if (linked == 0) return;
    if (shape_.nvlink < kSlowest) {
      diagnostics_->Error(file_.file, "has NVLinks, but the device " + shape_.name + " has none");
      return;
    }
    if (linked == gpus * (gpus - 1) && least_of_pair == most_of_pair && most > kMostLinksOfGpu) {
      AddNvSwitch();
    } else if (most > kMostLinksOfGpu) {
      diagnostics_->Error(file_.file, "a GPU has " + std::to_string(most) +
                                          " NVLinks to others that are not alike; at most " +
                                          std::to_string(kMostLinksOfGpu) + " without a switch");
    } else {
      AddMesh(most);
    }
  }

  void AddNvSwitch() {
    draft_.Note(
        "all GPUs have more NVLinks to each other than a GPU has: they are joined by one NVSwitch that never "
        "blocks");
    node_.elements.push_back({"nvswitch", VertexKind::kNvSwitch});
    for (const SmiMatrix::Element& element : matrix_.elements) {
      if (element.is_gpu)
        node_.cables.push_back({element.name, "nvswitch", shape_.nvlink, shape_.nvlink_latency});
    }
  }

  // Every pair by its own links, of `all` that a GPU has.
  void AddMesh(std::size_t all) {
    draft_.Note("NVLinks join pairs of GPUs; each has one of " + std::to_string(all) +
                " parts of the device's rate");
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const SmiMatrix::Cell& cell = matrix_.cells[a][b];
        if (cell.near != Nearness::kNvlink) continue;
        const sim::Wide rate =
            sim::Wide{shape_.nvlink.milli()} * cell.nvlinks / static_cast<std::int64_t>(all);
        node_.cables.push_back({matrix_.elements[b].name, matrix_.elements[a].name,
                                sim::ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(rate)),
                                shape_.nvlink_latency});
      }
    }
  }

  const FabricFile& file_;
  const SmiMatrix matrix_;
  proto::Diagnostics* diagnostics_;
  const sim::NodeShape& shape_;
  DraftFabric draft_;
  DraftNode node_;
};

}  // namespace

std::optional<ImportedFabric> ImportNvidiaSmi(const FabricFile& file, proto::Diagnostics* diagnostics) {
  CHECK(file.node.has_value());
  auto matrix = ReadSmiMatrix(file, diagnostics);
  if (!matrix) return std::nullopt;
  return NvidiaSmi(file, *std::move(matrix), diagnostics).Import();
}

}  // namespace topologies
