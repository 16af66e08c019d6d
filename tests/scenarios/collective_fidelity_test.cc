// Communicators in both fidelities: the same program, collective by collective
// as coupled flows and transfer by transfer.

#include <gtest/gtest.h>

#include "scenarios/communicators.h"
#include "tests/scenarios/collective_testing.h"

namespace scenarios {
namespace {

using sim::Bytes;
using sim::CollectiveKind;
using sim::Duration;
using topologies::MustBuild;
using topologies::SmallRails;
using topologies::TestNode;
using namespace sim::literals;

constexpr std::uint32_t kRanks = 16;  // two nodes of eight

Scenario TwoNodes(Fidelity fidelity) {
  Scenario scenario;
  scenario.fabric = MustBuild(SmallRails(), TestNode(8, 8), kRanks);
  scenario.devices = kRanks;
  scenario.fidelity = fidelity;
  scenario.device.interference.communication_sms = 24;
  scenario.device.memory_rate = sim::ByteRate::GigabytesPerSecond(3350);
  scenario.device.collective_timing = {{.protocol = hardware::Protocol::kSimple,
                                        .base = 8_us,
                                        .step_inside = 3_us,
                                        .step_inside_multi_node = 3_us,
                                        .step_between = 14_us}};
  return scenario;
}

std::vector<sim::Rank> Ranks(std::uint32_t first, std::uint32_t count, std::uint32_t stride) {
  std::vector<sim::Rank> ranks;
  for (std::uint32_t i = 0; i < count; ++i) ranks.emplace_back(first + i * stride);
  return ranks;
}

// What one rank does: computes, and meets its node, its rail and everybody.
struct Ended {
  std::vector<Duration> collectives;  // by rank, then in the order of issue
  std::vector<Duration> works;        // by rank
};

constexpr CollectiveKind kSequence[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                        CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                        CollectiveKind::kBroadcast};

// Three rounds, so that every member's second collective of a group meets the
// others' second. `beside` is how long the compute kernel takes (5 ms alone)
// while communication holds SMs.
Ended PlayJob(Fidelity fidelity, Duration beside) {
  const Scenario scenario = TwoNodes(fidelity);
  sim::ProgramBuilder builder(kRanks, CapacitiesOf(scenario.fabric));
  Communicators communicators(scenario, &builder);
  const sim::WorkId work = builder.AddWork({5_ms, beside});
  std::vector<sim::TaskId> collectives, works;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const sim::StreamId compute = builder.AddStream(sim::Rank(rank), sim::StreamKind::kCompute);
    const sim::StreamId stream = builder.AddStream(sim::Rank(rank), sim::StreamKind::kTensor);
    const GroupId node = communicators.Group(Ranks(rank / 8 * 8, 8, 1));
    const GroupId rail = communicators.Group(Ranks(rank % 8, 2, 8));
    const GroupId all = communicators.Group(Ranks(0, kRanks, 1));
    works.push_back(builder.Work(compute, work, sim::TaskClass::kForward, {}));
    for (int round = 0; round < 3; ++round) {
      for (const CollectiveKind kind : kSequence) {
        const auto issue = [&](GroupId group, std::uint32_t member, Bytes size) {
          collectives.push_back(communicators.Issue(group, member, {kind, size, sim::TaskClass::kTensor},
                                                    stream, {}, sim::TaskId::None()));
        };
        issue(node, rank % 8, 5_MiB);
        issue(rail, rank / 8, 12_MiB);
        // Broadcast over several channels has a test of its own.
        if (kind != CollectiveKind::kBroadcast) issue(all, rank, 32_MiB);
      }
    }
  }
  const sim::Result<sim::Program> program = std::move(builder).Build();
  EXPECT_TRUE(program.ok());
  const sim::Result<sim::Timeline> timeline = sim::Simulate(program.value());
  EXPECT_TRUE(timeline.ok());
  Ended ended;
  for (const sim::TaskId task : collectives)
    ended.collectives.push_back(timeline.value().end[task.pos()].since_start());
  for (const sim::TaskId task : works) ended.works.push_back(timeline.value().end[task.pos()].since_start());
  return ended;
}

// Nothing here is slower in one place than in another for a time, so each
// collective takes as long in both forms, up to a byte (20 ps at 50 GB/s) and
// 1 ps a step, and members enter and leave at the same times: those of a
// communicator leave together in both, when the last transfer has ended. 42 collectives
// follow each other, none with more than 30 steps: 42 * 30 * 21 ps.
TEST(ChunkFidelity, LetsEveryMemberLeaveWhenTheCoupledFlowDoes) {
  const Ended flow = PlayJob(Fidelity::kFlow, 5_ms);
  const Ended chunk = PlayJob(Fidelity::kChunk, 5_ms);
  ASSERT_EQ(flow.collectives.size(), kRanks * 3u * 14u);
  ASSERT_EQ(flow.collectives.size(), chunk.collectives.size());
  for (std::size_t i = 0; i < flow.collectives.size(); ++i) {
    EXPECT_LE(std::abs((flow.collectives[i] - chunk.collectives[i]).ps()), 42 * 30 * 21) << i;
  }
}

// The kernel holds its SMs from its start to its end in both forms, also while a
// member waits for a transfer. The 5 ms of work lie beside communication from
// start to end here: 6 ms. Between one communication and the next the work
// changes speed twice in the same instant, each time rounded up to 1 ps; 42
// collectives are 42 communications, or 84 that are entered and left.
TEST(ChunkFidelity, HoldsTheSmsOfItsMembersThroughout) {
  const Ended flow = PlayJob(Fidelity::kFlow, 6_ms);
  const Ended chunk = PlayJob(Fidelity::kChunk, 6_ms);
  ASSERT_GT(flow.collectives.back(), 6_ms);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_GE(flow.works[rank], 6_ms);
    EXPECT_LE(flow.works[rank], 6_ms + 84_ps);
    EXPECT_GE(chunk.works[rank], 6_ms);
    EXPECT_LE(chunk.works[rank], 6_ms + 168_ps);
  }
}

}  // namespace
}  // namespace scenarios
