// Who gets what of a fabric when several send at once, against max-min shares
// that are worked out by hand: incast, hash collisions, over-subscription and a
// cable at half its rate.

#include "scenarios/run.h"
#include "tests/scenarios/collective_testing.h"
#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using namespace sim::literals;
using topologies::FatTreeSpec;
using topologies::Routing;
using topologies::TopologySpec;

// Nodes of one device and one NIC of 50 GB/s, four a leaf; PCIe is as fast as it needs to be.
sim::NodeShape OneDevice() {
  sim::NodeShape node = topologies::TestNode(1, 1);
  node.pcie = 400_GB_per_s;
  return node;
}

TopologySpec Tree(std::int64_t uplinks, Routing routing = Routing::kSpray, std::uint64_t seed = 0) {
  FatTreeSpec spec;
  spec.nodes_per_leaf = 4;
  spec.uplinks_per_leaf = spec.spines = uplinks;
  spec.uplink = 50_GB_per_s;
  spec.switch_latency = 200_ns;
  spec.routing = {.routing = routing, .seed = seed};
  return {"tree", "", "", spec};
}

struct Send {
  std::uint32_t from, to;
};

constexpr sim::Bytes kSize{100'000'000};  // 2 ms at 50 GB/s

// How long each send takes when all start at once, in ms; routes alone, without latency.
std::vector<double> Milliseconds(const topologies::Fabric& fabric, const std::vector<Send>& sends) {
  Setting setting{.name = "shares", .fabric = fabric, .devices = {0}};
  for (const Send& send : sends) {
    Bystander bystander{.links = {}, .size = kSize};
    const topologies::Route route = fabric.router->Between(send.from, send.to);
    EXPECT_EQ(route.denominator, 1u);
    for (const topologies::RouteUse& use : route.uses) bystander.links.push_back(use.link);
    setting.bystanders.push_back(std::move(bystander));
  }
  std::vector<double> times;
  for (const sim::Duration end : Stage(setting).Play({}).bystanders) times.push_back(end.seconds() * 1e3);
  return times;
}

topologies::Fabric Build(const TopologySpec& spec, std::int64_t devices) {
  return topologies::MustBuild(spec, OneDevice(), devices);
}

TEST(Shares, EightToOneGetAnEighthEach) {
  std::vector<Send> sends;
  for (std::uint32_t from = 1; from <= 8; ++from) sends.push_back({from, 0});
  for (const double ms : Milliseconds(Build(Tree(4), 12), sends)) EXPECT_NEAR(ms, 8 * 2.0, 1e-6);
}

TEST(Shares, TwoThatHashOntoOneUplinkGetHalfAndSprayedOnesAll) {
  // 0 and 1 send from one leaf to different devices of another one. There is a seed that puts them
  // onto one uplink, and one that does not.
  const std::vector<Send> sends = {{0, 4}, {1, 5}};
  bool together = false, apart = false;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    const topologies::Fabric fabric = Build(Tree(4, Routing::kEcmp, seed), 8);
    const auto up = [&](const Send& send) {
      return LinksIn(fabric, fabric.router->Between(send.from, send.to), topologies::Tier::kLeafSpine)[0];
    };
    const bool collide = up(sends[0]) == up(sends[1]);
    (collide ? together : apart) = true;
    for (const double ms : Milliseconds(fabric, sends)) EXPECT_NEAR(ms, collide ? 4.0 : 2.0, 1e-6);
  }
  EXPECT_TRUE(together && apart);
  for (const double ms : Milliseconds(Build(Tree(4), 8), sends)) EXPECT_NEAR(ms, 2.0, 1e-6);
  for (const double ms : Milliseconds(Build(Tree(4, Routing::kDestination), 8), sends)) {
    EXPECT_NEAR(ms, 2.0, 1e-6);
  }
}

TEST(Shares, AnOverSubscribedSpineIsSharedByAllWhoCrossIt) {
  // Four at a leaf with one cable up: 4:1. Those that stay at the leaf keep what the
  // port has: 0 receives from 3 at 50 - 0, as nobody else sends to it.
  const std::vector<Send> sends = {{0, 4}, {1, 5}, {2, 6}, {3, 0}};
  const std::vector<double> ms = Milliseconds(Build(Tree(1), 8), sends);
  for (const std::size_t crossing : {0u, 1u, 2u}) EXPECT_NEAR(ms[crossing], 3 * 2.0, 1e-6);
  EXPECT_NEAR(ms[3], 2.0, 1e-6);
}

