#include "scenarios/collective_run/lower_bound.h"

#include "scenarios/collective_run/play_jobs.h"
#include "tests/scenarios/collective_run/clusters.h"

namespace scenarios {
namespace {

using sim::Duration;
using namespace sim::literals;

LowerBound Bound(const Cluster& cluster, const CollectiveJob& job) {
  return GroupBound(cluster.fabric, job.ranks).Of(job);
}
Duration Bound(const Cluster& cluster, const std::string& job) {
  return Bound(cluster, Job(cluster, job)).time;
}

// 100 MB over 8 ports of 50 GB/s: 2 * 7/8, 7/8 or 1 of it through each.
TEST(GroupBound, OnASwitchIsWhatEachPortMustCarry) {
  const Cluster cluster = SwitchOf(8);
  EXPECT_EQ(Bound(cluster, "all_reduce 0-7 100000000"), 3'500_us);
  EXPECT_EQ(Bound(cluster, "all_gather 0-7 100000000"), 1'750_us);
  EXPECT_EQ(Bound(cluster, "reduce_scatter 0-7 100000000"), 1'750_us);
  EXPECT_EQ(Bound(cluster, "alltoall 0-7 100000000"), 1'750_us);
  EXPECT_EQ(Bound(cluster, "broadcast 0-7 100000000"), 2'000_us);
  EXPECT_EQ(Bound(cluster, "sendrecv 0-7 100000000"), 2'000_us);
  EXPECT_EQ(Bound(cluster, "all_reduce 3 100000000"), Duration());
  EXPECT_EQ(Bound(cluster, "all_reduce 0-7 0"), Duration());
}

// 1 GB over two nodes of eight: through eight NICs of 50 GB/s goes half of an
// all-gather (1.25 ms); of an all-to-all 8 * 8/16 of it (10 ms); of a broadcast
// all (2.5 ms). A member's NVLink and PCIe together carry 15/16 of it at 510 GB/s.
TEST(GroupBound, OverNodesIsWhatTheirNicsMustCarry) {
  const Cluster cluster = NodesOf(16);
  const LowerBound exchange = Bound(cluster, Job(cluster, "alltoall 0-15 1000000000"));
  EXPECT_EQ(exchange.time, 10_ms);
  EXPECT_EQ(exchange.what, "links out of node0");
  EXPECT_EQ(Bound(cluster, "broadcast 0-15 1000000000"), 2'500_us);
  const LowerBound gather = Bound(cluster, Job(cluster, "all_gather 0-15 1000000000"));
  EXPECT_EQ(gather.time, Duration::Picoseconds(1'838'235'294));  // 937.5 MB / 510 GB/s, rounded down
  EXPECT_EQ(gather.what, "links of node0/gpu0");
  // One pair of neighbours leaves each node, and may use all its NICs.
  EXPECT_EQ(Bound(cluster, "sendrecv 0-15 1000000000"), 2'500_us);
  // In an order that goes back and forth all sixteen pairs cross, eight each way.
  EXPECT_EQ(Bound(cluster, "sendrecv 0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15 1000000000"), 20_ms);
}

// Inside one node nothing goes over PCIe, so it is no part of what a member has.
TEST(GroupBound, LeavesOutLinksThatNoRouteUses) {
  const Cluster cluster = NodesOf(16);
  EXPECT_EQ(Bound(cluster, "alltoall 0-7 450000000"), Duration::Picoseconds(875'000'000));
}

// All kinds, on a switch, in a node, over nodes whole and not, down to a byte.
TEST(GroupBound, IsNeverAboveWhatIsPlayed) {
  const Cluster clusters[] = {SwitchOf(15), NodesOf(8), NodesOf(32)};
  const char* lists[][2] = {{"0-14", "1,3,5"}, {"0-7", "2-4"}, {"0-6,8-15", "0-30:5"}};
  for (std::size_t c = 0; c < 3; ++c) {
    for (const NcclTest& test : NcclTests()) {
      for (const char* list : lists[c]) {
        for (const std::int64_t bytes : {1, 1000, 1 << 20, 1 << 28}) {
          const CollectiveJob job = Job(clusters[c], std::string(test.name) + ' ' + list, bytes);
          const auto played = PlayJobs(clusters[c], {.jobs = {job}});
          ASSERT_TRUE(played.ok());
          EXPECT_LE(Bound(clusters[c], job).time, played.value().finish) << ToText(job);
          EXPECT_GT(Bound(clusters[c], job).time, Duration()) << ToText(job);
        }
      }
    }
  }
}

// The bound is met where the algorithm is as good as can be: 2(n-1)/n over each port.
TEST(GroupBound, IsWhatARingTakesOnASwitch) {
  const Cluster cluster = SwitchOf(16);
  for (const char* text :
       {"all_reduce 0-15 1G", "all_gather 0-15 1G", "reduce_scatter 0-15 1G", "alltoall 0-15 1G"}) {
    const CollectiveJob job = Job(cluster, text);
    const Duration time = PlayJobs(cluster, {.jobs = {job}}).value().finish;
    EXPECT_LE((time - Bound(cluster, job).time).ps(), 2) << text;  // rates and times are rounded
  }
}

}  // namespace
}  // namespace scenarios
