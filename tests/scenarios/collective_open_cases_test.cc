// Reports of users of such tools, as tests: collectives on real fabrics, through
// lowering and simulation. Figures are derived beside them.

#include <gtest/gtest.h>

#include "scenarios/communicators.h"
#include "tests/scenarios/collective_testing.h"

namespace scenarios {
namespace {

using sim::Bytes;
using sim::CollectiveKind;
using sim::Duration;
using topologies::MustBuild;
using topologies::OneSwitch;
using topologies::TestNode;
using namespace sim::literals;

// What two ranks issue, one after the other; the error if they do not agree.
std::string MismatchOf(const std::vector<Collective>& of_rank_0, const std::vector<Collective>& of_rank_1,
                       Fidelity fidelity) {
  Scenario scenario;
  scenario.fabric = MustBuild(topologies::OneNode(), TestNode(8, 8), 8);
  scenario.fidelity = fidelity;
  sim::ProgramBuilder builder(2, CapacitiesOf(scenario.fabric));
  Communicators communicators(scenario, &builder);
  const GroupId group = communicators.Group({sim::Rank(0), sim::Rank(1)});
  const std::vector<Collective>* issued[] = {&of_rank_0, &of_rank_1};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const sim::StreamId stream = builder.AddStream(sim::Rank(rank), sim::StreamKind::kTensor);
    for (const Collective& collective : *issued[rank])
      communicators.Issue(group, rank, collective, stream, {}, sim::TaskId::None());
  }
  return communicators.mismatch() ? communicators.mismatch()->message : "";
}

// HB-104: 1,024 and 512 elements of four bytes; then the order swapped.
// Source: NVIDIA/nccl#1417, #531, #296.
TEST(Communicators, NameRanksAndOperationsThatDoNotAgree) {
  const Collective all_reduce{CollectiveKind::kAllReduce, 4096_B}, small{CollectiveKind::kAllReduce, 2048_B};
  const Collective all_gather{CollectiveKind::kAllGather, 8192_B};
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kChunk}) {
    EXPECT_EQ(MismatchOf({all_reduce, all_gather}, {all_reduce, all_gather}, fidelity), "");
    EXPECT_EQ(MismatchOf({all_reduce, all_gather}, {small, all_gather}, fidelity),
              "operation 0 of a communicator of 2 ranks: rank 0 issues all-reduce of 4096 bytes, rank 1 "
              "issues all-reduce of 2048 bytes; all members must issue the same sequence");
    EXPECT_EQ(MismatchOf({all_reduce, all_gather}, {all_gather, all_reduce}, fidelity),
              "operation 0 of a communicator of 2 ranks: rank 0 issues all-reduce of 4096 bytes, rank 1 "
              "issues all-gather of 8192 bytes; all members must issue the same sequence");
    EXPECT_EQ(MismatchOf({all_gather, all_reduce}, {all_gather, small}, fidelity),
              "operation 1 of a communicator of 2 ranks: rank 0 issues all-reduce of 4096 bytes, rank 1 "
              "issues all-reduce of 2048 bytes; all members must issue the same sequence");
  }
}

Duration Time(const Setting& setting, CollectiveKind kind, Bytes size) {
  return PlayCoupled(setting, kind, size, kNcclChunk).end;
}

// One port of 50 GB/s each, full duplex, with so much latency a step.
Setting OnASwitch(std::uint32_t ranks, Duration step) {
  return WithoutLatency({"switch",
                         MustBuild(OneSwitch(), TestNode(1, 1), ranks),
                         Devices(ranks),
                         {{.protocol = hardware::Protocol::kSimple, .step_between = step}}});
}

