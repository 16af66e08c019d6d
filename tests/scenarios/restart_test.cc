#include "scenarios/restart.h"

#include <gtest/gtest.h>

#include "scenarios/checkpoint_forms.h"
#include "tests/topologies/fabric_testing.h"

namespace scenarios {
namespace {

using namespace sim::literals;

// 64 devices on nodes of eight, each of them 1/64 of a save of 1,120 GB.
Scenario SixtyFour(const topologies::StorageSpec& storage, CheckpointPlan* plan) {
  Scenario s;
  sim::NodeShape node = topologies::TestNode(8, 8);
  s.fabric = topologies::BuildFabric(topologies::SmallRails(), node, 64, storage).value();
  s.checkpoint = Checkpoint{.source = {}, .storage_source = {}};
  plan->restart_read.assign(64, sim::Bytes(17'500'000'000));
  return s;
}

// Textbook, 17.7.5: M / (DP x BW) = 1,120 / (64 x 5) = 3.5 s, when a front end of 40 GB/s gives each of
// a node's eight ranks 5 GB/s and the servers manage 320 GB/s. Then PCIe at 60 GB/s, 0.8 us away.
TEST(Restart, Reads1120GbOn64RanksInThreeAndAHalfSeconds) {
  CheckpointPlan plan;
  const Scenario s = SixtyFour({.write = 1_GB_per_s, .read = 320_GB_per_s, .frontend = 40_GB_per_s}, &plan);
  const RestartTimes times = SimulateRestart(s, plan).value();
  EXPECT_EQ(times.read, 3500_ms);
  EXPECT_DOUBLE_EQ(times.read.seconds(), LoadTime(1120e9, 64, 5e9));
  EXPECT_EQ(times.total, 3500_ms + 17'500'000'000_B / 60_GB_per_s + 800_ns);
}

// Half the servers: twice the time. A slow deserialiser: its time.
TEST(Restart, WaitsForTheServersOrForTheHosts) {
  CheckpointPlan plan;
  Scenario s = SixtyFour({.write = 1_GB_per_s, .read = 160_GB_per_s, .frontend = 40_GB_per_s}, &plan);
  EXPECT_EQ(SimulateRestart(s, plan).value().read, 7000_ms);
  s.checkpoint->serialise = 1_GB_per_s;
  EXPECT_EQ(SimulateRestart(s, plan).value().read, 17'500_ms);
}

}  // namespace
}  // namespace scenarios
