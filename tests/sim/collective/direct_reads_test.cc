// All-reduces by direct reads: the expansions bring everything everywhere, and the plans carry as much.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/sim/collective/groups.h"
#include "tests/sim/collective/replay.h"

namespace sim {
namespace {

using namespace sim::literals;

constexpr Algorithm kBoth[] = {Algorithm::kOneShot, Algorithm::kTwoShot};

CollectiveRequest Request(Algorithm algorithm, Bytes size, std::uint32_t members) {
  CollectiveRequest request{CollectiveKind::kAllReduce, size, PackedGroup(members, members)};
  request.algorithm = algorithm;
  return request;
}

// Buffers are not written to; a sum begins as its member's own part. Whoever reads a sum must wait for all
// that is added to it.
struct Memory {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> sum;  // by (member, piece): a bit a member
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> writers;
  std::map<std::uint32_t, Bytes> size;  // by piece
};

Memory Play(const std::vector<Transfer>& transfers) {
  Memory memory;
  for (std::uint32_t i = 0; i < transfers.size(); ++i) {
    const Transfer& t = transfers[i];
    EXPECT_GT(t.size, 0_B);
    EXPECT_EQ(memory.size.try_emplace(t.piece, t.size).first->second, t.size);
    const auto at = std::pair(t.to, t.piece);
    if (t.reduces) {
      std::uint64_t& sum = memory.sum.try_emplace(at, 1ULL << t.to).first->second;
      EXPECT_EQ(sum & 1ULL << t.from, 0u) << "adds something twice";
      sum |= 1ULL << t.from;
    } else {
      const auto from = std::pair(t.from, t.piece);
      EXPECT_EQ(std::set(t.after.begin(), t.after.end()), memory.writers[from]) << "reads half a sum";
      memory.sum[at] = memory.sum[from];
    }
    memory.writers[at].insert(i);
  }
  return memory;
}

TEST(DirectReads, BringTheSumOfAllToAll) {
  for (const Algorithm algorithm : kBoth) {
    for (const std::uint32_t members : {2u, 3u, 6u, 8u}) {
      for (const Bytes size : {1_B, 7_B, 1000_B, Bytes(10'007)}) {
        SCOPED_TRACE(testing::Message() << ToText(algorithm) << ' ' << members << ' ' << size.count());
        const Memory memory = Play(ExpandIntoChunks(Request(algorithm, size, members), 512_B));
        Bytes all;
        for (const auto& [piece, bytes] : memory.size) {
          all += bytes;
          for (std::uint32_t member = 0; member < members; ++member) {
            const auto sum = memory.sum.find({member, piece});
            ASSERT_NE(sum, memory.sum.end());
            EXPECT_EQ(sum->second, (1ULL << members) - 1);
          }
        }
        EXPECT_EQ(all, size);
      }
    }
  }
}

// One shot: S over each pair. Two shots: 2 S / n, up to a byte a step where parts differ.
TEST(DirectReads, CarryOverEachPairWhatTheirPlansSay) {
  for (const std::uint32_t members : {2u, 5u, 8u}) {
    const Bytes size(100'003);
    for (const Algorithm algorithm : kBoth) {
      const CollectiveRequest request = Request(algorithm, size, members);
      const CollectivePlan plan = PlanCollective(request);
      const bool one = algorithm == Algorithm::kOneShot;
      EXPECT_EQ(plan.steps_inside, one ? 1u : 2u);
      EXPECT_EQ(plan.steps_between, 0u);
      ASSERT_EQ(plan.flows.size(), 1u);
      EXPECT_EQ(plan.flows[0].edges.size(), std::size_t{members} * (members - 1));
      const double pair = one ? 100'003.0 : 2 * 100'003.0 / members;
      EXPECT_NEAR(100'003.0 * static_cast<double>(plan.flows[0].numerator) /
                      static_cast<double>(plan.flows[0].denominator),
                  pair, 1e-9);
      std::map<EdgeKey, std::int64_t> carried;
      for (const Transfer& t : ExpandIntoChunks(request, 999_B)) carried[{t.from, t.to}] += t.size.count();
      EXPECT_EQ(carried.size(), plan.flows[0].edges.size());
      for (const auto& [edge, bytes] : carried) EXPECT_NEAR(static_cast<double>(bytes), pair, one ? 0 : 2);
    }
  }
}

TEST(DirectReads, AreOfOneDomainAndOfAllReduceAlone) {
  for (const Algorithm algorithm : kBoth) {
    EXPECT_TRUE(Serves(algorithm, CollectiveKind::kAllReduce, PackedGroup(8, 8)));
    EXPECT_FALSE(Serves(algorithm, CollectiveKind::kAllReduce, PackedGroup(8, 4)));
    EXPECT_FALSE(Serves(algorithm, CollectiveKind::kAllGather, PackedGroup(8, 8)));
  }
}

}  // namespace
}  // namespace sim
