// LoadSum: what many routes together put on each link. For collectives whose
// edges are too many to keep their routes: an all-to-all of 1,024 has a million.

#ifndef TOPOLOGIES_LOAD_SUM_H_
#define TOPOLOGIES_LOAD_SUM_H_

#include <cstdint>
#include <vector>

#include "topologies/fabric.h"

namespace topologies {

class LoadSum {
 public:
  struct Load {
    sim::LinkId link;
    std::uint64_t weight = 0;  // > 0; in units of 1 / denominator()
  };

  // The fabric must outlive it. Takes 8 bytes a link.
  explicit LoadSum(const Fabric& fabric) : fabric_(fabric), weights_(fabric.links.size()) {}

  // Adds `weight` times the route between two devices; returns the route's latency.
  // REQUIRES: both < number of devices, not the same; sums stay below 2^64
  sim::Duration Add(std::uint32_t from_device, std::uint32_t to_device, std::uint32_t weight = 1);
  sim::Duration Add(const Route& route, std::uint32_t weight = 1);

  // The least that all routes so far can be told in: 1 unless some are spread.
  std::uint64_t denominator() const { return denominator_; }
  // In order of links.
  std::vector<Load> loads() const;

 private:
  const Fabric& fabric_;
  std::vector<std::uint64_t> weights_;  // by link
  std::uint64_t denominator_ = 1;
};

}  // namespace topologies

#endif  // TOPOLOGIES_LOAD_SUM_H_
