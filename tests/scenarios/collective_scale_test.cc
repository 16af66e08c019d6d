// A ring over 1,024 ranks takes what its closed form says, to the picosecond.

#include <gtest/gtest.h>

#include "tests/scenarios/collective_testing.h"

namespace scenarios {
namespace {

using sim::CollectiveKind;
using topologies::MustBuild;
using topologies::OneSwitch;
using topologies::TestNode;
using namespace sim::literals;

// NCCL's ring on Hopper under Simple between nodes.
// Source: NCCL 2.30, src/graph/tuning.cc.
const std::vector<hardware::CollectiveTiming> kSimple = {{.protocol = hardware::Protocol::kSimple,
                                                          .base = 8'400_ns,
                                                          .step_inside_multi_node = 3'400_ns,
                                                          .step_between = 14_us}};

// Every step crosses the switch: 2 * 1023 of them, each 14 us and the route's
// 4 * 400 ns (PCIe) + 2 * 500 ns (cables) + 200 ns (switch) = 2.8 us; 8.4 us once.
//   2 * 1023 / 1024 * 2^30 B = 2^31 - 2^21 B = 2,145,386,496 B at 50 GB/s = 42,907.729920 us
//   8.4 us + 2,046 * 16.8 us                                              = 34,381.2 us
TEST(RingAllReduce, OfAGibibyteOverThousandAndTwentyFourRanksOnASwitchTakesItsClosedForm) {
  const Setting setting{"switch", MustBuild(OneSwitch(), TestNode(1, 1), 1024), Devices(1024), kSimple};
  EXPECT_EQ(PlayCoupled(setting, CollectiveKind::kAllReduce, 1_GiB, kNcclChunk).end,
            42'907'729'920_ps + 34'381'200_ns);
}

// 128 nodes of 8 on the switch: eight rings with an eighth of the bytes each,
// 268,173,312 B at 50 GB/s (the seven rings on an NVLink port need 350 of its
// 450 GB/s). 2 * 127 steps cross the switch, 2 * 896 stay inside at 3.4 us
// and two hops of 300 ns.
//   5,363.46624 us + 8.4 us + 254 * 16.8 us + 1,792 * 4 us
TEST(RingAllReduce, OverNodesOfEightUsesAllTheirNics) {
  const Setting setting{"nodes on a switch", MustBuild(OneSwitch(), TestNode(8, 8), 1024), Devices(1024),
                        kSimple};
  EXPECT_EQ(PlayCoupled(setting, CollectiveKind::kAllReduce, 1_GiB, kNcclChunk).end,
            5'363'466'240_ps + 8'400_ns + 254 * 16'800_ns + 1'792 * 4'000_ns);
}

// Without latency it is the bound that no algorithm beats, up to 2 %: a rank sends all but what stays in its
// node of 8, by its own NIC: 2^30 x 1,016/1,024 B at 50 GB/s.
TEST(AllToAll, OfThousandAndTwentyFourRanksOnASwitchTakesItsBound) {
  const Setting setting =
      WithoutLatency({"nodes on a switch", MustBuild(OneSwitch(), TestNode(8, 8), 1024), Devices(1024)});
  const double end = PlayCoupled(setting, CollectiveKind::kAllToAll, 1_GiB, kNcclChunk).end.seconds();
  const double bound = 1073741824.0 * 1016 / 1024 / 50e9;
  EXPECT_GE(end, bound * (1 - 1e-9));
  EXPECT_LE(end, bound * 1.02);
}

// The closed form beside the simulation counts all rings on an NVLink port: of
// 200 GB/s, as on H800, eight rings have 25 GB/s each, not their NICs' 50. (A
// GPU sends on seven rings inside, and on one to the rail of the next GPU, by
// NVLink as well.) 32 ranks: 2 * 31/32 * 2^30 / 8 B = 260,046,848 B a ring.
TEST(IdleTime, CountsAllRingsOnAPort) {
  sim::NodeShape node = TestNode(8, 8);
  node.nvlink = 200_GB_per_s;
  const Setting setting =
      WithoutLatency({"rails", MustBuild(topologies::SmallRails(), node, 32), Devices(32)});
  const sim::TrafficDescription traffic =
      LowerCollective(setting.fabric, setting.timing, CollectiveKind::kAllReduce, 1_GiB, setting.devices);
  EXPECT_EQ(IdleTime(setting.fabric, traffic), 10'401'873'920_ps);
  EXPECT_EQ(PlayCoupled(setting, CollectiveKind::kAllReduce, 1_GiB, kNcclChunk).end, 10'401'873'920_ps);
}

}  // namespace
}  // namespace scenarios
