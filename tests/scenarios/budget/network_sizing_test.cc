#include "scenarios/budget/network_sizing.h"

#include <gtest/gtest.h>

namespace scenarios {
namespace {

// A19: 2,048 nodes on 8 rails are 2,048 ports of 50 GB/s a rail: 102.4 TB/s of it, 819.2 of all, 409.6 across
// the middle. Switches of 64: 64 leaves with 32 nodes and 32 spines a rail.
TEST(SizeRails, Of2048NodesAreTwoLevelsOf64And32SwitchesARail) {
  const RailNetwork n = SizeRails(2048, 8, 64, 50e9);
  EXPECT_EQ(n.levels, 2);
  EXPECT_EQ(n.leaves, 8 * 64);
  EXPECT_EQ(n.spines, 8 * 32);
  EXPECT_EQ(n.switches(), 8 * 96);
  EXPECT_EQ(n.cables, 8 * 2048);
  EXPECT_DOUBLE_EQ(n.injected_bytes_per_s, 819.2e12);
  EXPECT_DOUBLE_EQ(n.bisection_bytes_per_s, 409.6e12);
}

TEST(SizeRails, UpToAsManyNodesAsPortsAreASwitchARail) {
  EXPECT_EQ(SizeRails(64, 8, 64, 50e9).switches(), 8);
  EXPECT_EQ(SizeRails(64, 8, 64, 50e9).cables, 0);
  EXPECT_EQ(SizeRails(65, 8, 64, 50e9).levels, 2);
}

// A switch of k ports makes k^3/4 ends with 5 k^2/4 switches: the fat tree of Al-Fares et al., SIGCOMM 2008.
TEST(SizeRails, ThreeLevelsAreTheFatTree) {
  const RailNetwork n = SizeRails(16 * 16 * 16 / 4, 1, 16, 1);
  EXPECT_EQ(n.levels, 3);
  EXPECT_EQ(n.switches(), 5 * 16 * 16 / 4);
}

// Every switch has ports for what is plugged into it.
TEST(SizeRails, NeverWantsMorePortsThanThereAre) {
  for (std::int64_t nodes = 1; nodes <= 16 * 16 * 16 / 4; nodes += 7) {
    const RailNetwork n = SizeRails(nodes, 1, 16, 1);
    EXPECT_LE(nodes + 2 * n.cables, n.switches() * 16) << nodes;
    EXPECT_GE(n.cables, n.levels > 1 ? nodes : 0) << nodes;  // none is blocked
  }
}

TEST(Scaling, EfficiencyIsAHalfAtTheCriticalNumberOfDevices) {
  EXPECT_DOUBLE_EQ(CriticalDevices(10, 0.5), 20);
  EXPECT_DOUBLE_EQ(ParallelEfficiency(10, 0.5, 20), 0.5);
  EXPECT_DOUBLE_EQ(CommunicationShare(10.0 / 20, 0.5), 0.5);
}

TEST(RailsNeeded, IsRoundedUp) {
  EXPECT_EQ(RailsNeeded(277.8e9, 50e9), 6);
  EXPECT_EQ(RailsNeeded(50e9, 50e9), 1);
  EXPECT_EQ(RailsNeeded(0, 50e9), 0);
}

}  // namespace
}  // namespace scenarios
