#include "scenarios/collective_run/play_jobs.h"

#include "tests/scenarios/collective_run/clusters.h"

namespace scenarios {
namespace {

using sim::Duration;
using namespace sim::literals;

PlayedJobs Play(const Cluster& cluster, const std::vector<std::string>& jobs,
                const std::vector<std::string>& background = {}, bool chunks = false) {
  PlayRequest request{.jobs = {}, .background = {}, .chunks = chunks};
  for (const std::string& job : jobs) request.jobs.push_back(Job(cluster, job));
  for (const std::string& job : background) request.background.push_back(Job(cluster, job));
  auto played = PlayJobs(cluster, request);
  EXPECT_TRUE(played.ok()) << played.error().message;
  return std::move(played).value();
}

// 2 * 3/4 * 100 MB at 50 GB/s are 3 ms.
TEST(PlayJobs, ThatShareNothingTakeTheTimeThatTheyTakeAlone) {
  const Cluster cluster = SwitchOf(8);
  const PlayedJobs both = Play(cluster, {"all_reduce 0-3 100000000", "all_reduce 4-7 50000000"});
  EXPECT_EQ(both.time, (std::vector<Duration>{3_ms, 1'500_us}));
  EXPECT_EQ(both.finish, 3_ms);
}

// Two rings over the same ports, 3 ms each alone: half of each port for both
// until the shorter one, 1 ms alone, is through at 2 ms; the other has 2 ms left.
TEST(PlayJobs, OnTheSameRanksRunSideBySideOnStreamsOfTheirOwn) {
  const Cluster cluster = SwitchOf(4);
  EXPECT_EQ(Play(cluster, {"all_reduce 0-3 300000000", "all_reduce 0-3 100000000"}).time,
            (std::vector<Duration>{12_ms, 6_ms}));
  // Only half of the ports are shared, but a ring is as slow as its slowest edge.
  EXPECT_EQ(Play(cluster, {"all_reduce 0-3 100000000", "all_reduce 0-1 1000000000"}).time[0], 6_ms);
}

// A background that has half of every port from beginning to end doubles the
// time, whether it is one long job or many short ones.
TEST(PlayJobs, BackgroundGoesOnUntilTheyEnd) {
  const Cluster cluster = SwitchOf(4);
  for (const char* background : {"all_reduce 0-3 10000000000", "all_reduce 0-3 100000000",
                                 "all_reduce 0-3 1000000", "all_reduce 0-3 7654321"}) {
    const PlayedJobs played = Play(cluster, {"all_reduce 0-3 100000000"}, {background});
    // A short one ends on a whole picosecond each time.
    EXPECT_LE(played.time[0], 6_ms) << background;
    EXPECT_GE(played.time[0], Duration(6_ms) - 1_ns) << background;
    EXPECT_GE(played.timeline.finish.since_start(), played.finish);
  }
}

// Three on each port, then two of them without the measured one.
TEST(PlayJobs, SeveralBackgroundsShareWithEachOther) {
  const Cluster cluster = SwitchOf(4);
  const PlayedJobs played =
      Play(cluster, {"all_reduce 0-3 100000000"}, {"all_reduce 0-3 1000000000", "all_reduce 0-3 1000000000"});
  EXPECT_LE((played.time[0] - 9_ms).ps(), 1);  // a third of the port is rounded down
  EXPECT_GE(played.time[0], 9_ms);
}

TEST(PlayJobs, RefusesBackgroundsWithoutEnd) {
  const Cluster cluster = SwitchOf(4);
  const auto error = [&](const char* background) {
    const auto played = PlayJobs(
        cluster, {.jobs = {Job(cluster, "all_reduce 0-3 1T")}, .background = {Job(cluster, background)}});
    return played.ok() ? "" : played.error().message;
  };
  EXPECT_EQ(error("all_reduce 0-3 1K"),
            "--background: \"all_reduce 0-3 1K\" would run more than 10000 times beside the jobs; a larger "
            "size would do");
  const std::string nothing =
      " moves nothing, and is no background; a larger size and two ranks or more would do";
  EXPECT_EQ(error("all_reduce 0-3 0"), "--background: \"all_reduce 0-3 0\"" + nothing);
  EXPECT_EQ(error("all_reduce 2 1G"), "--background: \"all_reduce 2 1G\"" + nothing);
}

// Where all edges are alike the oracle ends when the coupled flow does.
TEST(PlayJobs, TransferByTransferTakesTheSameTimeOnASwitch) {
  const Cluster cluster = SwitchOf(4, 3_us);
  for (const char* job :
       {"all_reduce 0-3 64M", "all_gather 0-3 64M", "alltoall 0-3 64M", "sendrecv 0-3 64M"}) {
    const Duration flow = Play(cluster, {job}).finish, chunks = Play(cluster, {job}, {}, true).finish;
    EXPECT_LE(std::abs((flow - chunks).ps()), flow.ps() / 100'000) << job;
  }
  EXPECT_GE(Play(cluster, {"all_reduce 0-3 64M"}, {"alltoall 0-3 64M"}, true).finish,
            Play(cluster, {"all_reduce 0-3 64M"}, {}, true).finish);
}

// Two of a kind have half of each port each, whichever way the first is played: twice its time alone,
// with its fill once.
TEST(PlayJobs, NvlsHasOneConnectionAPortBesideABackgroundInBothForms) {
  Cluster cluster = ClusterOn(topologies::MustBuild(topologies::OneNode(), topologies::TestNode(8, 8), 8));
  cluster.device.collective_timing.front().algorithm = sim::Algorithm::kNvls;
  for (const char* job : {"all_reduce 0-7 1G", "all_gather 0-7 1G", "reduce_scatter 0-7 1G"}) {
    const double alone = Play(cluster, {job}).finish.seconds();
    for (const bool chunks : {false, true}) {
      const double beside = Play(cluster, {job}, {job}, chunks).finish.seconds();
      EXPECT_NEAR(beside / alone, 2, 0.03) << job << (chunks ? " in chunks" : " as a flow");
    }
  }
}

// 1 TiB at 1 kB/s would take 30 years.
TEST(PlayJobs, SaysSoWhereAJobOutlastsTheClock) {
  const Cluster cluster = SwitchOf(2, {}, sim::ByteRate::BytesPerSecond(1000));
  const auto played = PlayJobs(cluster, {.jobs = {Job(cluster, "all_reduce 0-1 1T")}});
  ASSERT_FALSE(played.ok());
  EXPECT_NE(played.error().message.find("106 days"), std::string::npos) << played.error().message;
}

}  // namespace
}  // namespace scenarios
