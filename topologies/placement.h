// Placement: which device each rank of a job runs on.

#ifndef TOPOLOGIES_PLACEMENT_H_
#define TOPOLOGIES_PLACEMENT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/result.h"

namespace topologies {

// Rank r runs on device device_of_rank[r]. No two share one.
struct Placement {
  std::vector<std::uint32_t> device_of_rank;
};

// Rank r on device r.
Placement PlaceInOrder(std::int64_t ranks);

// Rank r on device list[r]. Error: too few or too many entries, one that is no
// device of the fabric, one that is there twice.
sim::Result<Placement> PlaceByList(std::span<const std::int64_t> list, std::int64_t ranks,
                                   std::int64_t devices);

}  // namespace topologies

#endif  // TOPOLOGIES_PLACEMENT_H_
