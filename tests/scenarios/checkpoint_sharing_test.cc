// Saves and collectives on the same NICs: both slow down as max-min says.

#include <gtest/gtest.h>

#include "scenarios/checkpoint_writer.h"
#include "scenarios/lowering.h"
#include "sim/program/executor.h"
#include "tests/topologies/fabric_testing.h"

namespace scenarios {
namespace {

using namespace sim::literals;

// Two nodes of one device, with NICs of 50 GB/s on one leaf, links without
// latency; storage that is never the slowest.
topologies::Fabric TwoNics() {
  sim::NodeShape node = topologies::TestNode(1, 1);
  node.pcie_latency = node.nic_latency = {};
  topologies::TopologySpec rails = topologies::SmallRails();
  std::get<topologies::RailOptimisedSpec>(rails.family).switch_latency = {};
  const topologies::StorageSpec storage{.servers = 1, .write = 900_GB_per_s, .read = 900_GB_per_s};
  return topologies::BuildFabric(rails, node, 2, storage).value();
}

struct Ends {
  sim::Duration reduction, save;
};

// An all-reduce over both nodes, and a write of each node, all from the start.
Ends PlayTogether(sim::Bytes gradients, sim::Bytes shard) {
  const topologies::Fabric fabric = TwoNics();
  sim::ProgramBuilder builder(2, CapacitiesOf(fabric));
  const std::uint32_t devices[] = {0, 1};
  const hardware::CollectiveTiming timing[] = {{}};
  const auto reduce = builder.AddCommunication(builder.AddTraffic(
      LowerCollective(fabric, timing, sim::CollectiveKind::kAllReduce, gradients, devices)));
  std::vector<sim::TaskId> tasks;
  for (const sim::Rank rank : {sim::Rank(0), sim::Rank(1)}) {
    tasks.push_back(
        builder.Seat(builder.AddStream(rank, sim::StreamKind::kData), reduce, sim::TaskClass::kData, {}));
    const auto write = builder.AddCommunication(
        builder.AddTraffic(StorageTraffic("write", shard, fabric.storage->write[rank.pos()])));
    tasks.push_back(builder.Seat(builder.AddStream(rank, sim::StreamKind::kHost), write,
                                 sim::TaskClass::kCheckpoint, {}));
  }
  const sim::Program program = std::move(builder).Build().value();
  const sim::Timeline timeline = sim::Simulate(program).value();
  return {timeline.end[tasks[0].pos()].since_start(), timeline.end[tasks[1].pos()].since_start()};
}

// A ring of two sends 2 (2 - 1) / 2 = 1 times the tensor out of each NIC: 50 GB in 1 s alone. The write
// of 150 GB takes 3 s alone. Together each gets 25 GB/s of a NIC: the reduction ends after 2 s, twice its
// time. The write has moved 50 GB by then and moves the other 100 at 50 GB/s: 4 s instead of 3.
TEST(SharedNics, ReductionAndSaveSlowEachOtherDownAsMaxMinPredicts) {
  const Ends alone = PlayTogether(50'000'000'000_B, 0_B);
  EXPECT_EQ(alone.reduction, 1000_ms);
  EXPECT_EQ(PlayTogether(1_B, 150'000'000'000_B).save.ps() / 1000, (3000_ms).ps() / 1000);
  const Ends both = PlayTogether(50'000'000'000_B, 150'000'000'000_B);
  EXPECT_EQ(both.reduction, 2000_ms);
  EXPECT_EQ(both.save, 4000_ms);
}

// The other way round: the write of 25 GB ends first, after 1 s; the reduction has 25 of its 50 GB left.
TEST(SharedNics, WhoeverEndsFirstLeavesItsShareToTheOther) {
  const Ends both = PlayTogether(50'000'000'000_B, 25'000'000'000_B);
  EXPECT_EQ(both.save, 1000_ms);
  EXPECT_EQ(both.reduction, 1500_ms);
}

// Serialise, memory, NIC, storage: a write runs at the slowest of them, whichever it is.
TEST(PipelinedWrite, RunsAtTheRateOfItsSlowestPart) {
  sim::NodeShape node = topologies::TestNode(1, 1);
  node.pcie_latency = node.nic_latency = {};
  const sim::Bytes bytes(120'000'000'000);
  const struct {
    sim::ByteRate serialise, memory, nic, storage;
    std::int64_t seconds;
  } kCases[] = {{3_GB_per_s, 500_GB_per_s, 50_GB_per_s, 40_GB_per_s, 40},  // the host's serialiser
                {{}, 20_GB_per_s, 50_GB_per_s, 40_GB_per_s, 6},            // memory read once
                {50_GB_per_s, 30_GB_per_s, 50_GB_per_s, 40_GB_per_s, 12},  // three passes: 10 GB/s
                {{}, 500_GB_per_s, 5_GB_per_s, 40_GB_per_s, 24},           // the NIC
                {{}, 500_GB_per_s, 50_GB_per_s, 40_GB_per_s, 3}};          // the servers
  for (const auto& c : kCases) {
    node.host_memory = c.memory;
    node.nic = c.nic;
    topologies::TopologySpec one = topologies::OneSwitch();
    std::get<topologies::SingleSwitchSpec>(one.family).switch_latency = {};
    const topologies::StorageSpec spec{
        .write = c.storage, .read = c.storage, .memory_passes = c.serialise > sim::ByteRate() ? 3u : 1u};
    const topologies::Fabric fabric = topologies::BuildFabric(one, node, 1, spec).value();
    EXPECT_EQ(IdleTime(fabric, StorageTraffic("write", bytes, fabric.storage->write[0], c.serialise)),
              sim::Duration::Milliseconds(1000 * c.seconds));
  }
}

}  // namespace
}  // namespace scenarios
