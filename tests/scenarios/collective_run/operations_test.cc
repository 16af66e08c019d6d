#include "scenarios/collective_run/operations.h"

#include <gmock/gmock.h>

#include "scenarios/collective_run/operations_play.h"
#include "scenarios/collective_run/rank_list.h"
#include "sim/base/random.h"
#include "tests/scenarios/collective_run/clusters.h"

namespace scenarios {
namespace {

using sim::Duration;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace sim::literals;

OperationList Parsed(const std::string& text, std::uint32_t ranks = 8) {
  OperationList list = ParseOperations(text, "ranks.txt", ranks);
  EXPECT_THAT(list.errors, IsEmpty());
  return list;
}
std::vector<std::string> DeadlocksOf(const std::string& text) {
  return CheckOperations(Parsed(text)).deadlocks;
}

TEST(ParseOperations, TellsEveryMistakeWithItsLine) {
  const OperationList list = ParseOperations(
      "# a comment, and a blank line\n\n"
      "all_reduce 1M\n"
      "rank 9: all_reduce 1M\n"
      "rank 0: all_reduc 1M\n"
      "rank 0: all_reduce\n"
      "rank 0: all_reduce 2T\n"
      "rank 0: all_reduce 1M grup 0-1\n"
      "rank 0: all_reduce 1M group 0-9\n"
      "rank 0: all_reduce 1M group 1-2\n"
      "rank 0: all_reduce 1M root 0\n"
      "rank 0: broadcast 1M group 0-1 root 2\n"
      "rank 0: send 1M\n"
      "rank 0: send 1M from 1\n"
      "rank 0-1: recv 1M from 1\n",
      "ranks.txt", 8);
  EXPECT_THAT(
      list.errors,
      ElementsAre("ranks.txt:3: begins with no rank; rank 0-7: all_reduce 64M group 0-7 is how a line looks",
                  "ranks.txt:4: rank 9 is not there; ranks from 0 to 7 are",
                  testing::StartsWith("ranks.txt:5: \"all_reduc\" is no collective; one of all_reduce, "),
                  "ranks.txt:6: no operation; a kind and a size are wanted, as all_reduce 64M",
                  "ranks.txt:7: \"2T\" is out of range; 0 to 1T would do",
                  "ranks.txt:8: \"grup\": group RANKS, root RANK or stream NAME are wanted here, each once",
                  "ranks.txt:9: group: rank 9 is not there; ranks from 0 to 7 are",
                  "ranks.txt:10: rank 0 is not of the group 1-2 in which it issues all_reduce",
                  "ranks.txt:11: root 0: all_reduce has none; leave it out",
                  "ranks.txt:12: root 2 is no rank of the group; one of 0-1 would do",
                  "ranks.txt:13: to \"\" is no rank; one from 0 to 7 would do",
                  "ranks.txt:14: \"from\": to RANK or stream NAME are wanted here, each once",
                  "ranks.txt:15: rank 1 is on both ends; two ranks are wanted"));
  EXPECT_THAT(ParseOperations("# nothing\n", "ranks.txt", 8).errors,
              ElementsAre("ranks.txt: no operation; rank 0-7: all_reduce 64M is how a line looks"));
}

// HB-104: 1,024 and 512 elements of four bytes. Source: NVIDIA/nccl#1417, #531, #296.
TEST(CheckOperations, NamesBothRanksTheTurnAndTheSizesThatDiffer) {
  EXPECT_THAT(
      DeadlocksOf("rank 0: all_reduce 4096 group 0-1\n"
                  "rank 0: all_gather 4096 group 0-1\n"
                  "rank 1: all_reduce 2048 group 0-1\n"
                  "rank 1: all_gather 4096 group 0-1\n"),
      ElementsAre("ranks.txt:3: deadlock: operation 0 of group 0-1: rank 0 issues all_reduce of 4096 bytes "
                  "(line 1), rank 1 issues all_reduce of 2048 bytes (line 3); all members must issue the "
                  "same"));
}

// HB-104, the order swapped.
TEST(CheckOperations, NamesBothRanksTheTurnAndTheKindsThatDiffer) {
  EXPECT_THAT(
      DeadlocksOf("rank 0: all_reduce 4096 group 0-1\n"
                  "rank 0: all_gather 4096 group 0-1\n"
                  "rank 1: all_gather 4096 group 0-1\n"
                  "rank 1: all_reduce 4096 group 0-1\n"),
      ElementsAre("ranks.txt:3: deadlock: operation 0 of group 0-1: rank 0 issues all_reduce of 4096 bytes "
                  "(line 1), rank 1 issues all_gather of 4096 bytes (line 3); all members must issue the "
                  "same"));
}

TEST(CheckOperations, NamesRootsThatDiffer) {
  EXPECT_THAT(
      DeadlocksOf("rank 0: broadcast 8 group 0-1 root 0\nrank 1: broadcast 8 group 0-1 root 1\n"),
      ElementsAre("ranks.txt:2: deadlock: operation 0 of group 0-1: rank 0 issues broadcast of 8 bytes from "
                  "root 0 (line 1), rank 1 issues broadcast of 8 bytes from root 1 (line 2); all members "
                  "must issue the same"));
}

TEST(CheckOperations, NamesWhoNeverComes) {
  EXPECT_THAT(
      DeadlocksOf("rank 0-2: all_reduce 1K group 0-3\nrank 3: all_reduce 1K group 3,2\n"),
      ElementsAre("ranks.txt:1: deadlock: ranks 0-2 wait in operation 0 of group 0-3, all_reduce of 1024 "
                  "bytes, for rank 3, which never issues it",
                  "ranks.txt:2: deadlock: rank 3 waits in operation 0 of group 3,2, all_reduce of 1024 "
                  "bytes, for rank 2, which never issues it"));
}

// Two orders of two ranks are two communicators; who writes both most likely meant one.
TEST(CheckOperations, NamesAGroupInAnotherOrder) {
  EXPECT_THAT(
      DeadlocksOf("rank 0: all_reduce 8K group 0,1\nrank 1: all_reduce 8K group 1,0\n"),
      ElementsAre("ranks.txt:1: deadlock: rank 0 waits in operation 0 of group 0-1, all_reduce of 8192 "
                  "bytes, for rank 1, which never issues it; its line 2 has group 1,0, which is another "
                  "group: the same ranks in another order",
                  "ranks.txt:2: deadlock: rank 1 waits in operation 0 of group 1,0, all_reduce of 8192 "
                  "bytes, for rank 0, which never issues it; its line 1 has group 0-1, which is another "
                  "group: the same ranks in another order"));
  EXPECT_THAT(DeadlocksOf("rank 0-1: all_reduce 8K group 0,1\nrank 0-1: all_reduce 8K group 1,0\n"),
              ElementsAre());
}

// A then B on one rank, B then A on the other; more ranks are in between.
constexpr const char* kCycle =
    "rank 0: all_reduce 1K group 0-1\n"
    "rank 0: all_reduce 2K group 0,2\n"
    "rank 1: all_reduce 3K group 1-2\n"
    "rank 1: all_reduce 1K group 0-1\n"
    "rank 2: all_reduce 2K group 0,2\n"
    "rank 2: all_reduce 3K group 1-2\n";

TEST(CheckOperations, FindsACycleOverSeveralGroups) {
  EXPECT_THAT(
      DeadlocksOf(kCycle),
      ElementsAre(
          "ranks.txt:1: deadlock: rank 0 waits in operation 0 of group 0-1, all_reduce of 1024 bytes, "
          "for rank 1, which waits in its operation 0, all_reduce of 3072 bytes of group 1-2 (line 3)",
          "ranks.txt:5: deadlock: rank 2 waits in operation 0 of group 0,2, all_reduce of 2048 bytes, "
          "for rank 0, which waits in its operation 0, all_reduce of 1024 bytes of group 0-1 (line 1)",
          "ranks.txt:3: deadlock: rank 1 waits in operation 0 of group 1-2, all_reduce of 3072 bytes, "
          "for rank 2, which waits in its operation 0, all_reduce of 2048 bytes of group 0,2 (line 5)"));
}

// On a stream of its own each operation can wait without holding up the other.
TEST(CheckOperations, StreamsUndoACycle) {
  std::string text = kCycle;
  text.replace(text.find("rank 1: all_reduce 1K group 0-1\n"), 32,
               "rank 1: all_reduce 1K group 0-1 stream b\n");
  EXPECT_THAT(DeadlocksOf(text), IsEmpty());
}

// What the check lets pass ends when it is played, and what it refuses does not: the executor
// finds the same cycle by itself.
TEST(CheckOperations, AgreesWithTheExecutor) {
  const Cluster cluster = SwitchOf(8);
  const OperationList list = Parsed(kCycle);
  OperationsCheck check = CheckOperations(list);
  EXPECT_EQ(check.deadlocks.size(), 3u);
  check.deadlocks.clear();
  const auto played = PlayOperations(cluster, list, check);
  ASSERT_FALSE(played.ok());
  EXPECT_NE(played.error().message.find("deadlock: 0 of 6 tasks ended"), std::string::npos);
}

// Two ranks that both send first wait for each other; with the receives on streams of their own they do not.
TEST(CheckOperations, FindsMessagesThatCross) {
  EXPECT_THAT(
      DeadlocksOf("rank 0: send 1K to 1\nrank 0: recv 1K from 1\n"
                  "rank 1: send 1K to 0\nrank 1: recv 1K from 0\n"),
      ElementsAre("ranks.txt:1: deadlock: rank 0 waits in operation 0 of group 0-1, send of 1024 bytes, for "
                  "rank 1, which waits in its operation 0, send of 1024 bytes of group 1,0 (line 3)",
                  "ranks.txt:3: deadlock: rank 1 waits in operation 0 of group 1,0, send of 1024 bytes, for "
                  "rank 0, which waits in its operation 0, send of 1024 bytes of group 0-1 (line 1)"));
  EXPECT_THAT(DeadlocksOf("rank 0: send 1K to 1\nrank 0: recv 1K from 1 stream in\n"
                          "rank 1: send 1K to 0\nrank 1: recv 1K from 0 stream in\n"),
              IsEmpty());
  EXPECT_THAT(
      DeadlocksOf("rank 0: send 1K to 1\nrank 1: recv 2K from 0\n"),
      ElementsAre("ranks.txt:2: deadlock: operation 0 of group 0-1: rank 0 issues send of 1024 bytes (line "
                  "1), rank 1 issues recv of 2048 bytes (line 2); all members must issue the same"));
}

// Ten meetings of random groups; each rank issues its own in order, but for some that changed places.
std::string RandomOrders(sim::Random& random) {
  const std::vector<std::vector<std::uint32_t>> groups = {{0, 1}, {1, 2}, {0, 2}, {2, 3}, {0, 1, 2, 3}};
  std::vector<std::vector<std::string>> lines(4);
  for (int meeting = 0; meeting < 10; ++meeting) {
    const auto& group = groups[random.Below(static_cast<std::uint32_t>(groups.size()))];
    for (const std::uint32_t rank : group) {
      lines[rank].push_back("rank " + std::to_string(rank) + ": all_reduce 1K group " + RankListText(group) +
                            (random.Below(4) == 0 ? " stream b\n" : "\n"));
    }
  }
  for (auto& of_rank : lines) {
    for (std::size_t i = 1; i < of_rank.size(); ++i) {
      if (random.Below(8) == 0) std::swap(of_rank[i - 1], of_rank[i]);
    }
  }
  std::string text;
  for (const auto& of_rank : lines) {
    for (const std::string& line : of_rank) text += line;
  }
  return text;
}

// What the check lets pass ends, and what it does not is stuck in the executor too, which knows nothing of
// it.
TEST(CheckOperations, RefusesWhatTheExecutorCannotEndAndNothingElse) {
  const Cluster cluster = SwitchOf(4);
  sim::Random random(1, "orders");
  int ended = 0, stuck = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const OperationList list = Parsed(RandomOrders(random), 4);
    OperationsCheck check = CheckOperations(list);
    const bool passes = check.deadlocks.empty();
    check.deadlocks.clear();
    EXPECT_EQ(PlayOperations(cluster, list, check).ok(), passes);
    ++(passes ? ended : stuck);
  }
  EXPECT_GT(ended, 50);
  EXPECT_GT(stuck, 50);
}

// Whatever a file has in it, there is a line for it or it is an operation, and it can be checked.
TEST(ParseOperations, EndsOnAnyText) {
  const std::string good =
      "rank 0-3: all_reduce 1M group 0-3\nrank 0: send 1K to 1 stream b\nrank 1: recv 1K from 0\n";
  const std::string bytes =
      "0123456789 -,:#\n\tKMT\xff"
      "ranksendgroupfromto";
  sim::Random random(1, "text");
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = good;
    for (std::uint32_t change = random.Below(5); change < 5; ++change) {
      text[random.Below(static_cast<std::uint32_t>(text.size()))] =
          bytes[random.Below(static_cast<std::uint32_t>(bytes.size()))];
    }
    const OperationList list = ParseOperations(text, "ranks.txt", 8);
    for (const std::string& error : list.errors)
      EXPECT_THAT(error, testing::StartsWith("ranks.txt:")) << text;
    if (!list.errors.empty()) continue;
    EXPECT_FALSE(CheckOperations(list).meetings.empty());
  }
}

