#include "scenarios/link_loads.h"

#include <gtest/gtest.h>

#include <map>

#include "scenarios/lowering.h"
#include "sim/base/random.h"
#include "tests/scenarios/collective_testing.h"

namespace scenarios {
namespace {

using namespace sim::literals;

// Many edges are summed link by link, few are sorted: the sums are those of the edges one by one.
TEST(LinkLoads, OfManyEdgesAreTheSumsOfEach) {
  const auto fabric = topologies::MustBuild(topologies::SmallRails(), topologies::TestNode(8, 8), 32);
  const std::vector<std::uint32_t> devices = Devices(32);
  std::vector<sim::EdgeLoad> edges;
  for (std::uint32_t from = 0; from < 32; ++from) {
    for (std::uint32_t to = 0; to < 32; ++to) {
      if (to != from) edges.push_back({from, to, 1 + (from * to) % 3});
    }
  }
  const LinkLoads all = LoadsOf(fabric, devices, edges);
  std::map<sim::LinkId, std::uint64_t> wanted;
  sim::Duration inside, between;
  for (const sim::EdgeLoad& edge : edges) {
    const LinkLoads one = LoadsOf(fabric, devices, std::span(&edge, 1));
    ASSERT_EQ(all.denominator % one.denominator, 0u);
    for (const WeightedLink& use : one.uses) {
      wanted[use.link] += use.weight * (all.denominator / one.denominator);
    }
    inside = std::max(inside, one.latency_inside);
    between = std::max(between, one.latency_between);
  }
  EXPECT_EQ(all.latency_inside, inside);
  EXPECT_EQ(all.latency_between, between);
  ASSERT_EQ(all.uses.size(), wanted.size());
  std::size_t i = 0;
  for (const auto& [link, weight] : wanted) {
    EXPECT_EQ(all.uses[i].link, link);
    EXPECT_EQ(all.uses[i++].weight, weight);
  }
}

TEST(LinkLoads, OfAllPairsAreThoseOfTheirEdges) {
  const auto fabric = topologies::MustBuild(topologies::SmallRails(), topologies::TestNode(8, 8), 32);
  std::vector<std::uint32_t> devices = Devices(11, 2);
  std::vector<sim::EdgeLoad> edges;
  for (std::uint32_t from = 0; from < 11; ++from) {
    for (std::uint32_t to = 0; to < 11; ++to) {
      if (to != from) edges.push_back({from, to, 1});
    }
  }
  const LinkLoads all = LoadsOfAllPairs(fabric, devices), wanted = LoadsOf(fabric, devices, edges);
  EXPECT_EQ(all.denominator, wanted.denominator);
  EXPECT_EQ(all.latency_inside, wanted.latency_inside);
  EXPECT_EQ(all.latency_between, wanted.latency_between);
  ASSERT_EQ(all.uses.size(), wanted.uses.size());
  for (std::size_t i = 0; i < all.uses.size(); ++i) {
    EXPECT_EQ(all.uses[i].link, wanted.uses[i].link);
    EXPECT_EQ(all.uses[i].weight, wanted.uses[i].weight);
  }
}

// Random flows in any order of links, against a table of all links.
TEST(BusiestLink, IsTheLinkWhoseFlowsTakeLongest) {
  sim::Random random(1, "busiest");
  topologies::Fabric fabric = topologies::MustBuild(topologies::OneNode(), topologies::TestNode(8, 8), 8);
  const auto links = static_cast<std::uint32_t>(fabric.links.size());
  for (int round = 0; round < 50; ++round) {
    std::vector<sim::FlowDescription> flows;
    std::vector<sim::Duration> busy(links);
    sim::Duration busiest;
    for (std::uint32_t f = 0; f <= random.Below(6); ++f) {
      sim::FlowDescription flow{.volume = sim::Volume::Of(sim::Bytes(1 + random.Below(1'000'000))),
                                .weight_denominator = 1 + random.Below(3)};
      for (std::uint32_t l = 0; l < links; ++l) {
        if (random.Below(3) == 0) flow.uses.push_back({sim::LinkId(links - 1 - l), 1 + random.Below(4)});
      }
      for (const sim::Use& use : flow.uses) {
        const sim::Wide rate =
            sim::Wide{fabric.links[use.link.pos()].capacity.milli()} * flow.weight_denominator / use.weight;
        busy[use.link.pos()] += TimeAt(flow.volume, rate);
        busiest = std::max(busiest, busy[use.link.pos()]);
      }
      flows.push_back(std::move(flow));
    }
    EXPECT_EQ(BusiestLink(fabric, flows), busiest);
  }
}

}  // namespace
}  // namespace scenarios
