#include "topologies/placement.h"

#include <numeric>
#include <string>

namespace topologies {

using std::to_string;

Placement PlaceInOrder(std::int64_t ranks) {
  Placement placement;
  placement.device_of_rank.resize(static_cast<std::size_t>(ranks));
  std::iota(placement.device_of_rank.begin(), placement.device_of_rank.end(), 0u);
  return placement;
}

sim::Result<Placement> PlaceByList(std::span<const std::int64_t> list, std::int64_t ranks,
                                   std::int64_t devices) {
  if (static_cast<std::int64_t>(list.size()) != ranks) {
    return sim::Error{"the placement lists " + to_string(list.size()) + " devices for " + to_string(ranks) +
                      " ranks; give one a rank"};
  }
  constexpr std::size_t kFree = SIZE_MAX;
  std::vector<std::size_t> rank_on(static_cast<std::size_t>(devices), kFree);
  Placement placement;
  for (std::size_t rank = 0; rank < list.size(); ++rank) {
    const std::int64_t device = list[rank];
    if (device < 0 || device >= devices) {
      return sim::Error{"rank " + to_string(rank) + " is placed on device " + to_string(device) +
                        "; there are " + to_string(devices) + ", numbered from 0"};
    }
    std::size_t& other = rank_on[static_cast<std::size_t>(device)];
    if (other != kFree) {
      return sim::Error{"ranks " + to_string(other) + " and " + to_string(rank) +
                        " are both placed on device " + to_string(device)};
    }
    other = rank;
    placement.device_of_rank.push_back(static_cast<std::uint32_t>(device));
  }
  return placement;
}

}  // namespace topologies
