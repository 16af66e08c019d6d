// The chunk expansions really compute the collectives.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/collective/collective.h"
#include "sim/collective/part_size.h"
#include "tests/sim/collective/groups.h"
#include "tests/sim/collective/replay.h"

namespace sim {
namespace {

// Small enough to replay, with loops that divide and loops that do not.
const Bytes kReplayedSizes[] = {Bytes(1), Bytes(7), Bytes(64), Bytes(1000), Bytes(4099)};
const Bytes kChunks[] = {Bytes(1), Bytes(10), Bytes(64), Bytes(1 << 20)};

// Expands for all groups, sizes and chunks that keep the replay quick.
template <class Check>
void ForAllExpansions(CollectiveKind kind, const Check& check) {
  for (const Communicator& group : ManyGroups()) {
    for (const Bytes size : kReplayedSizes) {
      for (const Bytes chunk : kChunks) {
        const std::int64_t chunks = size.count() / chunk.count();
        if (chunks > 500 || chunks * group.size() > 8'000) continue;  // transfers grow with both
        SCOPED_TRACE(testing::Message() << group.size() << " members, " << size.count()
                                        << " bytes in chunks of " << chunk.count());
        check(group, size, ExpandIntoChunks({kind, size, group}, chunk));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

Contributions Everybody(std::uint32_t members) {
  return members == 64 ? ~Contributions() : Contributions((1ULL << members) - 1);
}

// Every member has its own contribution to every piece.
Replayed EverybodyHoldsItsOwn(const std::vector<Transfer>& transfers) {
  Replayed start;
  for (const Transfer& t : transfers) {
    start.held[{t.from, t.piece}] = Contributions(1ULL << t.from);
    start.held[{t.to, t.piece}] = Contributions(1ULL << t.to);
  }
  return start;
}

// One member has each piece: the first that sends it.
Replayed SendersHoldTheirs(const std::vector<Transfer>& transfers) {
  Replayed start;
  std::set<std::uint32_t> seen;
  for (const Transfer& t : transfers) {
    if (seen.insert(t.piece).second) start.held[{t.from, t.piece}] = Contributions(1ULL << t.from);
  }
  return start;
}

Bytes SumOfPieces(const Replayed& replayed) {
  Bytes sum;
  for (const auto& [piece, size] : replayed.size) sum += size;
  return sum;
}

TEST(AllReduceExpansion, LeavesEveryMemberWithTheSumOfAll) {
  ForAllExpansions(CollectiveKind::kAllReduce,
                   [](const Communicator& group, Bytes size, const auto& transfers) {
                     const Replayed end = Replay(transfers, EverybodyHoldsItsOwn(transfers));
                     ASSERT_EQ(end.error, "");
                     ASSERT_EQ(SumOfPieces(end), size);
                     for (const auto& [piece, ignored] : end.size) {
                       for (std::uint32_t member = 0; member < group.size(); ++member) {
                         const auto held = end.held.find({member, piece});
                         ASSERT_TRUE(held != end.held.end() && held->second == Everybody(group.size()))
                             << "member " << member << " piece " << piece;
                       }
                     }
                   });
}

TEST(AllGatherExpansion, LeavesEveryMemberWithEveryPiece) {
  ForAllExpansions(
      CollectiveKind::kAllGather, [](const Communicator& group, Bytes size, const auto& transfers) {
        const Replayed start = SendersHoldTheirs(transfers);
        const Replayed end = Replay(transfers, start);
        ASSERT_EQ(end.error, "");
        ASSERT_EQ(SumOfPieces(end), size);
        ASSERT_EQ(end.held.size(), end.size.size() * group.size());  // all pieces everywhere
        // Each member brings size/n, up to a byte for each of the rings.
        std::map<std::uint32_t, Bytes> brought;
        for (const auto& [key, contributions] : start.held) brought[key.first] += end.size.at(key.second);
        for (const auto& [member, bytes] : brought) {
          ASSERT_LT((static_cast<std::int64_t>(group.size()) * bytes - size).count(), 8 * group.size());
        }
      });
}

TEST(ReduceScatterExpansion, LeavesEachPieceReducedOnOneMember) {
  ForAllExpansions(
      CollectiveKind::kReduceScatter, [](const Communicator& group, Bytes size, const auto& transfers) {
        const Replayed end = Replay(transfers, EverybodyHoldsItsOwn(transfers));
        ASSERT_EQ(end.error, "");
        ASSERT_EQ(SumOfPieces(end), size);
        std::map<std::uint32_t, int> owners;   // by piece
        std::map<std::uint32_t, Bytes> owned;  // by member
        for (const auto& [key, contributions] : end.held) {
          if (contributions != Everybody(group.size())) continue;
          ++owners[key.second];
          owned[key.first] += end.size.at(key.second);
        }
        ASSERT_EQ(owners.size(), end.size.size());
        for (const auto& [piece, count] : owners) ASSERT_EQ(count, 1) << "piece " << piece;
        for (const auto& [member, bytes] : owned) {
          ASSERT_LT((static_cast<std::int64_t>(group.size()) * bytes - size).count(), 8 * group.size());
        }
      });
}

// Member i keeps block i of a reduce-scatter and brings block i of an
// all-gather, as MPI and NCCL number them: 12 bytes over 4 in one loop of 3 each.
TEST(ReduceScatterAndAllGatherExpansion, GiveMemberIBlockI) {
  const auto scatter =
      ExpandIntoChunks({CollectiveKind::kReduceScatter, Bytes(12), PackedGroup(4, 4)}, Bytes(3));
  const Replayed end = Replay(scatter, EverybodyHoldsItsOwn(scatter));
  const auto gather = ExpandIntoChunks({CollectiveKind::kAllGather, Bytes(12), PackedGroup(4, 4)}, Bytes(3));
  const Replayed start = SendersHoldTheirs(gather);
  for (std::uint32_t member = 0; member < 4; ++member) {
    EXPECT_EQ(end.held.at({member, member}), Everybody(4)) << member;
    EXPECT_TRUE(start.held.contains({member, member})) << member;
  }
}

TEST(BroadcastExpansion, BringsAllOfTheRootsBytesToEveryMember) {
  ForAllExpansions(CollectiveKind::kBroadcast,
                   [](const Communicator& group, Bytes size, const auto& transfers) {
                     const Replayed end = Replay(transfers, SendersHoldTheirs(transfers));
                     ASSERT_EQ(end.error, "");
                     ASSERT_EQ(SumOfPieces(end), size);
                     ASSERT_EQ(end.held.size(), end.size.size() * group.size());
                     for (const auto& [key, contributions] : end.held)
                       ASSERT_EQ(contributions, Contributions(1));  // member 0's
                   });
}

TEST(AllToAllExpansion, CarriesOneMessageFromEachToEachOther) {
  ForAllExpansions(
      CollectiveKind::kAllToAll, [](const Communicator& group, Bytes size, const auto& transfers) {
        const Replayed end = Replay(transfers, SendersHoldTheirs(transfers));
        ASSERT_EQ(end.error, "");
        const std::uint32_t n = group.size();
        std::map<EdgeKey, Bytes> messages;
        std::map<std::uint32_t, Bytes> sent, received;
        std::set<std::uint32_t> pieces;
        for (const Transfer& t : transfers) {
          ASSERT_NE(t.from, t.to);
          ASSERT_TRUE(pieces.insert(t.piece).second) << "a piece is sent twice";
          messages[{t.from, t.to}] += t.size;
          sent[t.from] += t.size;
          received[t.to] += t.size;
        }
        for (std::uint32_t a = 0; a < n; ++a) {
          // All but the smallest part, which stays.
          ASSERT_EQ(sent[a], size - Bytes(size.count() / n));
          ASSERT_EQ(received[a], sent[a]);
          for (std::uint32_t b = 0; b < n; ++b) {
            if (a == b) continue;
            const std::int64_t surplus = n * messages[{a, b}].count() - size.count();  // over size/n, times n
            ASSERT_LT(surplus, n);
            ASSERT_GT(surplus, -std::int64_t{n});
          }
        }
      });
}

TEST(SendRecvExpansion, SendsTheMessageInOrder) {
  const auto transfers =
      ExpandIntoChunks({CollectiveKind::kSendRecv, Bytes(25), PackedGroup(2, 1)}, Bytes(10));
  ASSERT_EQ(transfers.size(), 3u);
  EXPECT_EQ(transfers[0].size, Bytes(10));
  EXPECT_EQ(transfers[2].size, Bytes(5));
  EXPECT_EQ(transfers[2].after, std::vector<std::uint32_t>{1});
  EXPECT_EQ(transfers[2].from, 0u);
  EXPECT_EQ(transfers[2].to, 1u);
}

TEST(RingShiftExpansion, BringsEveryMessageToTheNextMember) {
  ForAllExpansions(CollectiveKind::kRingShift,
                   [](const Communicator& group, Bytes size, const auto& transfers) {
                     const Replayed end = Replay(transfers, SendersHoldTheirs(transfers));
                     ASSERT_EQ(end.error, "");
                     std::map<EdgeKey, Bytes> messages;
                     for (const Transfer& t : transfers) messages[{t.from, t.to}] += t.size;
                     ASSERT_EQ(messages.size(), group.size());
                     for (const auto& [edge, bytes] : messages) {
                       ASSERT_EQ(edge.second, (edge.first + 1) % group.size());
                       ASSERT_EQ(bytes, size);
                     }
                     // All edges work at once, each without a pause.
                     ASSERT_EQ(TicksOnOwnLinks(transfers), size.count());
                   });
}

// Channels are in order: no transfer overtakes another one of its ring on an
// edge. With one ring that is every transfer of the edge.
TEST(RingExpansion, KeepsTheOrderOnEveryEdge) {
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                    CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast}) {
    const auto transfers = ExpandIntoChunks({kind, Bytes(1000), PackedGroup(5, 5)}, Bytes(30));
    std::map<EdgeKey, std::uint32_t> last;
    for (std::uint32_t i = 0; i < transfers.size(); ++i) {
      const Transfer& t = transfers[i];
      const auto [entry, is_first] = last.try_emplace({t.from, t.to}, i);
      if (is_first) continue;
      EXPECT_NE(std::find(t.after.begin(), t.after.end(), entry->second), t.after.end()) << ToText(kind) << i;
      entry->second = i;
    }
  }
}

// Three members, 8 bytes, chunks of 2: a loop of 2+2+2 bytes and one of 1+1+0.
// Two steps of reduce-scatter and two of all-gather; the empty part is not sent.
TEST(AllReduceExpansion, IsTheRingOfThePaper) {
  const auto transfers =
      ExpandIntoChunks({CollectiveKind::kAllReduce, Bytes(8), PackedGroup(3, 3)}, Bytes(2));
  std::string text;
  for (const Transfer& t : transfers) {
    text += std::to_string(t.from) + (t.reduces ? "+" : ">") + std::to_string(t.to) + ":" +
            std::to_string(t.piece) + "(" + std::to_string(t.size.count()) + ") ";
  }
  EXPECT_EQ(text,
            "0+1:0(2) 1+2:1(2) 2+0:2(2) "  // each starts with the part of its own number
            "0+1:2(2) 1+2:0(2) 2+0:1(2) "  // and passes on what it got
            "0>1:1(2) 1>2:2(2) 2>0:0(2) "  // now whole: 1 on member 0, 2 on 1, 0 on 2
            "0>1:0(2) 1>2:1(2) 2>0:2(2) "
            "0+1:3(1) 1+2:4(1) "
            "1+2:3(1) 2+0:4(1) "
            "0>1:4(1) 2>0:3(1) "
            "0>1:3(1) 1>2:4(1) ");
}

}  // namespace
}  // namespace sim
