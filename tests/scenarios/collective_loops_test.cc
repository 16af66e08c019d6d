// What moves in loops, with its fill: a coupled flow takes as long as its chunk expansion, from one loop up.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/scenarios/collective_testing.h"

namespace scenarios {
namespace {

using sim::Algorithm;
using sim::Bytes;
using sim::CollectiveKind;
using topologies::MustBuild;
using topologies::OneNode;
using topologies::OneSwitch;
using topologies::SmallRails;
using topologies::TestNode;
using namespace sim::literals;

struct Loops {
  Setting setting;
  Algorithm algorithm;
  CollectiveKind kind;
  std::vector<sim::Dimension> dimensions = {};
};

std::vector<hardware::CollectiveTiming> By(Algorithm algorithm) {
  hardware::CollectiveTiming timing;
  timing.algorithm = algorithm;
  return {timing};
}

std::vector<Loops> AllLoops() {
  const topologies::Fabric node = MustBuild(OneNode(), TestNode(8, 8), 8);
  const topologies::Fabric one_switch = MustBuild(OneSwitch(), TestNode(1, 1), 64);
  const topologies::Fabric rails = MustBuild(SmallRails(), TestNode(8, 8), 64);
  std::vector<Loops> loops;
  const auto add = [&](const char* name, const topologies::Fabric& fabric, std::vector<std::uint32_t> devices,
                       Algorithm algorithm, CollectiveKind kind) {
    loops.push_back({{name, fabric, std::move(devices), By(algorithm)}, algorithm, kind});
  };
  for (const CollectiveKind kind : {CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
    add("node of 8", node, Devices(8), Algorithm::kRing, kind);
    add("16 of a switch", one_switch, Devices(16), Algorithm::kRing, kind);
    add("64 ranks, rails", rails, Devices(64), Algorithm::kRing, kind);
  }
  for (const std::uint32_t ranks : {2u, 3u, 8u})
    add("node", node, Devices(ranks), Algorithm::kTree, CollectiveKind::kAllReduce);
  for (const std::uint32_t ranks : {2u, 5u, 8u, 16u, 33u}) {
    add("switch", one_switch, Devices(ranks), Algorithm::kTree, CollectiveKind::kAllReduce);
  }
  add("two nodes", rails, Devices(16), Algorithm::kTree, CollectiveKind::kAllReduce);
  add("8 nodes", rails, Devices(64), Algorithm::kTree, CollectiveKind::kAllReduce);
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    for (const std::uint32_t ranks : {3u, 5u, 8u}) add("node", node, Devices(ranks), Algorithm::kNvls, kind);
  }
  add("two nodes", rails, Devices(16), Algorithm::kNvlsTree, CollectiveKind::kAllReduce);
  add("8 nodes", rails, Devices(64), Algorithm::kNvlsTree, CollectiveKind::kAllReduce);
  add("PAT", one_switch, Devices(16), Algorithm::kPat, CollectiveKind::kAllGather);
  add("PAT", one_switch, Devices(13), Algorithm::kPat, CollectiveKind::kReduceScatter);
  return loops;
}

double SecondsOf(const Loops& one, Bytes size, Bytes chunk, bool coupled) {
  const Setting setting = WithoutLatency(one.setting);
  sim::CollectiveRequest request{one.kind, size};
  request.algorithm = one.algorithm;
  request.dimensions = one.dimensions;
  return (coupled ? PlayCoupled(setting, request, chunk) : PlayChunked(setting, request, chunk))
      .end.seconds();
}

// Of one collective with so many loops of 64 KiB chunks: coupled flow over expansion, less one.
double Difference(const Loops& one, std::int64_t loops) {
  constexpr Bytes kChunk = 64_KiB;
  sim::CollectiveRequest request{one.kind, 1_GiB, CommunicatorOf(one.setting.fabric, one.setting.devices)};
  request.algorithm = one.algorithm;
  request.dimensions = one.dimensions;
  const sim::CollectivePlan plan = sim::PlanCollective(request);
  const std::int64_t a_loop = plan.flows.front().chunks_a_loop;
  const Bytes size(static_cast<std::int64_t>(plan.flows.size()) * loops * a_loop * kChunk.count());
  return SecondsOf(one, size, kChunk, true) / SecondsOf(one, size, kChunk, false) - 1;
}

std::string NameOf(const Loops& one) {
  return one.setting.name + ": " + ToText(one.algorithm) + ' ' + ToText(one.kind) + " of " +
         std::to_string(one.setting.devices.size());
}

// Rounding leaves a few picoseconds a step.
TEST(Loops, TakeAsLongAsTheirChunksWithTheFill) {
  for (const Loops& one : AllLoops()) {
    for (const std::int64_t loops : {1, 4, 16}) {
      EXPECT_NEAR(Difference(one, loops), 0, 1e-4) << NameOf(one) << ", " << loops << " loops";
    }
  }
}

// Channels that share slow NVLink ports, nodes with one member beside full ones, heads on different rails:
// the way that takes longest is not the one with most steps, and its edges are not the slowest.
TEST(Loops, OfTreesTakeAsLongAsTheirChunksOverUnevenNodesAndSlowNvlinks) {
  const std::vector<std::vector<std::uint32_t>> groups = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18, 19, 20, 21, 22, 23, 24},
      {1, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 24, 27, 34, 36},
      {0, 1, 2, 5, 7, 8, 10, 13, 16, 19, 21, 22, 31},
      {3, 9, 10, 17, 18, 19, 20, 21, 22, 23, 26, 27, 28, 38, 39}};
  for (const std::int64_t gigabytes : {1, 5, 20, 60, 450}) {
    sim::NodeShape node = TestNode(8, 8);
    node.nvlink = sim::ByteRate::BytesPerSecond(gigabytes * 1'000'000'000);
    const topologies::Fabric fabric = MustBuild(SmallRails(), node, 40);
    for (const std::vector<std::uint32_t>& group : groups) {
      const Loops one{
          {"NVLink of " + std::to_string(gigabytes) + " GB/s", fabric, group, By(Algorithm::kTree)},
          Algorithm::kTree,
          CollectiveKind::kAllReduce};
      for (const std::int64_t loops : {1, 4, 16}) {
        EXPECT_NEAR(Difference(one, loops), 0, 1e-4) << NameOf(one) << ", " << loops << " loops";
      }
    }
  }
}

// The first link of a device's way to another one.
void Slow(Setting* setting, std::uint32_t from, std::uint32_t to, std::int64_t times) {
  const sim::LinkId link = setting->fabric.router->Between(from, to).uses.front().link;
  sim::ByteRate& capacity = setting->fabric.links[link.pos()].capacity;
  capacity = sim::ByteRate::MilliBytesPerSecond(capacity.milli() / times);
}

// An owner whose port is slow writes its slice while those of others come down already: the flow waits for
// it.
TEST(Loops, TakeAsLongAsTheirChunksWhereALinkIsSlow) {
  for (Loops one : AllLoops()) {
    Slow(&one.setting, 1, 0, 5);
    EXPECT_NEAR(Difference(one, 16), 0, one.algorithm == Algorithm::kNvls ? 0.03 : 0.015) << NameOf(one);
  }
}

// Dimension after dimension. Of all-reduce links serve two steps of a loop, in turns, and may wait for the
// one whose loop is still elsewhere.
TEST(Loops, ByDimensionTakeAsLongAsTheirChunks) {
  constexpr auto kBoth = sim::DimensionAlgorithm::kRing, kOne = sim::DimensionAlgorithm::kOneWayRing,
                 kDirect = sim::DimensionAlgorithm::kDirect;
  const topologies::Fabric rails = MustBuild(SmallRails(), TestNode(4, 4), 16);
  for (const auto first : {kBoth, kOne, kDirect}) {
    for (const auto second : {kBoth, kOne, kDirect}) {
      for (const CollectiveKind kind :
           {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
        const Loops one{{std::string("4 nodes, ") + ToText(first) + ", " + ToText(second), rails, Devices(16),
                         By(Algorithm::kRing)},
                        Algorithm::kByDimension,
                        kind,
                        {{4, first}, {4, second}}};
        for (const std::int64_t loops : {1, 4, 16}) {
          EXPECT_NEAR(Difference(one, loops), 0, kind == CollectiveKind::kAllReduce ? 0.02 : 1e-4)
              << NameOf(one) << ", " << loops << " loops";
        }
      }
    }
  }
}

// Of NVLS a loop is a chunk of each member: 16 MiB for eight.
TEST(Loops, OfNvlsTakeAsLongAsTheirChunksWhateverTheSize) {
  const topologies::Fabric node = MustBuild(OneNode(), TestNode(8, 8), 8);
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    const Loops one{{"node", node, Devices(8), By(Algorithm::kNvls)}, Algorithm::kNvls, kind};
    for (const Bytes size : {100_KiB, 1_MiB, 16_MiB, 17_MiB, 40_MiB, 100_MiB}) {
      EXPECT_NEAR(SecondsOf(one, size, kNcclChunk, true) / SecondsOf(one, size, kNcclChunk, false), 1, 1e-3)
          << NameOf(one) << ", " << size.count() << " bytes";
    }
  }
}

}  // namespace
}  // namespace scenarios
