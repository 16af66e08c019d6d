// Trees, NVLS, NVLSTree, PAT, reduce, gather and scatter: their chunk expansions bring the right data to the
// right members, and their plans load every edge as the expansions do.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/collective/double_tree.h"
#include "tests/sim/collective/groups.h"
#include "tests/sim/collective/replay.h"

namespace sim {
namespace {

// Of one chunk expansion: bytes by edge; a switch is one for each domain.
std::map<EdgeKey, Wide> BytesByEdge(const std::vector<Transfer>& transfers) {
  std::map<EdgeKey, Wide> bytes;
  for (const Transfer& t : transfers) bytes[{t.from, t.to}] += t.size.count();
  return bytes;
}

// Moves the data. A switch holds what came up last for a piece, or adds up what comes to be reduced; whoever
// reads it must wait for all of that. Returns the error, or what members hold.
struct Moved {
  std::string error;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Contributions> held;  // by (member, piece)
};

Moved Move(const std::vector<Transfer>& transfers, const Communicator& group,
           std::map<std::pair<std::uint32_t, std::uint32_t>, Contributions> held) {
  struct Switch {
    Contributions sum;
    std::set<std::uint32_t> writers;
    bool read = false;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Switch>
      switches;  // domain, piece, channel
  // What a copy was made by: the last that took its place, and all that was added since.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> written_by;
  Moved moved;
  for (std::uint32_t i = 0; i < transfers.size(); ++i) {
    const Transfer& t = transfers[i];
    const std::set<std::uint32_t> after(t.after.begin(), t.after.end());
    const auto fail = [&](const char* what) { moved.error = "transfer " + std::to_string(i) + ": " + what; };
    if (t.size <= Bytes(0)) return fail("sends nothing"), moved;
    const auto waits_for = [&](std::uint32_t member) {
      const std::set<std::uint32_t>& writers = written_by[{member, t.piece}];
      return std::includes(after.begin(), after.end(), writers.begin(), writers.end());
    };
    Contributions sent;
    if (t.from == kNvSwitch) {
      Switch& at = switches[{group.domain[t.to], t.piece, t.channel}];
      for (const std::uint32_t writer : at.writers) {
        if (!after.contains(writer)) return fail("does not wait for what comes up to the switch"), moved;
      }
      sent = at.sum;
      at.read = true;
    } else {
      if (!held.contains({t.from, t.piece})) return fail("sends what it does not have"), moved;
      if (!waits_for(t.from)) return fail("does not wait for what it sends"), moved;
      sent = held[{t.from, t.piece}];
    }
    if (t.to == kNvSwitch) {
      Switch& at = switches[{group.domain[t.from], t.piece, t.channel}];
      if (at.read || !t.reduces) at = {};
      if ((at.sum & sent).any()) return fail("adds something twice"), moved;
      at.sum |= sent;
      at.writers.insert(i);
      continue;
    }
    Contributions& own = held[{t.to, t.piece}];
    if (t.reduces && (own & sent).any()) return fail("adds something twice"), moved;
    own = t.reduces ? own | sent : sent;
    if (!t.reduces) written_by[{t.to, t.piece}].clear();
    written_by[{t.to, t.piece}].insert(i);
  }
  moved.held = std::move(held);
  return moved;
}

struct Case {
  Algorithm algorithm;
  CollectiveKind kind;
};
constexpr Case kCases[] = {
    {Algorithm::kTree, CollectiveKind::kAllReduce},     {Algorithm::kNvls, CollectiveKind::kAllReduce},
    {Algorithm::kNvls, CollectiveKind::kAllGather},     {Algorithm::kNvls, CollectiveKind::kReduceScatter},
    {Algorithm::kNvlsTree, CollectiveKind::kAllReduce}, {Algorithm::kPat, CollectiveKind::kAllGather},
    {Algorithm::kPat, CollectiveKind::kReduceScatter},  {Algorithm::kRing, CollectiveKind::kReduce},
    {Algorithm::kRing, CollectiveKind::kBroadcast}};

using Dimensions = std::vector<Dimension>;
constexpr auto kRing = DimensionAlgorithm::kRing, kOneWayRing = DimensionAlgorithm::kOneWayRing,
               kDirect = DimensionAlgorithm::kDirect;

// Grids of members: lines of two, of one, of all algorithms.
std::vector<Dimensions> Grids() {
  return {{},
          {{12, kOneWayRing}},
          {{12, kDirect}},
          {{4, kRing}, {3, kRing}},
          {{3, kDirect}, {4, kDirect}},
          {{2, kRing}, {3, kOneWayRing}, {2, kDirect}},
          {{1, kRing}, {6, kDirect}, {2, kOneWayRing}}};
}

template <typename Check>
void ForAllGrids(const Check& check) {
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    for (const Dimensions& grid : Grids()) {
      for (const auto& [size, chunk] :
           {std::pair{Bytes(1), Bytes(512)}, {Bytes(1000), Bytes(37)}, {Bytes(10'007), Bytes(512)}}) {
        CollectiveRequest request{kind, size, PackedGroup(12, 4)};
        request.algorithm = Algorithm::kByDimension;
        request.dimensions = grid;
        SCOPED_TRACE(testing::Message()
                     << ToText(kind) << ", " << size.count() << " B, grid of " << grid.size());
        check(request, ExpandIntoChunks(request, chunk));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

template <typename Check>
void ForAll(const Check& check) {
  ForAllGrids(check);
  if (testing::Test::HasFatalFailure()) return;
  std::vector<Communicator> groups = ManyGroups();
  groups.push_back(PackedGroup(24, 8));
  groups.push_back(PackedGroup(12, 3));
  groups.push_back(PackedGroup(5, 1));
  groups.push_back(PackedGroup(16, 1));
  for (const Case& one : kCases) {
    for (const Communicator& group : groups) {
      if (!Serves(one.algorithm, one.kind, group)) continue;
      for (const auto& [size, chunk] :
           {std::pair{Bytes(1), Bytes(512)}, {Bytes(1000), Bytes(7)}, {Bytes(10'007), Bytes(512)}}) {
        CollectiveRequest request{one.kind, size, group};
        request.algorithm = one.algorithm;
        SCOPED_TRACE(testing::Message() << ToText(one.algorithm) << ' ' << ToText(one.kind) << " of "
                                        << group.size() << ", " << size.count() << " B in " << chunk.count());
        check(request, ExpandIntoChunks(request, chunk));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Expansion, BringsTheRightDataToTheRightMembersByEveryAlgorithm) {
  ForAll([](const CollectiveRequest& request, const std::vector<Transfer>& transfers) {
    const std::uint32_t n = request.group.size();
    std::map<std::uint32_t, Bytes> size_of;
    for (const Transfer& t : transfers) size_of.emplace(t.piece, t.size);
    const bool gathers =
        request.kind == CollectiveKind::kAllGather || request.kind == CollectiveKind::kBroadcast;
    // Who starts with a piece: of what is added up everybody, of what is gathered its owner, who sends it
    // first.
    std::map<std::uint32_t, std::uint32_t> owner;
    for (const Transfer& t : transfers) {
      if (t.from != kNvSwitch) owner.emplace(t.piece, t.from);
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, Contributions> start;
    for (const auto& [piece, size] : size_of) {
      for (std::uint32_t member = 0; member < n; ++member) {
        if (!gathers || owner[piece] == member) start[{member, piece}] = Contributions{}.set(member);
      }
    }
    const Moved moved = Move(transfers, request.group, start);
    ASSERT_EQ(moved.error, "");
    Contributions all;
    for (std::uint32_t member = 0; member < n; ++member) all.set(member);
    std::int64_t bytes = 0;
    for (const auto& [piece, size] : size_of) {
      bytes += size.count();
      std::uint32_t whole = 0;
      for (std::uint32_t member = 0; member < n; ++member) {
        const auto held = moved.held.find({member, piece});
        if (held == moved.held.end()) continue;
        whole += held->second == (gathers ? Contributions{}.set(owner[piece]) : all) ? 1 : 0;
      }
      const bool on_one =
          request.kind == CollectiveKind::kReduceScatter || request.kind == CollectiveKind::kReduce;
      if (on_one) {
        ASSERT_GE(whole, 1u) << "piece " << piece;
      } else {
        ASSERT_EQ(whole, n) << "piece " << piece;
      }
    }
    ASSERT_EQ(bytes, request.size.count());
  });
}

// An expansion's parts differ by a byte from loop to loop, so edges may differ by as many.
TEST(Plan, LoadsEveryEdgeAsItsExpansionDoesByEveryAlgorithm) {
  ForAll([](const CollectiveRequest& request, const std::vector<Transfer>& transfers) {
    const CollectivePlan plan = PlanCollective(request);
    std::map<EdgeKey, double> wanted;
    for (const CoupledFlow& flow : plan.flows) {
      for (const EdgeLoad& edge : flow.edges) {
        wanted[{edge.from, edge.to}] += static_cast<double>(flow.size.count()) *
                                        static_cast<double>(flow.numerator) * edge.weight /
                                        static_cast<double>(flow.denominator) / flow.weight_denominator;
      }
    }
    const auto got = BytesByEdge(transfers);
    const double slack = static_cast<double>(transfers.size()) / 4 + 2;
    for (const auto& [edge, bytes] : wanted) {
      const auto found = got.find(edge);
      ASSERT_NEAR(found == got.end() ? 0.0 : static_cast<double>(found->second), bytes, slack)
          << edge.first << " -> " << edge.second;
    }
    for (const auto& [edge, bytes] : got) ASSERT_TRUE(wanted.contains(edge));
  });
}

// A buffer has 8 steps: two chunks of a ring, eight of a tree. Over 2 -> 1 -> 0 the first edge waits for what
// the second has passed on.
TEST(Expansion, IsAheadOfWhatIsPassedOnByABufferAtMost) {
  for (const auto& [algorithm, kind, slots] :
       {std::tuple{Algorithm::kRing, CollectiveKind::kBroadcast, std::size_t{2}},
        {Algorithm::kTree, CollectiveKind::kAllReduce, std::size_t{8}}}) {
    CollectiveRequest request{kind, Bytes(2000), PackedGroup(3, 3)};
    request.algorithm = algorithm;
    const std::vector<Transfer> transfers = ExpandIntoChunks(request, Bytes(100));
    // The two edges of the first piece, in the order in which it takes them.
    const Transfer& first = transfers[0];
    std::vector<std::uint32_t> before, behind;
    for (std::uint32_t i = 0; i < transfers.size(); ++i) {
      if (transfers[i].from == first.from && transfers[i].to == first.to) before.push_back(i);
      if (transfers[i].from == first.to && transfers[i].to != first.from) behind.push_back(i);
    }
    ASSERT_EQ(before.size(), 20u);
    ASSERT_EQ(behind.size(), 20u);
    for (std::size_t chunk = 0; chunk < 20; ++chunk) {
      const std::vector<std::uint32_t>& after = transfers[before[chunk]].after;
      for (std::size_t passed = 0; passed < chunk; ++passed) {
        EXPECT_EQ(std::find(after.begin(), after.end(), behind[passed]) != after.end(),
                  passed + slots == chunk)
            << ToText(algorithm) << ": chunk " << chunk << " and " << passed;
      }
    }
  }
}

// Sanders, Speck and Traeff: every node but two is a leaf of one tree at most and inside the other, so
// no node has more than two children in either, and both trees are logarithmic.
TEST(DoubleTree, SharesTheInnerNodesOutAndIsLow) {
  for (std::uint32_t nodes = 1; nodes <= 300; ++nodes) {
    std::vector<int> inner(nodes, 0);
    for (const TreeParents& parents : {BinaryTree(nodes), CompanionTree(nodes)}) {
      std::vector<int> children(nodes, 0);
      std::uint32_t roots = 0;
      for (std::uint32_t node = 0; node < nodes; ++node) {
        ASSERT_LT(parents[node], nodes);
        if (parents[node] == node) ++roots;
        if (parents[node] != node) ++children[parents[node]];
        std::uint32_t depth = 0;
        for (std::uint32_t at = node; parents[at] != at; at = parents[at]) ASSERT_LE(++depth, 10u) << nodes;
      }
      ASSERT_EQ(roots, 1u);
      for (std::uint32_t node = 0; node < nodes; ++node) {
        ASSERT_LE(children[node], 2) << node << " of " << nodes;
        inner[node] += children[node] > 0 ? 1 : 0;
      }
    }
    int in_both = 0;
    for (const int count : inner) in_both += count == 2 ? 1 : 0;
    ASSERT_LE(in_both, nodes % 2 == 0 ? 0 : 1) << nodes;
  }
}

// NCCL's numbering for 8 nodes: 4 below 0; 2 and 6 below 4; the odd ones are leaves.
TEST(DoubleTree, IsNumberedAsNcclNumbersIt) {
  EXPECT_EQ(BinaryTree(8), (TreeParents{0, 2, 4, 2, 0, 6, 4, 6}));
  EXPECT_EQ(CompanionTree(8), (TreeParents{1, 3, 1, 7, 5, 3, 5, 7}));
  EXPECT_EQ(BinaryTree(6), (TreeParents{0, 2, 4, 2, 0, 4}));
}

TEST(Plan, OfNvlsCarriesTheBufferAndOneSliceMoreThroughEachPort) {
  CollectiveRequest request{CollectiveKind::kAllReduce, Bytes(8000), PackedGroup(8, 8)};
  request.algorithm = Algorithm::kNvls;
  const CoupledFlow flow = PlanCollective(request).flows.at(0);
  // 8000 + 8000 / 8 up and down.
  EXPECT_EQ(flow.size.count() * flow.numerator / flow.denominator, 9000);
  for (const EdgeLoad& edge : flow.edges) EXPECT_EQ(edge.weight, flow.weight_denominator);
  request.kind = CollectiveKind::kAllGather;
  const CoupledFlow gather = PlanCollective(request).flows.at(0);
  EXPECT_EQ(gather.size.count() * gather.numerator / gather.denominator, 8000);
  EXPECT_EQ(gather.edges[0].weight * 8, gather.edges[1].weight);  // up a slice, down the buffer
}

// Of 64 members in a 4 x 4 x 4 grid with a size S: rings both ways carry 3/4 S, then 3/16 and 3/64, a half
// each way and twice; the busiest edges 3/4 S, so that is the volume, and the others 1/4 and 1/16 of it.
// One-way rings carry twice that; directly 1/4 S a peer, twice.
TEST(Plan, ByDimensionLoadsTheFirstDimensionMost) {
  CollectiveRequest request{CollectiveKind::kAllReduce, Bytes(6400), PackedGroup(64, 1)};
  request.algorithm = Algorithm::kByDimension;
  for (const auto& [algorithm, volume, edges] :
       {std::tuple{kRing, 4800, 6u}, {kOneWayRing, 9600, 3u}, {kDirect, 3200, 9u}}) {
    request.dimensions = Dimensions(3, {4, algorithm});
    const CollectivePlan plan = PlanCollective(request);
    const CoupledFlow& flow = plan.flows.at(0);
    EXPECT_EQ(flow.size.count() * flow.numerator / flow.denominator, volume);
    EXPECT_EQ(flow.edges.size(), 64u * edges);
    EXPECT_EQ(flow.edges.front().weight, flow.weight_denominator);
    EXPECT_EQ(flow.edges[64 * edges / 3].weight * 4, flow.weight_denominator);
    EXPECT_EQ(flow.edges.back().weight * 16, flow.weight_denominator);
    EXPECT_EQ(plan.steps_between, algorithm == kDirect ? 6u : 18u);
    EXPECT_EQ(plan.steps_inside, 0u);
  }
}

TEST(Plan, OfTreeCountsStepsAsTheTunerDoes) {
  const auto steps = [](const Communicator& group) {
    CollectiveRequest request{CollectiveKind::kAllReduce, Bytes(1 << 20), group};
    request.algorithm = Algorithm::kTree;
    const CollectivePlan plan = PlanCollective(request);
    return std::pair(plan.steps_inside, plan.steps_between);
  };
  EXPECT_EQ(steps(PackedGroup(8, 8)), std::pair(14u, 0u));
  EXPECT_EQ(steps(PackedGroup(64, 8)), std::pair(14u, 6u));
  EXPECT_EQ(steps(PackedGroup(48, 8)), std::pair(14u, 4u));  // log2(6), rounded down
}

TEST(Serves, WhatNcclHasNoAlgorithmFor) {
  EXPECT_FALSE(Serves(Algorithm::kNvls, CollectiveKind::kAllReduce, PackedGroup(2, 2)));
  EXPECT_FALSE(Serves(Algorithm::kNvls, CollectiveKind::kAllReduce, PackedGroup(16, 8)));
  EXPECT_FALSE(Serves(Algorithm::kNvlsTree, CollectiveKind::kAllReduce, PackedGroup(15, 8)));
  EXPECT_FALSE(Serves(Algorithm::kPat, CollectiveKind::kAllGather, PackedGroup(16, 8)));
  EXPECT_FALSE(Serves(Algorithm::kPat, CollectiveKind::kAllReduce, PackedGroup(16, 1)));
  EXPECT_FALSE(Serves(Algorithm::kCollNetChain, CollectiveKind::kAllReduce, PackedGroup(16, 8)));
}

TEST(GatherAndScatter, MoveAllPartsButTheRootsThroughItsPort) {
  for (const CollectiveKind kind : {CollectiveKind::kGather, CollectiveKind::kScatter}) {
    const CollectiveRequest request{kind, Bytes(8000), PackedGroup(8, 8)};
    std::int64_t bytes = 0;
    for (const Transfer& t : ExpandIntoChunks(request, Bytes(300))) {
      EXPECT_EQ(kind == CollectiveKind::kGather ? t.to : t.from, 0u);
      bytes += t.size.count();
    }
    EXPECT_EQ(bytes, 7000);
    const CoupledFlow flow = PlanCollective(request).flows.at(0);
    EXPECT_EQ(flow.edges.size(), 7u);
    EXPECT_EQ(flow.size.count() * flow.numerator / flow.denominator, 1000);
  }
}

}  // namespace
}  // namespace sim
