// What the coupled flows load: closed forms, symmetry, and the expansion.

#include <gtest/gtest.h>

#include <map>

#include "sim/collective/algorithms.h"
#include "sim/collective/collective.h"
#include "sim/collective/part_size.h"
#include "tests/sim/collective/groups.h"
#include "tests/sim/collective/replay.h"

namespace sim {
namespace {

using namespace literals;

// Bytes that one flow makes of progress, rounded up.
Bytes Volume(const CoupledFlow& flow) {
  const Wide bytes = static_cast<Wide>(flow.size.count()) * flow.numerator;
  return Bytes(static_cast<std::int64_t>((bytes + flow.denominator - 1) / flow.denominator));
}

// What each member sends and receives, times the number of members.
struct PortLoads {
  std::vector<Wide> sent, received;
  auto operator<=>(const PortLoads&) const = default;
};

PortLoads LoadsOf(const CollectivePlan& plan, std::uint32_t members) {
  PortLoads loads{std::vector<Wide>(members), std::vector<Wide>(members)};
  for (const auto& [edge, numerators] : NumeratorsByEdge(plan, members)) {
    loads.sent[edge.first] += numerators;
    loads.received[edge.second] += numerators;
  }
  return loads;
}

// 2(n-1)/n, (n-1)/n of the size: no algorithm can send less (Patarasuk and Yuan
// 2009). Exactly, and the same for all members.
TEST(Plan, MakesEveryMemberSendTheLeastPossible) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    for (const std::uint32_t per_domain : {64u, 8u, 1u}) {
      for (const Bytes size : ManySizes()) {
        SCOPED_TRACE(testing::Message()
                     << n << " members, " << per_domain << " a domain, " << size.count() << " B");
        const Communicator group = PackedGroup(n, per_domain);
        for (const auto& [kind, factor] : {std::pair{CollectiveKind::kAllReduce, 2},
                                           {CollectiveKind::kAllGather, 1},
                                           {CollectiveKind::kReduceScatter, 1},
                                           {CollectiveKind::kAllToAll, 1}}) {
          const PortLoads loads = LoadsOf(PlanCollective({kind, size, group}), n);
          const Wide want = static_cast<Wide>(size.count()) * factor * (n - 1);
          for (std::uint32_t member = 0; member < n; ++member) {
            ASSERT_TRUE(loads.sent[member] == want && loads.received[member] == want)
                << ToText(kind) << member;
          }
        }
      }
    }
  }
}

// All but the root receive the message once; all but the last of a channel's
// chain send it once.
TEST(Plan, OfBroadcastBringsTheMessageToEveryMemberOnce) {
  for (const Communicator& group : ManyGroups()) {
    for (const Bytes size : ManySizes()) {
      const std::uint32_t n = group.size();
      const PortLoads loads = LoadsOf(PlanCollective({CollectiveKind::kBroadcast, size, group}), n);
      const Wide message = static_cast<Wide>(size.count()) * n;
      EXPECT_TRUE(loads.received[0] == 0 && loads.sent[0] == message);
      for (std::uint32_t member = 1; member < n; ++member) {
        EXPECT_TRUE(loads.received[member] == message && loads.sent[member] <= message);
      }
    }
  }
}

// The two forms of each algorithm carry the same bytes over the same edges. An
// edge carries all parts of a loop but one (twice less two for all-reduce), so
// that it may differ by a byte for each part left out, on each channel.
TEST(Plan, LoadsEveryEdgeAsTheChunkExpansionDoes) {
  for (const CollectiveKind kind : kGroupKinds) {
    for (const Communicator& group : ManyGroups()) {
      for (const Bytes size : {Bytes(1), Bytes(7), Bytes(1000), Bytes(1'000'003)}) {
        SCOPED_TRACE(testing::Message()
                     << ToText(kind) << " of " << group.size() << ", " << size.count() << " B");
        const CollectiveRequest request{kind, size, group};
        const CollectivePlan plan = PlanCollective(request);
        std::map<EdgeKey, Wide> differences = NumeratorsByEdge(plan, group.size());
        for (const Transfer& t : ExpandIntoChunks(request, Bytes(4096))) {
          const auto edge = differences.find({t.from, t.to});
          ASSERT_NE(edge, differences.end()) << "an edge that the plan does not have";
          edge->second -= static_cast<Wide>(group.size()) * t.size.count();
        }
        const Wide parts = kind == CollectiveKind::kAllReduce   ? 2
                           : kind == CollectiveKind::kBroadcast ? 0
                                                                : 1;
        const Wide bound = parts * group.size() * static_cast<Wide>(plan.flows.size());
        for (const auto& [edge, difference] : differences)
          ASSERT_TRUE(difference <= bound && -difference <= bound);
      }
    }
  }
}