TEST(CheckOperations, ShowsTheFirstOfManyDeadlocks) {
  std::string text;
  for (int rank = 0; rank < 20; rank += 2) {
    text += "rank " + std::to_string(rank) + ": all_reduce 1K group " + std::to_string(rank) + "," +
            std::to_string(rank + 1) + "\n";
  }
  const auto deadlocks = CheckOperations(Parsed(text, 20)).deadlocks;
  EXPECT_EQ(deadlocks.size(), 9u);
  EXPECT_EQ(deadlocks.back(), "ranks.txt: 2 more of that kind");
}

// On ports of 50 GB/s: 100 MB between two take 2 ms, and 1 ms more for each half
// of the group of four that is 2 * 3/4 * 100 MB = 3 ms.
TEST(PlayOperations, RunsStreamsInOrderAndMeetsWhereAllAre) {
  const Cluster cluster = SwitchOf(4);
  const OperationList list = Parsed(
      "rank 0-1: all_reduce 100000000 group 0-1\n"
      "rank 2-3: all_reduce 50000000 group 2-3\n"
      "rank 0-3: all_reduce 100000000 group 0-3\n",
      4);
  const auto played = PlayOperations(cluster, list, CheckOperations(list));
  ASSERT_TRUE(played.ok());
  const std::vector<PlayedOperation>& operations = played.value().operations;
  ASSERT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations[0].time(), 2_ms);
  EXPECT_EQ(operations[1].time(), 1_ms);
  EXPECT_EQ(operations[2].arrived.since_start(), 1_ms);
  EXPECT_EQ(operations[2].begin.since_start(), 2_ms);
  EXPECT_EQ(operations[2].time(), 3_ms);
  EXPECT_EQ(operations[2].bound.time, 3_ms);
  EXPECT_EQ(operations[2].line, 3u);
}

// 50 MB at 50 GB/s to the next rank, and to the one after it.
TEST(PlayOperations, PassesMessagesOn) {
  const Cluster cluster = SwitchOf(3);
  const OperationList list = Parsed(
      "rank 1: recv 50000000 from 0\n"
      "rank 1: send 50000000 to 2\n"
      "rank 0: send 50000000 to 1\n"
      "rank 2: recv 50000000 from 1\n",
      3);
  const auto played = PlayOperations(cluster, list, CheckOperations(list));
  ASSERT_TRUE(played.ok());
  const std::vector<PlayedOperation>& operations = played.value().operations;
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_STREQ(operations[0].job.test->name, "send");
  EXPECT_EQ(operations[0].time(), 1_ms);
  EXPECT_EQ(operations[0].bound.time, 1_ms);
  EXPECT_EQ(operations[1].begin.since_start(), 1_ms);
  EXPECT_EQ(operations[1].end.since_start(), 2_ms);
}

}  // namespace
}  // namespace scenarios
