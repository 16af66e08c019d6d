#include "tools/devices_flag.h"

#include <algorithm>
#include <charconv>
#include <variant>

#include "topologies/chosen_devices.h"

namespace tools {

sim::Result<DevicesAsked> ReadDevices(const std::string& text) {
  DevicesAsked asked{.count = 0};
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + comma, value);
    const bool whole = error == std::errc() && end == text.data() + comma;
    if (!whole || value < 1 || value > topologies::kMostDevices - asked.count) {
      return sim::Error{'"' + text + "\" is no number of devices; 1 to " +
                        std::to_string(topologies::kMostDevices) +
                        " in all, or those of each node, as 8,8,5, would do"};
    }
    asked.of_node.push_back(value);
    asked.count += value;
    at = comma + 1;
  }
  if (asked.of_node.size() == 1) asked.of_node.clear();
  return asked;
}

sim::Result<topologies::Fabric> BuildAsked(const topologies::TopologySpec& spec, const sim::NodeShape& node,
                                           const DevicesAsked& devices) {
  if (!devices.of_node.empty()) return topologies::BuildUnevenFabric(spec, node, devices.of_node);
  const bool of_nodes = !std::holds_alternative<topologies::ExplicitSpec>(spec.family) &&
                        !std::holds_alternative<topologies::SingleNodeSpec>(spec.family);
  const std::int64_t over = node.devices > 0 ? devices.count % node.devices : 0;
  if (!of_nodes || devices.count <= node.devices || over == 0) {
    return topologies::BuildFabric(spec, node, devices.count);
  }
  std::vector<std::int64_t> of_node(static_cast<std::size_t>(devices.count / node.devices), node.devices);
  of_node.push_back(over);
  return topologies::BuildUnevenFabric(spec, node, of_node);
}

}  // namespace tools