// What passes the last edge of a chain before its own first chunk comes.
Bytes FillOf(const CoupledFlow& flow, Bytes chunk) {
  if (flow.path.empty()) return 0_B;
  const std::uint32_t chunks = LoopsOf(flow.size, chunk);
  return static_cast<std::int64_t>(flow.edges.size() - 1) * PartSize(flow.size, chunks, 0);
}

// On idle links of equal rate, coupled and chunked take as long, up to a byte a
// step. Time in bytes; each edge of each channel a link of its own.
TEST(Plan, TakesAsLongAsTheChunkExpansionOnEqualLinks) {
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                    CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast}) {
    for (const Communicator& group : ManyGroups()) {
      for (const Bytes size : {Bytes(1), Bytes(7), Bytes(1000), Bytes(1'000'003)}) {
        for (const Bytes chunk : {Bytes(512), Bytes(100'000)}) {
          SCOPED_TRACE(testing::Message() << ToText(kind) << " of " << group.size() << ", " << size.count()
                                          << " B in " << chunk.count());
          const CollectiveRequest request{kind, size, group};
          const CollectivePlan plan = PlanCollective(request);
          const CoupledFlow& first = plan.flows.front();  // the largest
          const std::int64_t coupled = (Volume(first) + FillOf(first, chunk)).count();
          const std::int64_t chunked = TicksOnOwnLinks(ExpandIntoChunks(request, chunk));
          const std::int64_t steps = plan.steps_inside + plan.steps_between;
          ASSERT_GE(chunked + 1, coupled);
          ASSERT_LE(chunked, coupled + (first.path.empty() ? steps : 0));
        }
      }
    }
  }
}

// Loads belong to devices, not to positions in the list.
TEST(Plan, LoadsPortsAlikeWhateverTheOrderOfMembers) {
  for (const auto& [members, per_domain] : {std::pair{24u, 8u}, {63u, 8u}, {13u, 13u}, {24u, 11u}}) {
    const Communicator group = PackedGroup(members, per_domain);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Communicator shuffled = Shuffled(group, seed);
      for (const CollectiveKind kind : kGroupKinds) {
        if (kind == CollectiveKind::kBroadcast) continue;  // its root is another device
        const CollectiveRequest a{kind, 1_MiB, group}, b{kind, 1_MiB, shuffled};
        const PortLoads want = LoadsOf(PlanCollective(a), members);
        const PortLoads got = LoadsOf(PlanCollective(b), members);
        // Crossings too: what leaves a device for another domain.
        std::map<EdgeKey, Wide> out_want, out_got;  // by (domain, rail)
        for (const auto& [edge, load] : NumeratorsByEdge(PlanCollective(a), members)) {
          if (group.domain[edge.first] != group.domain[edge.second]) {
            out_want[{group.domain[edge.first], group.rail[edge.first]}] += load;
          }
        }
        for (const auto& [edge, load] : NumeratorsByEdge(PlanCollective(b), members)) {
          if (shuffled.domain[edge.first] != shuffled.domain[edge.second]) {
            out_got[{shuffled.domain[edge.first], shuffled.rail[edge.first]}] += load;
          }
        }
        EXPECT_TRUE(out_got == out_want) << ToText(kind) << " of " << members << ", seed " << seed;
        for (std::uint32_t i = 0; i < members; ++i) {
          const std::uint32_t device = shuffled.domain[i] * per_domain + shuffled.rail[i];
          EXPECT_TRUE(got.sent[i] == want.sent[device] && got.received[i] == want.received[device]);
        }
      }
    }
  }
}

TEST(Plan, OfOneMemberOrNoBytesIsNothing) {  // HB-106
  for (const CollectiveKind kind : kGroupKinds) {
    for (const CollectiveRequest& request : {CollectiveRequest{kind, 1_GiB, PackedGroup(1, 1)},
                                             CollectiveRequest{kind, 0_B, PackedGroup(8, 4)}}) {
      const CollectivePlan plan = PlanCollective(request);
      EXPECT_TRUE(plan.flows.empty());
      EXPECT_EQ(plan.steps_inside + plan.steps_between, 0u);
      EXPECT_TRUE(ExpandIntoChunks(request, 1_KiB).empty());
    }
  }
}

