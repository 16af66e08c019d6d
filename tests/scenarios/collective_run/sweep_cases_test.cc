// Reports of users of such tools, as sizes to be played: areas collective and
// topology. tests/scenarios/collective_open_cases_test.cc has those that need
// groups side by side, operations_test.cc those that never end.

#include "scenarios/collective_run/sweep.h"
#include "tests/scenarios/collective_run/clusters.h"

namespace scenarios {
namespace {

using sim::Bytes;
using sim::Duration;
using namespace sim::literals;

// One size as it is, without rounding.
CollectiveRow Row(const Cluster& cluster, const std::string& job, Bytes size) {
  const auto table = PlaySizes(cluster, Job(cluster, job + " 0"), *FindDataType("int8"), {size}, {});
  EXPECT_TRUE(table.ok());
  return table.value().rows[0];
}

// HB-090 (NVIDIA/nccl#1712, #790): 2(n-1) * 5 us + 2(n-1)/n * S / 50 GB/s.
TEST(RingLatency, GrowsWithTheRanksSoThatMediumSizesGetSlower) {
  const Cluster eight = SwitchOf(8, 5_us), many = SwitchOf(64, 5_us);
  EXPECT_NEAR(Row(eight, "all_reduce 0-7", 1_MiB).time.seconds(), 106.7e-6, 1e-7);
  EXPECT_NEAR(Row(many, "all_reduce 0-63", 1_MiB).time.seconds(), 671.3e-6, 1e-7);
  EXPECT_NEAR(Row(eight, "all_reduce 0-7", 1_GiB).time.seconds(), 37.65e-3, 1e-5);
  EXPECT_NEAR(Row(many, "all_reduce 0-63", 1_GiB).time.seconds(), 42.91e-3, 1e-5);
}

// HB-095 (aliyun/SimAI#136): 30 * 3 us + 2 * 15/16 * S / 25 GB/s.
TEST(LargeMessages, TakeTwiceTheTimeForTwiceTheBytes) {
  const Cluster cluster = SwitchOf(16, 3_us, 25_GB_per_s);
  const double one = Row(cluster, "all_reduce 0-15", 256_MiB).time.seconds();
  const double two = Row(cluster, "all_reduce 0-15", 512_MiB).time.seconds();
  EXPECT_NEAR(one, 20.223e-3, 1e-6);
  EXPECT_NEAR(two, 40.355e-3, 1e-6);
  EXPECT_NEAR(two / one, 1.996, 1e-3);
}

// HB-108 (zxypro1/algolocal#93; vllm-project/vllm#732): 64 MiB inside a node of NVLink at 450 GB/s,
// 2 * 7/8 of it; over two nodes 2 * 15/16 through eight NICs of 50 GB/s. The warning
// for a tensor group that leaves its node is the loader's.
TEST(TensorGroup, BeyondANodeIsAsSlowAsTheNics) {
  const Cluster cluster = NodesOf(16);
  EXPECT_NEAR(Row(cluster, "all_reduce 0-7", 64_MiB).time.seconds(), 261.0e-6, 1e-6);
  EXPECT_NEAR(Row(cluster, "all_reduce 0-15", 64_MiB).time.seconds(), 314.6e-6, 1.5e-6);
}

// HB-116 (NVIDIA/nccl#2385): 7 + 8 ranks of two nodes. At least 2 * 14/15 of 1 GB over a member's
// NVLink of 450 GB/s, 4.15 ms; seven rings of 50 GB/s between nodes take 2 * 14/15 / 350 GB/s.
TEST(UnequalNodes, DoNotHang) {
  const CollectiveRow row = Row(NodesOf(16), "all_reduce 0-6,8-15", Bytes(1'000'000'000));
  EXPECT_GE(row.time.seconds(), 4.15e-3);
  EXPECT_NEAR(row.time.seconds(), 2 * 14.0 / 15 / 350, 1e-6);
}

// HB-120 (aliyun/SimAI#142), the group itself: 24 ranks of three nodes, 2 * 23/24 of 1 GB over eight NICs
// a node. That 40 heads do not go into 24 is the loader's to say.
TEST(TwentyFourRanks, OverThreeNodesAreAsSlowAsTheNics) {
  EXPECT_NEAR(Row(NodesOf(24), "all_reduce 0-23", Bytes(1'000'000'000)).time.seconds(), 2 * 23.0 / 24 / 400,
              1e-6);
}

}  // namespace
}  // namespace scenarios
