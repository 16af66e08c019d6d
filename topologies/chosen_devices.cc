#include "topologies/chosen_devices.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "sim/base/check.h"

namespace topologies {
namespace {

class ChosenRouter final : public Router {
 public:
  ChosenRouter(std::shared_ptr<const Router> all, std::span<const std::uint32_t> devices)
      : all_(std::move(all)), devices_(devices.begin(), devices.end()) {}

  Route Between(std::uint32_t from_device, std::uint32_t to_device) const override {
    return all_->Between(devices_[from_device], devices_[to_device]);
  }
  std::optional<Route> ToNvSwitch(std::uint32_t device) const override {
    return all_->ToNvSwitch(devices_[device]);
  }
  std::optional<Route> FromNvSwitch(std::uint32_t device) const override {
    return all_->FromNvSwitch(devices_[device]);
  }

 private:
  std::shared_ptr<const Router> all_;
  std::vector<std::uint32_t> devices_;
};

}  // namespace

Fabric WithDevices(const Fabric& fabric, std::span<const std::uint32_t> devices) {
  CHECK(!devices.empty() && fabric.storage == nullptr);
  Fabric chosen = fabric;
  for (const VertexId device : fabric.devices) chosen.vertices[device.pos()].elements = 0;
  chosen.devices.clear();
  chosen.domain.clear();
  chosen.rail.clear();
  for (const std::uint32_t device : devices) {
    CHECK(device < fabric.devices.size());
    chosen.devices.push_back(fabric.devices[device]);
    chosen.vertices[fabric.devices[device].pos()].elements = 1;
    chosen.domain.push_back(fabric.domain[device]);
    chosen.rail.push_back(fabric.rail[device]);
  }
  chosen.router = std::make_shared<ChosenRouter>(fabric.router, devices);
  return chosen;
}

sim::Result<Fabric> BuildUnevenFabric(const TopologySpec& spec, const sim::NodeShape& node,
                                      std::span<const std::int64_t> devices_of_node) {
  if (std::holds_alternative<ExplicitSpec>(spec.family)) {
    return sim::Error{"topology \"" + spec.name +
                      "\" lists its devices; their number is wanted, not one a node"};
  }
  const auto nodes = static_cast<std::int64_t>(devices_of_node.size());
  std::vector<std::uint32_t> devices;
  TopologySpec without = spec;  // the NVLinks of empty places
  for (std::int64_t n = 0; n < nodes; ++n) {
    const std::int64_t count = devices_of_node[static_cast<std::size_t>(n)];
    if (count < 1 || count > node.devices) {
      return sim::Error{std::to_string(count) + " devices on node " + std::to_string(n) + "; 1 to " +
                        std::to_string(node.devices) + " would do"};
    }
    for (std::int64_t i = 0; i < node.devices; ++i) {
      const std::string name = "node" + std::to_string(n);
      if (i < count) {
        devices.push_back(static_cast<std::uint32_t>(n * node.devices + i));
      } else if (node.nvlink > sim::ByteRate()) {
        LinkFault gone;
        gone.from = name + "/gpu" + std::to_string(i);
        gone.to = name + "/nvswitch";
        gone.failed = true;
        without.faults.push_back(std::move(gone));
      }
    }
  }
  const sim::Result<Fabric> whole = BuildFabric(without, node, nodes * node.devices);
  if (!whole.ok()) return whole.error();
  return WithDevices(whole.value(), devices);
}

}  // namespace topologies
