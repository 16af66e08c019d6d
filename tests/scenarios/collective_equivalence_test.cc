// A coupled flow takes as long as the chunk expansion of its collective: on an
// idle fabric, and under a bottleneck that is constant in time.
//
// Why a ring is no slower than its slowest edge. Call that edge s; every other
// edge is at all times at least as fast. A part that crosses s comes round to it
// again n steps later. Meanwhile s has n-1 other parts to send, and the part has
// n-1 other edges to cross, each in no more time than s needs for one part. So
// s never waits from its first transfer to its last, and what crossed it
// j steps before the end has left the j-th edge behind it by then.

#include <gtest/gtest.h>

#include "tests/scenarios/collective_testing.h"

namespace scenarios {
namespace {

using sim::Bytes;
using sim::CollectiveKind;
using sim::Duration;
using topologies::MustBuild;
using topologies::OneNode;
using topologies::OneSwitch;
using topologies::SmallRails;
using topologies::TestNode;
using namespace sim::literals;

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                     CollectiveKind::kBroadcast};

void ExpectEqual(const Setting& setting, CollectiveKind kind, Bytes size, Bytes chunk) {
  SCOPED_TRACE(testing::Message() << setting.name << ": " << ToText(kind) << " of " << setting.devices.size()
                                  << ", " << size.count() << " B in chunks of " << chunk.count());
  const Played coupled = PlayCoupled(setting, kind, size, chunk);
  const Played chunked = PlayChunked(setting, kind, size, chunk);
  const std::int64_t difference = (chunked.end - coupled.end).ps();
  const std::int64_t slack = SlackPs(setting, kind, size, chunk, coupled.end);
  EXPECT_LE(difference, slack);
  EXPECT_GE(difference, -slack);
}

std::vector<Setting> Settings() {
  const topologies::Fabric node = MustBuild(OneNode(), TestNode(8, 8), 8);
  const topologies::Fabric large_node = MustBuild(OneNode(), TestNode(64, 64), 64);
  const topologies::Fabric one_switch = MustBuild(OneSwitch(), TestNode(1, 1), 64);
  const topologies::Fabric rails = MustBuild(SmallRails(), TestNode(8, 8), 64);
  std::vector<Setting> settings;
  settings.push_back({"node of 8", node, Devices(8)});
  settings.push_back({"two of a node", node, {2, 5}});
  settings.push_back({"three of a node", node, {6, 1, 3}});
  settings.push_back({"node of 64", large_node, Devices(64)});
  settings.push_back({"63 of a node of 64", large_node, Devices(63)});
  settings.push_back({"switch", one_switch, Devices(17)});
  settings.push_back({"switch of 64", one_switch, Devices(64)});
  settings.push_back({"one of each node, rail optimised", rails, OfEachNode(8, 8, 1)});
  settings.push_back({"two whole nodes, rail optimised", rails, OfEachNode(2, 8, 8)});
  settings.push_back({"half of each node, rail optimised", rails, OfEachNode(8, 8, 4)});
  settings.push_back({"63 ranks, rail optimised", rails, Devices(63)});
  settings.push_back({"64 ranks, rail optimised", rails, Devices(64)});
  // Seven or eight rings on an NVLink port of 200 GB/s leave less to each than a
  // NIC has, as on H800.
  sim::NodeShape narrow = TestNode(8, 8);
  narrow.nvlink = 200_GB_per_s;
  const topologies::Fabric narrow_rails = MustBuild(SmallRails(), narrow, 32);
  settings.push_back({"whole nodes, NVLink 200", narrow_rails, OfEachNode(4, 8, 8)});
  settings.push_back({"half nodes, NVLink 200", narrow_rails, OfEachNode(4, 8, 4)});
  settings.push_back({"31 ranks, NVLink 200", narrow_rails, Devices(31)});
  return settings;
}

// So that two loops are run on each channel, the last one with smaller parts.
Bytes ChunkFor(const Setting& setting, CollectiveKind kind, Bytes size) {
  const auto channels = std::max<std::size_t>(
      1, sim::PlanCollective({kind, size, CommunicatorOf(setting.fabric, setting.devices)}).flows.size());
  const auto parts = static_cast<std::int64_t>(setting.devices.size() * channels) * 3 / 2;
  return Bytes(std::max<std::int64_t>(1, size.count() / parts));
}

TEST(CoupledFlow, IsTheChunkExpansionOnAnIdleFabric) {
  for (const Setting& setting : Settings()) {
    for (const CollectiveKind kind : kKinds) {
      for (const Bytes size : {1_B, 7_B, 1000_B, Bytes(1'000'003), 1_GiB}) {
        ExpectEqual(setting, kind, size, ChunkFor(setting, kind, size));
      }
    }
  }
}

TEST(CoupledFlow, IsTheChunkExpansionForEveryNumberOfRanks) {
  const topologies::Fabric node = MustBuild(OneNode(), TestNode(64, 64), 64);
  const topologies::Fabric one_switch = MustBuild(OneSwitch(), TestNode(1, 1), 64);
  for (std::uint32_t n = 2; n <= 64; ++n) {
    for (const CollectiveKind kind : kKinds) {
      ExpectEqual({"node", node, Devices(n)}, kind, 1_MiB, 16_KiB);
      ExpectEqual({"switch", one_switch, Devices(n)}, kind, Bytes(999'983), 16_KiB);
    }
  }
}

// NCCL's own chunk and timing, with the protocols' wire overhead and limit.
TEST(CoupledFlow, IsTheChunkExpansionWithLatencyAndProtocols) {
  const std::vector<hardware::CollectiveTiming> timing = {
      {hardware::Protocol::kLl, 7_us, 1_us, 1_us, 3_us, 2, 1, 141_GB_per_s},
      {hardware::Protocol::kLl128, 14_us, 2_us, 2_us, 4_us, 16, 15, {}},
      {hardware::Protocol::kSimple, 8_us, 3_us, 3_us, 14_us, 1, 1, {}}};
  for (Setting setting : Settings()) {
    if (setting.devices.size() > 17) continue;
    setting.timing = timing;
    for (const CollectiveKind kind : kKinds) {
      for (const Bytes size : {1_B, 10_KiB, 3_MiB, 300_MiB}) ExpectEqual(setting, kind, size, kNcclChunk);
    }
  }
}

// The links that a ring of the group crosses halfway: the first, and the middle one.
std::vector<sim::LinkId> LinksToSlow(const Setting& setting) {
  const std::size_t half = setting.devices.size() / 2;
  const topologies::Route route =
      setting.fabric.router->Between(setting.devices[half - 1], setting.devices[half]);
  return {route.uses.front().link, route.uses[route.uses.size() / 2].link};
}

TEST(CoupledFlow, IsTheChunkExpansionWhereOneLinkIsATenthAsFast) {
  for (const Setting& setting : Settings()) {
    for (const sim::LinkId link : LinksToSlow(setting)) {
      Setting slow = setting;
      sim::ByteRate& capacity = slow.fabric.links[link.pos()].capacity;
      capacity = sim::ByteRate::MilliBytesPerSecond(capacity.milli() / 10);
      slow.name += ", slow " + slow.fabric.LinkName(link);
      for (const CollectiveKind kind : kKinds) {
        for (const Bytes size : {7_B, 1_GiB}) {
          ExpectEqual(slow, kind, size, ChunkFor(slow, kind, size));
        }
      }
    }
  }
}

std::size_t ChannelsOf(const Setting& setting) {
  return sim::PlanCollective(
             {CollectiveKind::kBroadcast, 1_GiB, CommunicatorOf(setting.fabric, setting.devices)})
      .flows.size();
}

// Of a broadcast beside traffic on one of its links. Slowed down s times, a flow of which V is its time alone
// without the fill F takes s V + (s - 1) F, or V + F if that is more (link_loads.h). The chunks fill over the
// other links, which are as fast as ever: s V + F, or up to s F where that link is among those. So the flow
// is faster by F at most, and slower by (s - 2) F at most, which is less than F/V of s V. `channels` end up
// to a chunk apart.
void ExpectWithinAFill(const Setting& setting, Bytes size, Bytes chunk, std::int64_t channels) {
  SCOPED_TRACE(testing::Message() << setting.name << ": broadcast of " << setting.devices.size() << ", "
                                  << size.count() << " B in chunks of " << chunk.count());
  const Duration coupled = PlayCoupled(setting, CollectiveKind::kBroadcast, size, chunk).end;
  const Duration chunked = PlayChunked(setting, CollectiveKind::kBroadcast, size, chunk).end;
  const WayAndTraffic lowered =
      LowerByWay(setting.fabric, setting.timing, {.kind = CollectiveKind::kBroadcast, .size = size},
                 setting.devices, chunk);
  const double fill = lowered.spread_fill.seconds();
  const double alone = (IdleTime(setting.fabric, lowered.traffic) - lowered.traffic.latency).seconds() - fill;
  const double slack =
      static_cast<double>(SlackPs(setting, CollectiveKind::kBroadcast, size, chunk, coupled)) * 1e-12 +
      (channels == 1 ? 0
                     : coupled.seconds() * static_cast<double>(channels * chunk.count()) /
                           static_cast<double>(size.count()));
  EXPECT_GE(coupled.seconds(), chunked.seconds() - fill - slack);
  EXPECT_LE(coupled.seconds(), chunked.seconds() * (1 + fill / alone) + slack);
}

// Three connections that last longer than any collective here.
TEST(CoupledFlow, IsTheChunkExpansionBesideTrafficThatDoesNotChange) {
  for (const Setting& setting : Settings()) {
    for (const sim::LinkId link : LinksToSlow(setting)) {
      Setting busy = setting;
      busy.bystanders.assign(3, {{link}, Bytes(1'000'000'000'000)});
      busy.name += ", busy " + busy.fabric.LinkName(link);
      for (const CollectiveKind kind : kKinds) {
        if (kind == CollectiveKind::kBroadcast) continue;  // see below
        for (const Bytes size : {7_B, 1_GiB}) {
          ExpectEqual(busy, kind, size, ChunkFor(busy, kind, size));
        }
      }
    }
  }
}

// The channels of a broadcast start one after the other on a port that they share, and end so. Beside other
// traffic on that port each has more of it while some are missing.
TEST(CoupledBroadcast, BesideTrafficOnOneLinkIsOffByLessThanItsFill) {
  for (const Setting& setting : Settings()) {
    for (const sim::LinkId link : LinksToSlow(setting)) {
      Setting busy = setting;
      busy.bystanders.assign(3, {{link}, Bytes(1'000'000'000'000)});
      busy.name += ", busy " + busy.fabric.LinkName(link);
      for (const Bytes size : {16_MiB, 100_MiB}) {
        ExpectWithinAFill(busy, size, 1_MiB, static_cast<std::int64_t>(ChannelsOf(setting)));
      }
    }
  }
}

}  // namespace
}  // namespace scenarios
