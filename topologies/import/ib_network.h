// What `ibnetdiscover` prints, as values: elements with their ports, each cable
// listed at both ends.

#ifndef TOPOLOGIES_IMPORT_IB_NETWORK_H_
#define TOPOLOGIES_IMPORT_IB_NETWORK_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "topologies/import/draft_fabric.h"

namespace topologies {

struct IbPort {
  std::string peer;  // its id
  int peer_port = 0;
  double megabits = 0;  // per second, of data, all lanes
  std::size_t line = 0;
};

struct IbElement {
  bool is_switch = false;
  std::string description;  // "node1 mlx5_0"
  std::size_t line = 0;
  std::map<int, IbPort> ports;  // those with a cable
};

using IbNetwork = std::map<std::string, IbElement>;  // by id: "S-0002c90000000001", "H-..."

// Errors: lines that are none, elements or ports given twice, widths and speeds
// that nobody knows, cables whose other end is missing or says otherwise.
std::optional<IbNetwork> ReadIbNetwork(const FabricFile& file, proto::Diagnostics* diagnostics);

}  // namespace topologies

#endif  // TOPOLOGIES_IMPORT_IB_NETWORK_H_
