// Groups that have different numbers of members in their nodes: every collective ends, no sooner than its
// bound and no later than a few times it, and transfer by transfer it takes as long.

#include "scenarios/collective_run/sweep.h"
#include "tests/scenarios/collective_run/clusters.h"
#include "topologies/chosen_devices.h"

namespace scenarios {
namespace {

using namespace sim::literals;

CollectiveTable Swept(const Cluster& cluster, const NcclTest& test, const std::string& ranks, sim::Bytes size,
                      bool chunks) {
  const CollectiveJob job = Job(cluster, std::string(test.name) + ' ' + ranks + " 0");
  auto table = PlaySizes(cluster, job, *FindDataType("int8"), {size}, {.chunks = chunks});
  EXPECT_TRUE(table.ok()) << table.error().message;
  return std::move(table).value();
}

// Seven nodes of eight and one of seven; three nodes; five and eight; two, one, eight and one; and a node
// whose other places are empty.
TEST(UnevenGroups, EndBetweenTheirBoundAndAFewTimesIt) {
  const Cluster whole = NodesOf(64);
  const auto uneven = topologies::BuildUnevenFabric(topologies::SmallRails(), topologies::TestNode(8, 8),
                                                    std::vector<std::int64_t>{8, 5, 8, 1});
  ASSERT_TRUE(uneven.ok());
  const Cluster with_places = ClusterOn(uneven.value());
  // A ring a member of the smallest node: of eight NICs seven, eight, five and one are used, and the bound
  // has all. Rings send (n-1)/n of the buffer over each, where m nodes need (m-1)/m: 1.44 times that for 24
  // ranks of 3.
  const struct {
    const Cluster* cluster;
    const char* ranks;
    double at_most;
  } groups[] = {{&whole, "0-62", 8.0 / 7 - 1},
                {&whole, "0-23", 0},
                {&whole, "0-4,8-15", 8.0 / 5 - 1},
                {&whole, "6-7,15,16-23,24", 8 - 1},
                {&with_places, "0-21", 8 - 1}};
  for (const auto& [cluster, ranks, at_most] : groups) {
    for (const NcclTest& test : NcclTests()) {
      SCOPED_TRACE(std::string(test.name) + ' ' + ranks);
      const CollectiveTable table = Swept(*cluster, test, ranks, 256_MiB, false);
      ASSERT_EQ(table.rows.size(), 1u);
      const CollectiveRow& row = table.rows[0];
      EXPECT_GT(row.time, sim::Duration());
      ASSERT_TRUE(row.gap().has_value());
      // A picosecond above the bound may be rounded.
      EXPECT_GT(*row.gap(), -1e-6);
      // Where all members send alike. Of one message the bound has all NICs of its node.
      const bool alike = test.has_part_each || test.kind == sim::CollectiveKind::kAllReduce;
      if (alike && !test.has_root) {
        EXPECT_LT(*row.gap(), (1 + at_most) * 1.45 - 1);
      }
    }
  }
}

TEST(UnevenGroups, TakeAsLongTransferByTransfer) {
  const Cluster cluster = NodesOf(24);
  for (const NcclTest& test : NcclTests()) {
    const CollectiveTable table = Swept(cluster, test, "0-4,8-15", 16_MiB, true);
    SCOPED_TRACE(test.name);
    ASSERT_TRUE(table.rows[0].chunk_difference().has_value());
    EXPECT_NEAR(*table.rows[0].chunk_difference(), 0, 0.05);
  }
}

}  // namespace
}  // namespace scenarios