// NCCL's tuner: (nsteps - nInter) inside + nInter between; nsteps = 2(n-1) and
// nInter = 2(k-1) for all-reduce, half of each for the one-way collectives.
TEST(Plan, CountsStepsAsTheTunerDoes) {
  const auto steps = [](CollectiveKind kind, const Communicator& group) {
    const CollectivePlan plan = PlanCollective({kind, 1_MiB, group});
    return std::pair{plan.steps_inside, plan.steps_between};
  };
  const Communicator nodes = PackedGroup(32, 8), node = PackedGroup(8, 8), rail = PackedGroup(8, 1);
  EXPECT_EQ(steps(CollectiveKind::kAllReduce, nodes), std::pair(62u - 6, 6u));
  EXPECT_EQ(steps(CollectiveKind::kAllGather, nodes), std::pair(31u - 3, 3u));
  EXPECT_EQ(steps(CollectiveKind::kReduceScatter, node), std::pair(7u, 0u));
  EXPECT_EQ(steps(CollectiveKind::kAllReduce, rail), std::pair(0u, 14u));
  // Cut open at member 0, seven of the eight rings come back to its node.
  EXPECT_EQ(steps(CollectiveKind::kBroadcast, nodes), std::pair(31u - 4, 4u));
  EXPECT_EQ(steps(CollectiveKind::kBroadcast, node), std::pair(7u, 0u));
  EXPECT_EQ(steps(CollectiveKind::kAllToAll, nodes), std::pair(0u, 1u));
  EXPECT_EQ(steps(CollectiveKind::kAllToAll, node), std::pair(1u, 0u));
  EXPECT_EQ(steps(CollectiveKind::kSendRecv, PackedGroup(2, 1)), std::pair(0u, 1u));
  EXPECT_EQ(steps(CollectiveKind::kRingShift, PackedGroup(8, 8)), std::pair(1u, 0u));
  EXPECT_EQ(steps(CollectiveKind::kRingShift, PackedGroup(8, 4)), std::pair(0u, 1u));
  EXPECT_EQ(steps(CollectiveKind::kSendRecv, PackedGroup(2, 2)), std::pair(1u, 0u));
}

TEST(Plan, SplitsTheBufferOverTheRailsToTheByte) {
  const CollectivePlan plan = PlanCollective({CollectiveKind::kAllReduce, Bytes(27), PackedGroup(16, 8)});
  ASSERT_EQ(plan.flows.size(), 8u);
  Bytes sum;
  for (const CoupledFlow& flow : plan.flows) {
    EXPECT_TRUE(flow.size == 3_B || flow.size == 4_B);
    EXPECT_EQ(flow.edges.size(), 16u);
    sum += flow.size;
  }
  EXPECT_EQ(sum, 27_B);
  // Three bytes need three channels.
  EXPECT_EQ(PlanCollective({CollectiveKind::kAllReduce, Bytes(3), PackedGroup(16, 8)}).flows.size(), 3u);
}

TEST(Plan, OfBroadcastIsAChain) {
  const CollectivePlan plan = PlanCollective({CollectiveKind::kBroadcast, 10_MiB, PackedGroup(8, 8)});
  ASSERT_EQ(plan.flows.size(), 1u);
  EXPECT_EQ(plan.flows[0].path.size(), plan.flows[0].edges.size());
  EXPECT_EQ(plan.flows[0].edges.size(), 7u);
  EXPECT_EQ(LoopsOf(10_MiB, 1_MiB), 10u);
  EXPECT_EQ(LoopsOf(10_MiB + 1_B, 1_MiB), 11u);
  EXPECT_EQ(LoopsOf(1_B, 1_GiB), 1u);
  EXPECT_TRUE(PlanCollective({CollectiveKind::kAllReduce, 1_MiB, PackedGroup(8, 8)}).flows[0].path.empty());
}

