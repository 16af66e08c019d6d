#include "topologies/load_sum.h"

#include <numeric>

#include "sim/base/check.h"

namespace topologies {

sim::Duration LoadSum::Add(std::uint32_t from_device, std::uint32_t to_device, std::uint32_t weight) {
  return Add(fabric_.router->Between(from_device, to_device), weight);
}

sim::Duration LoadSum::Add(const Route& route, std::uint32_t weight) {
  if (denominator_ % route.denominator != 0) {
    const std::uint64_t finer = std::lcm(denominator_, std::uint64_t{route.denominator}) / denominator_;
    for (std::uint64_t& sum : weights_) {
      CHECK(sum <= UINT64_MAX / finer);
      sum *= finer;
    }
    denominator_ *= finer;
  }
  const std::uint64_t scale = denominator_ / route.denominator * weight;
  for (const RouteUse& use : route.uses) weights_[use.link.pos()] += use.parts * scale;
  return route.latency;
}

std::vector<LoadSum::Load> LoadSum::loads() const {
  std::vector<Load> loads;
  for (std::size_t l = 0; l < weights_.size(); ++l) {
    if (weights_[l] > 0) loads.push_back({sim::LinkId(l), weights_[l]});
  }
  return loads;
}

}  // namespace topologies