TEST(Shares, OfAnIncastOverASlowUplinkTheOthersGetWhatIsLeft) {
  // 0 receives from 1 at its own leaf and from 4, 5, 6, 7 behind one cable of 50: max-min gives each of the
  // five 10 at 0's port; the cable carries 40 of 50.
  const std::vector<double> fair = Milliseconds(Build(Tree(1), 8), {{1, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}});
  for (const double one : fair) EXPECT_NEAR(one, 5 * 2.0, 1e-6);
  // Half of the cable gone: four share 25 GB/s, 6.25 each, so 16 ms; the first has 25, so 4 ms.
  TopologySpec spec = Tree(1);
  topologies::LinkFault half{.from = "leaf0", .to = "spine0"};
  half.rate_factor = 0.5;
  spec.faults = {half};
  const std::vector<double> ms = Milliseconds(Build(spec, 8), {{1, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}});
  EXPECT_NEAR(ms[0], 4.0, 1e-6);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_NEAR(ms[i], 16.0, 1e-6);
}

TEST(Shares, ACableAtHalfRateHalvesARingThatCrossesIt) {
  const auto ring = [](const TopologySpec& spec) {
    const Setting setting{.name = "ring", .fabric = Build(spec, 8), .devices = Devices(8)};
    return PlayCoupled(WithoutLatency(setting), sim::CollectiveKind::kAllReduce, 64_MiB, kNcclChunk)
        .end.seconds();
  };
  TopologySpec slow = Tree(4);
  topologies::LinkFault half{.from = "node3/nic0", .to = "leaf0"};
  half.rate_factor = 0.5;
  slow.faults = {half};
  // 2 (n-1)/n S / B: 2.3488 ms at 50 GB/s.
  EXPECT_NEAR(ring(Tree(4)) * 1e3, 2.0 * 7 / 8 * 67'108'864 / 50e9 * 1e3, 1e-4);
  EXPECT_NEAR(ring(slow) / ring(Tree(4)), 2.0, 1e-4);
}

TEST(Shares, AFailedUplinkCostsItsPartOfTheLeaf) {
  // Four at a leaf with four cables up, one of which is gone: 150 GB/s for four, 37.5 each.
  TopologySpec spec = Tree(4);
  topologies::LinkFault gone{.from = "leaf0", .to = "spine*"};
  gone.failed_cables = 1;
  spec.faults = {gone};
  for (const double ms : Milliseconds(Build(spec, 8), {{0, 4}, {1, 5}, {2, 6}, {3, 7}})) {
    EXPECT_NEAR(ms, 2.0 * 4 / 3, 1e-6);
  }
}

TEST(Shares, SitesShareTheLongLinkAndWaitForIt) {
  TopologySpec spec = Tree(4);
  std::get<FatTreeSpec>(spec.family).sites = {4, 10_GB_per_s, 30_ms};
  const topologies::Fabric fabric = Build(spec, 8);
  // Four over 10 GB/s: 40 ms of bytes; a message there is under way for 30 ms and some switches.
  for (const double ms : Milliseconds(fabric, {{0, 4}, {1, 5}, {2, 6}, {3, 7}})) EXPECT_NEAR(ms, 40.0, 1e-6);
  EXPECT_NEAR(fabric.router->Between(0, 4).latency.seconds(), 0.030, 1e-5);
}

// Two nodes, data ranks across them: the gradients of the device behind the slow cable take longer, and
// the step waits for them.
TEST(Fabrics, AJobTakesAnyOfTheCatalogueAndFeelsAFault) {
  const auto step = [](const Sets& sets) {
    Loading loading = Load(sets);
    EXPECT_TRUE(loading.errors().empty()) << loading.errors()[0];
    return loading.scenario ? scenarios::Run(*loading.scenario).value().report.step_time.seconds() : 0.0;
  };
  const Sets fault = {{"topology.faults[0].from", "node1/nic5"},
                      {"topology.faults[0].to", "*leaf*"},
                      {"topology.faults[0].rate_factor", "0.01"}};
  for (const char* name : {"rail_optimised_ndr", "fat_tree_ndr", "roce_ecmp_400"}) {
    Sets sets = {{"topology", name}};
    const double healthy = step(sets);
    sets.insert(sets.end(), fault.begin(), fault.end());
    EXPECT_GT(step(sets), 1.1 * healthy) << name;
  }
  Sets unknown = fault;
  unknown[0].second = "node2/nic5";
  EXPECT_NE(Load(unknown).errors()[0].find("faults[0]: \"node2/nic5\" is no element of this fabric"),
            std::string::npos);
}

}  // namespace
}  // namespace scenarios