// Where an all-to-all of 8 meets one other connection on a port, max-min
// sharing raises x / share of all flows together until 7 x + y = C: each of the
// eight connections ends with C/8, none with less.
TEST(AllToAllPlan, SharesAPortByConnections) {
  const CollectivePlan plan = PlanCollective({CollectiveKind::kAllToAll, 8_MiB, PackedGroup(8, 8)});
  ASSERT_EQ(plan.flows.size(), 1u);
  const CoupledFlow& flow = plan.flows[0];
  std::int64_t load = 0;  // bytes on the port of member 3 while the flow makes one byte of progress
  for (const EdgeLoad& edge : flow.edges) load += edge.from == 3 ? edge.weight : 0;
  EXPECT_EQ(load, 7);
  const std::int64_t capacity = 8'000, level = capacity / (load * flow.share + 1);
  EXPECT_EQ(level * flow.share, 1'000);  // each pair
  EXPECT_EQ(level, 1'000);               // the bystander
  EXPECT_EQ(Volume(flow), 1_MiB);        // a pair's message: 8 MiB over 8 members
}

// Bytes that each member sends to each other one, by the plan's edges.
std::map<std::pair<std::uint32_t, std::uint32_t>, double> SentBy(const CollectivePlan& plan) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> sent;
  for (const CoupledFlow& flow : plan.flows) {
    const double unit = static_cast<double>(flow.size.count()) * static_cast<double>(flow.numerator) /
                        static_cast<double>(flow.denominator) / flow.weight_denominator;
    for (const EdgeLoad& edge : flow.edges) sent[{edge.from, edge.to}] += unit * edge.weight;
  }
  return sent;
}

TEST(UnevenAllToAll, SendsTheSameBytesAsItsExpansionPairByPair) {
  for (const Uneven uneven : {Uneven::kByReceiver, Uneven::kBySender}) {
    const CollectiveRequest request{.kind = CollectiveKind::kAllToAll,
                                    .size = Bytes(100'003),
                                    .group = PackedGroup(5, 2),
                                    .uneven = uneven,
                                    .parts = {10, 0, 1000, 3, 250}};
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> expanded;
    for (const Transfer& t : ExpandIntoChunks(request, Bytes(999))) {
      expanded[{t.from, t.to}] += static_cast<double>(t.size.count());
    }
    const auto planned = SentBy(PlanCollective(request));
    ASSERT_EQ(planned.size(), expanded.size());
    for (const auto& [edge, bytes] : planned) EXPECT_NEAR(bytes, expanded.at(edge), 1);
    // Member 2 gets (sends) 1000 / 1263 of what each sends (gets); member 1 nothing.
    const auto at = uneven == Uneven::kByReceiver ? std::pair(0u, 2u) : std::pair(2u, 0u);
    EXPECT_NEAR(planned.at(at), 100'003.0 * 1000 / 1263, 1e-6);
    for (const auto& [edge, bytes] : planned) {
      EXPECT_NE(uneven == Uneven::kByReceiver ? edge.second : edge.first, 1u);
    }
  }
}

TEST(UnevenAllToAll, WithEqualPartsIsTheEvenOne) {
  const Communicator group = PackedGroup(6, 3);
  const auto even = SentBy(PlanCollective({CollectiveKind::kAllToAll, 6_MiB, group}));
  for (const Uneven uneven : {Uneven::kByReceiver, Uneven::kBySender}) {
    EXPECT_EQ(SentBy(PlanCollective({.kind = CollectiveKind::kAllToAll,
                                     .size = 6_MiB,
                                     .group = group,
                                     .uneven = uneven,
                                     .parts = std::vector<std::uint32_t>(6, 1000)})),
              even);
  }
}

TEST(AllToAllByNode, CrossesOnRailsAndPassesOnInside) {
  const Communicator group = PackedGroup(16, 4);  // four domains
  const CollectiveRequest request{
      .kind = CollectiveKind::kAllToAllByNode, .size = Bytes(9000), .group = group, .inside = Bytes(3000)};
  std::map<std::uint32_t, double> inside, between;
  for (const auto& [edge, bytes] : SentBy(PlanCollective(request))) {
    const auto [from, to] = edge;
    if (group.domain[from] == group.domain[to]) {
      inside[from] += bytes;
    } else {
      EXPECT_EQ(group.rail[from], group.rail[to]);
      between[from] += bytes;
    }
  }
  for (std::uint32_t member = 0; member < 16; ++member) {
    EXPECT_NEAR(inside[member], 3000, 1e-9);
    EXPECT_NEAR(between[member], 6000, 1e-9);
  }
  std::int64_t expanded = 0;
  for (const Transfer& t : ExpandIntoChunks(request, Bytes(512))) expanded += t.size.count();
  EXPECT_EQ(expanded, 16 * 9000);
}

TEST(CollectiveAlgorithms, ServeAKindOnceEach) {
  std::map<std::pair<CollectiveKind, Algorithm>, int> served;
  std::map<CollectiveKind, Algorithm> first;
  for (const CollectiveAlgorithm& algorithm : CollectiveAlgorithms()) {
    EXPECT_FALSE(algorithm.name.empty());
    for (const CollectiveKind kind : algorithm.kinds) {
      ++served[{kind, algorithm.algorithm}];
      first.emplace(kind, algorithm.algorithm);
    }
  }
  EXPECT_EQ(first.size(), 11u);
  for (const auto& [key, count] : served) EXPECT_EQ(count, 1) << ToText(key.first);
  EXPECT_EQ(first[CollectiveKind::kAllReduce], Algorithm::kRing);
}

TEST(PlanDeathTest, SendRecvBetweenThreeIsOurBug) {
  EXPECT_EXIT(PlanCollective({CollectiveKind::kSendRecv, 1_B, PackedGroup(3, 3)}),
              testing::ExitedWithCode(70), "bug");
  EXPECT_EXIT(PlanCollective({CollectiveKind::kAllReduce, 1_B, {}}), testing::ExitedWithCode(70), "bug");
  EXPECT_EXIT(ExpandIntoChunks({CollectiveKind::kAllReduce, 1_B, PackedGroup(3, 3)}, 0_B),
              testing::ExitedWithCode(70), "bug");
}

}  // namespace
}  // namespace sim
