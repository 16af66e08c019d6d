#include "topologies/load_sum.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "sim/base/random.h"
#include "tests/topologies/fabric_testing.h"

namespace topologies {
namespace {

// The same by keeping every route: parts over the least common denominator of all.
TEST(LoadSum, IsTheSumOfTheRoutes) {
  ExplicitSpec diamonds;  // routes spread over two and three ways: denominators 2, 3 and 6
  diamonds.nodes = {{"a", VertexKind::kDevice}, {"b", VertexKind::kDevice}, {"c", VertexKind::kDevice}};
  for (const auto& [from, to, ways] : {std::tuple("a", "b", 2), std::tuple("b", "c", 3)}) {
    for (int way = 0; way < ways; ++way) {
      const std::string name = std::string(from) + to + std::to_string(way);
      diamonds.nodes.push_back({name, VertexKind::kSwitch});
      diamonds.links.push_back({from, name, 50_GB_per_s, 100_ns, true});
      diamonds.links.push_back({name, to, 50_GB_per_s, 100_ns, true});
    }
  }
  for (const Fabric& fabric :
       {MustBuild(SmallRails(), TestNode(4, 4), 16), MustBuild(OneSwitch(), TestNode(4, 2), 12),
        MustBuild({"listed", "", "", diamonds}, sim::NodeShape(), 3)}) {
    sim::Random random(1, "load sum");
    LoadSum sum(fabric);
    std::vector<std::pair<Route, std::uint32_t>> routes;
    std::uint64_t denominator = 1;
    const auto devices = static_cast<std::uint32_t>(fabric.devices.size());
    for (int i = 0; i < 200; ++i) {
      const std::uint32_t from = random.Below(devices), to = (from + 1 + random.Below(devices - 1)) % devices;
      const std::uint32_t weight = 1 + random.Below(5);
      routes.emplace_back(fabric.router->Between(from, to), weight);
      denominator = std::lcm(denominator, std::uint64_t{routes.back().first.denominator});
      EXPECT_EQ(sum.Add(from, to, weight), routes.back().first.latency);
    }
    std::map<sim::LinkId, std::uint64_t> expected;
    for (const auto& [route, weight] : routes) {
      for (const RouteUse& use : route.uses)
        expected[use.link] += denominator / route.denominator * use.parts * weight;
    }
    EXPECT_EQ(sum.denominator(), denominator);
    std::map<sim::LinkId, std::uint64_t> found;
    for (const LoadSum::Load& load : sum.loads()) found[load.link] = load.weight;
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace topologies