// HB-090: 2(n-1) * 5 us + 2(n-1)/n * S / 50 GB/s, rounded up to a picosecond.
//   n 8, 1 MiB: 70 us + 36.70016 us;    n 64, 1 MiB: 630 us + 41.2876800 us
//   n 8, 1 GiB: 70 us + 37,580.96384 us; n 64, 1 GiB: 630 us + 42,278.58432 us
TEST(RingAllReduceOnASwitch, TakesLongerWithMoreRanks) {
  EXPECT_EQ(Time(OnASwitch(8, 5_us), CollectiveKind::kAllReduce, 1_MiB), 106'700'160_ps);
  EXPECT_EQ(Time(OnASwitch(64, 5_us), CollectiveKind::kAllReduce, 1_MiB), 671'287'680_ps);
  EXPECT_EQ(Time(OnASwitch(8, 5_us), CollectiveKind::kAllReduce, 1_GiB), 37'650'963'840_ps);
  EXPECT_EQ(Time(OnASwitch(64, 5_us), CollectiveKind::kAllReduce, 1_GiB), 42'908'584'320_ps);
}

// HB-096: a port that seven flows leave by carries what they carry together.
// Ring: 2 * 7/8 * 100 MB at 50 GB/s = 3.5 ms. Direct: reduce-scatter and
// all-gather are an all-to-all each, 7/8 * 100 MB = 1.75 ms.
TEST(DirectAllReduceOnASwitch, IsNoFasterThanTheRing) {
  const Setting setting = OnASwitch(8, Duration());
  EXPECT_EQ(Time(setting, CollectiveKind::kAllReduce, Bytes(100'000'000)), 3'500_us);
  // A pair's seventh of the port is rounded down to 10^-3 B/s.
  EXPECT_EQ(Time(setting, CollectiveKind::kAllToAll, Bytes(100'000'000)), Duration(1'750_us) + 1_ps);
}

// Eight devices of one domain; each is linked to those up to `reach` further on.
topologies::Fabric Mesh(std::uint32_t reach) {
  topologies::ExplicitSpec spec;
  const auto name = [](std::uint32_t device) { return "node/gpu" + std::to_string(device % 8); };
  for (std::uint32_t d = 0; d < 8; ++d) spec.nodes.push_back({name(d), topologies::VertexKind::kDevice});
  for (std::uint32_t d = 0; d < 8; ++d) {
    for (std::uint32_t k = 1; k <= reach; ++k) {
      if (k < 4 || d < 4) spec.links.push_back({name(d), name(d + k), 50_GB_per_s, Duration()});
    }
  }
  return MustBuild({"mesh", "", "", spec}, {}, 8);
}

Duration TimeByDimension(const Setting& setting, Bytes size, std::vector<sim::Dimension> dimensions) {
  sim::CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .size = size};
  request.algorithm = sim::Algorithm::kByDimension;
  request.dimensions = std::move(dimensions);
  return PlayCoupled(setting, request, kNcclChunk).end;
}

// HB-098, 800 MB over 8: (a) a ring of links, one direction of them used as NCCL does:
// 2 * 7/8 * 800 MB at 50 GB/s = 28 ms; rings both ways, a half each, 14 ms; (b) a switch: 28 ms, for a port
// carries both halves; (c) a link between each two, direct: each carries 800 MB / 8 twice, 4 ms.
TEST(AllReduce, DependsOnWhatConnectsItsMembers) {
  const Bytes size(800'000'000);
  const std::vector<sim::Dimension> both{{8, sim::DimensionAlgorithm::kRing}},
      one{{8, sim::DimensionAlgorithm::kOneWayRing}}, direct{{8, sim::DimensionAlgorithm::kDirect}};
  EXPECT_EQ(Time({"ring", Mesh(1), Devices(8)}, CollectiveKind::kAllReduce, size), 28_ms);
  EXPECT_EQ(TimeByDimension({"ring", Mesh(1), Devices(8)}, size, one), 28_ms);
  EXPECT_EQ(TimeByDimension({"ring", Mesh(1), Devices(8)}, size, both), 14_ms);
  EXPECT_EQ(TimeByDimension(OnASwitch(8, Duration()), size, both), 28_ms);
  EXPECT_EQ(TimeByDimension({"all to all", Mesh(4), Devices(8)}, size, direct), 4_ms);
  EXPECT_EQ(Time(OnASwitch(8, Duration()), CollectiveKind::kAllReduce, size), 28_ms);
  EXPECT_EQ(Time({"all to all", Mesh(4), Devices(8)}, CollectiveKind::kAllToAll, size), 2_ms);
}

// The P100's DGX-1: two quads of NVLinks of 25 GB/s, and one from each device to its place in the other
// quad. All else goes over PCIe, 10 GB/s a device.
topologies::Fabric Dgx1() {
  topologies::ExplicitSpec spec;
  spec.nodes.push_back({"node/pcie", topologies::VertexKind::kPcieSwitch});
  const auto name = [](std::uint32_t device) { return "node/gpu" + std::to_string(device); };
  for (std::uint32_t a = 0; a < 8; ++a) {
    spec.nodes.push_back({name(a), topologies::VertexKind::kDevice});
    spec.links.push_back({name(a), "node/pcie", 10_GB_per_s, Duration()});
    for (std::uint32_t b = 0; b < a; ++b) {
      if (a / 4 == b / 4 || a == b + 4) spec.links.push_back({name(a), name(b), 25_GB_per_s, Duration()});
    }
  }
  return MustBuild({"DGX-1", "", "", spec}, {}, 8);
}

// HB-109 (NVIDIA/nccl#301), 1 GB: device 7 has one NVLink to {0, 1, 2, 3}, so no ring has only NVLinks and
// the best has one hop over PCIe: 2 * 4/5 * 1 GB at 10 GB/s = 160 ms. Without it 2 * 3/4 * 1 GB at 25 GB/s =
// 60 ms. All eight have a ring, 0 1 2 3 7 6 5 4: 2 * 7/8 * 1 GB at 25 GB/s = 70 ms; in the order of their
// numbers 3 -> 4 and 7 -> 0 would be PCIe, 175 ms. Of {0, 1, 5, 6}, 6 has one NVLink: 150 ms.
TEST(RingOfNvlinks, IsTheBestThatThereIs) {
  const topologies::Fabric fabric = Dgx1();
  const Bytes size(1'000'000'000);
  const auto time = [&](std::vector<std::uint32_t> devices) {
    return Time({"", fabric, std::move(devices)}, CollectiveKind::kAllReduce, size);
  };
  EXPECT_EQ(time({0, 1, 2, 3, 7}), 160_ms);
  EXPECT_EQ(time({7, 2, 0, 3, 1}), 160_ms);
  EXPECT_EQ(time({0, 1, 2, 3}), 60_ms);
  EXPECT_EQ(time(Devices(8)), 70_ms);
  EXPECT_EQ(time({0, 1, 4, 5}), 60_ms);
  EXPECT_EQ(time({0, 1, 5, 6}), 150_ms);
}

// A 4 x 4 x 4 torus whose nodes are faster than its links: 2 * 3/8 * S on every link of the first dimension,
// at 50 GB/s. While the first loops cross the other two, these links scatter for those behind, so nothing is
// filled.
TEST(AllReduceByDimension, OfATorusKeepsTheFirstDimensionsLinksBusy) {
  sim::NodeShape node = TestNode(1, 1);
  node.nic = node.pcie = 4000_GB_per_s;
  topologies::TopologySpec torus{"torus", "", "",
                                 topologies::TorusSpec{{4, 4, 4}, true, 50_GB_per_s, Duration()}};
  const Setting setting = WithoutLatency({"torus", MustBuild(torus, node, 64), Devices(64)});
  const std::vector<sim::Dimension> rings(3, {4, sim::DimensionAlgorithm::kRing});
  const std::int64_t size = 1'000'000'000;
  const double seconds = TimeByDimension(setting, Bytes(size), rings).seconds();
  EXPECT_NEAR(seconds, 0.75 * size / 50e9, 1e-9);
  // One ring of all 64, both ways, has 63/64 * S on the links of each hop.
  EXPECT_GT(TimeByDimension(setting, Bytes(size), {{64, sim::DimensionAlgorithm::kRing}}).seconds(), seconds);
}

// HB-101: two nodes of 8, groups of two, 2 GB: ranks r and r + 8 meet over a NIC
// each (2 * 1/2 * 2 GB at 50 GB/s = 40 ms, all eight groups at once); neighbours
// over NVLink (2 GB at 450 GB/s, rounded up).
TEST(DataParallelAllReduce, CostsWhatItsPlacementSays) {
  Setting setting =
      WithoutLatency({"two nodes", MustBuild(topologies::SmallRails(), TestNode(8, 8), 16), {}});
  for (const bool across : {true, false}) {
    Stage stage(setting);
    std::vector<sim::TaskId> tasks;
    for (std::uint32_t g = 0; g < 8; ++g) {
      const std::uint32_t devices[] = {across ? g : 2 * g, across ? g + 8 : 2 * g + 1};
      tasks.push_back(stage.Add(LowerCollective(setting.fabric, setting.timing, CollectiveKind::kAllReduce,
                                                Bytes(2'000'000'000), devices),
                                stage.NewStream()));
    }
    EXPECT_EQ(std::move(stage).Play(tasks).end, across ? Duration(40_ms) : 4'444'444'445_ps);
  }
}

// HB-106.
TEST(AllReduce, OfOneRankTakesNoTime) {
  const Setting setting{"one", MustBuild(topologies::OneNode(), TestNode(8, 8), 8), {3}};
  EXPECT_EQ(Time(setting, CollectiveKind::kAllReduce, 1_GiB), Duration());
}

// HB-107: 40 ms of backward in as many layers as there are buckets, and 30 ms of
// gradient communication, a bucket after each layer. What is exposed is the
// tail after the last gradient: one bucket's time, for buckets are shorter than
// layers. Two ranks, 2 * 1/2 * S at 50 GB/s: 1.5 GB are 30 ms.
TEST(GradientReduction, IsExposedByItsTailAfterTheLastGradient) {
  for (const std::int64_t buckets : {1, 2, 4, 10}) {
    Scenario scenario;
    scenario.fabric = WithoutLatency({"", MustBuild(OneSwitch(), TestNode(1, 1), 2), {}}).fabric;
    sim::ProgramBuilder builder(2, CapacitiesOf(scenario.fabric));
    Communicators communicators(scenario, &builder);
    const GroupId group = communicators.Group({sim::Rank(0), sim::Rank(1)});
    const Duration layer = Duration::Microseconds(40'000 / buckets);
    const sim::WorkId work = builder.AddWork({layer, layer});
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const sim::StreamId compute = builder.AddStream(sim::Rank(rank), sim::StreamKind::kCompute);
      const sim::StreamId data = builder.AddStream(sim::Rank(rank), sim::StreamKind::kData);
      for (std::int64_t b = 0; b < buckets; ++b) {
        const sim::TaskId backward = builder.Work(compute, work, sim::TaskClass::kBackward, {});
        communicators.Issue(
            group, rank, {CollectiveKind::kAllReduce, Bytes(1'500'000'000 / buckets), sim::TaskClass::kData},
            data, {}, backward);
      }
    }
    const sim::Result<sim::Program> program = std::move(builder).Build();
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(sim::Simulate(program.value()).value().finish.since_start(),
              40_ms + Duration::Microseconds(30'000 / buckets));
  }
}

}  // namespace
}  // namespace scenarios
