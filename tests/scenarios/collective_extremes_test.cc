// Collectives at the ends of the ranges: they take what a division says, or are
// refused because they would end beyond the clock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/collective_testing.h"

namespace scenarios {
namespace {

using sim::CollectiveKind;
using namespace sim::literals;

// Bytes over the slowest link of `n` members on one switch, as a fraction of `size`.
struct Share {
  CollectiveKind kind;
  std::int64_t numerator, denominator;
};
std::vector<Share> SharesOf(std::int64_t n) {
  return {{CollectiveKind::kAllReduce, 2 * (n - 1), n},
          {CollectiveKind::kAllGather, n - 1, n},
          {CollectiveKind::kReduceScatter, n - 1, n},
          {CollectiveKind::kAllToAll, n - 1, n},
          {CollectiveKind::kBroadcast, 1, 1}};
}

sim::NodeShape Node(sim::ByteRate rate, sim::Duration latency) {
  sim::NodeShape node = topologies::TestNode(1, 1);
  node.nvlink = node.pcie = node.nic = rate;
  node.nvlink_latency = node.pcie_latency = node.nic_latency = latency;
  return node;
}

// One kind over n nodes: its time after its latency and without its fill, or the error of a clock that is too
// short.
sim::Result<sim::Duration> Play(const topologies::Fabric& fabric, std::uint32_t n, CollectiveKind kind,
                                sim::Bytes size) {
  const std::vector<hardware::CollectiveTiming> timing = {hardware::CollectiveTiming{}};
  const auto [way, traffic, fill] = LowerByWay(fabric, timing, {.kind = kind, .size = size}, Devices(n));
  sim::ProgramBuilder builder(1, CapacitiesOf(fabric));
  const sim::StreamId stream = builder.AddStream(sim::Rank(0), sim::StreamKind::kData);
  builder.Seat(stream, builder.AddCommunication(builder.AddTraffic(traffic)), sim::TaskClass::kData, {});
  const sim::Result<sim::Program> program = std::move(builder).Build();
  const sim::Result<sim::Timeline> timeline = sim::Simulate(program.value());
  if (!timeline.ok()) return timeline.error();
  EXPECT_GE(timeline.value().finish.since_start(), traffic.latency + fill);
  return timeline.value().finish.since_start() - traffic.latency - fill;
}

// 1 kB/s (the slowest that is taken) to 10 Tb/s, no byte to 1 TiB, no latency to 10 ms. Two picoseconds for
// what is rounded up. A clock has 2^63 ps; 1 TiB at 1 kB/s would need 35 years.
TEST(Collectives, TakeTheirBytesOverTheRateAtAllExtremes) {
  int refused = 0;
  for (const sim::ByteRate rate :
       {sim::ByteRate::BytesPerSecond(1'000), sim::ByteRate::BytesPerSecond(1'000'000), 50_GB_per_s,
        10'000_Gbit_per_s}) {
    for (const sim::Duration latency : {0_ns, 10_ms}) {
      for (const std::uint32_t n : {2u, 8u}) {
        const topologies::Fabric fabric =
            topologies::MustBuild(topologies::OneSwitch(), Node(rate, latency), n);
        for (const sim::Bytes size : {0_B, 1_B, 1_MiB, sim::Bytes(std::int64_t{1} << 40)}) {
          for (const Share& share : SharesOf(n)) {
            SCOPED_TRACE(std::string(sim::ToText(share.kind)) + " of " + std::to_string(size.count()) +
                         " B at " + std::to_string(rate.milli()));
            const sim::Wide femto = sim::Wide{size.count()} * share.numerator * 1'000'000'000'000'000;
            const sim::Wide ps = femto / share.denominator / rate.milli();
            const auto played = Play(fabric, n, share.kind, size);
            if (ps > INT64_MAX) {
              ++refused;
              ASSERT_FALSE(played.ok());
              EXPECT_THAT(played.error().message, testing::HasSubstr("more than the 106 days"));
              continue;
            }
            ASSERT_TRUE(played.ok()) << played.error().message;
            // Of a broadcast the rate with the fill in it is rounded up.
            const sim::Wide faster =
                share.kind == CollectiveKind::kBroadcast ? 2 * ps * (n - 1) / rate.milli() : 0;
            EXPECT_GE(sim::Wide{played.value().ps()}, ps - faster);
            // An all-to-all counts what goes to one peer, at 1 / (n-1) of the rate rounded down to 10^-3 B/s.
            const sim::Wide rounding =
                share.kind == CollectiveKind::kAllToAll ? ps * (n - 1) / (rate.milli() - n) : 0;
            EXPECT_LE(sim::Wide{played.value().ps()}, ps + rounding + 2);
          }
        }
      }
    }
  }
  EXPECT_EQ(refused, 2 * 2 * 5);
}

TEST(Collectives, OfRatesBelowAKilobyteASecondAreRefused) {
  const auto fabric =
      topologies::BuildFabric(topologies::OneSwitch(), Node(sim::ByteRate::BytesPerSecond(999), 0_ns), 2);
  ASSERT_FALSE(fabric.ok());
  EXPECT_THAT(fabric.error().message, testing::HasSubstr("is below 1 kB/s"));
}

}  // namespace
}  // namespace scenarios
