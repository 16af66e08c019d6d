#include "topologies/ring_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/base/random.h"
#include "tests/topologies/fabric_testing.h"

namespace topologies {
namespace {

// Seconds that the busiest link needs for a byte on each hop of the ring.
double CostOf(const Fabric& fabric, const std::vector<std::uint32_t>& ring) {
  std::vector<double> busy(fabric.links.size());
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Route route = fabric.router->Between(ring[i], ring[(i + 1) % ring.size()]);
    for (const RouteUse& use : route.uses) {
      busy[use.link.pos()] +=
          use.parts / (route.denominator * fabric.links[use.link.pos()].capacity.bytes_per_second());
    }
  }
  return *std::max_element(busy.begin(), busy.end());
}

// Devices on one PCIe switch, and NVLinks between some pairs of them, of 25 or 50 GB/s.
Fabric RandomMesh(std::uint32_t devices, std::uint64_t seed) {
  sim::Random random(seed, "mesh");
  ExplicitSpec spec;
  spec.nodes.push_back({"node/pcie", VertexKind::kPcieSwitch});
  for (std::uint32_t a = 0; a < devices; ++a) {
    const std::string name = "node/gpu" + std::to_string(a);
    spec.nodes.push_back({name, VertexKind::kDevice});
    spec.links.push_back({name, "node/pcie", 10_GB_per_s, 400_ns});
    for (std::uint32_t b = 0; b < a; ++b) {
      if (random.Below(5) < 2) continue;
      spec.links.push_back(
          {name, "node/gpu" + std::to_string(b), random.Below(2) == 0 ? 25_GB_per_s : 50_GB_per_s, 300_ns});
    }
  }
  return MustBuild({"mesh", "", "", spec}, {}, devices);
}

TEST(BestRing, IsTheBestOfAllOrders) {
  for (std::uint32_t devices = 3; devices <= 7; ++devices) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const Fabric fabric = RandomMesh(devices, seed);
      std::vector<std::uint32_t> order(devices);
      std::iota(order.begin(), order.end(), 0u);
      const std::vector<std::uint32_t> best = BestRing(fabric, order);
      double least = CostOf(fabric, order);
      do {
        least = std::min(least, CostOf(fabric, order));
      } while (std::next_permutation(order.begin() + 1, order.end()));
      EXPECT_NEAR(CostOf(fabric, best), least, least * 1e-12) << devices << " devices, seed " << seed;
      std::vector<std::uint32_t> sorted = best;
      std::sort(sorted.begin(), sorted.end());
      std::iota(order.begin(), order.end(), 0u);
      EXPECT_EQ(sorted, order);
    }
  }
}

TEST(BestRing, KeepsTheOrderWhereNoneIsBetter) {
  const Fabric switched = MustBuild(OneNode(), TestNode(8, 8), 8);
  const std::vector<std::uint32_t> order = {5, 0, 7, 2, 1, 3, 4, 6};
  EXPECT_EQ(BestRing(switched, order), order);
  EXPECT_FALSE(switched.meshed);
  EXPECT_TRUE(RandomMesh(4, 0).meshed);
  EXPECT_EQ(BestRing(switched, std::vector<std::uint32_t>{3}), std::vector<std::uint32_t>{3});
}

}  // namespace
}  // namespace topologies
