#include "scenarios/collective_run/sweep.h"

#include "scenarios/collective_run/sizes.h"
#include "tests/scenarios/collective_run/clusters.h"

namespace scenarios {
namespace {

using sim::Bytes;
using sim::Duration;
using namespace sim::literals;

const DataType& Float() { return *FindDataType("float"); }

CollectiveTable Sizes(const Cluster& cluster, const std::string& job, const std::vector<Bytes>& sizes,
                      const PlayOptions& options = {}) {
  auto table = PlaySizes(cluster, Job(cluster, job + " 0"), Float(), sizes, options);
  EXPECT_TRUE(table.ok()) << table.error().message;
  return std::move(table).value();
}

// HB-086: what one second for one GB is on the bus. Source: NVIDIA/nccl-tests#235, #159, #174.
TEST(CollectiveRow, HasTheBusBandwidthOfItsKind) {
  const Cluster cluster = SwitchOf(8);
  const std::pair<const char*, double> factors[] = {{"all_reduce", 1.75},      {"all_gather", 0.875},
                                                    {"reduce_scatter", 0.875}, {"alltoall", 0.875},
                                                    {"broadcast", 1},          {"sendrecv", 1}};
  for (const auto& [name, factor] : factors) {
    CollectiveRow row;
    row.job = Job(cluster, std::string(name) + " 0-7", 1'000'000'000);
    row.time = Duration::Milliseconds(1000);
    EXPECT_DOUBLE_EQ(row.algbw(), 1);
    EXPECT_DOUBLE_EQ(row.busbw(), factor) << name;
  }
}

// HB-106, for every kind: no time, no bandwidth, no division by zero. Source: NVIDIA/nccl-tests#294.
TEST(PlaySizes, OfOneRankTakesNoTimeAndHasNoBandwidth) {
  const Cluster cluster = NodesOf(8);
  for (const NcclTest& test : NcclTests()) {
    const CollectiveTable table = Sizes(cluster, std::string(test.name) + " 3", {0_B, 1_GiB});
    for (const CollectiveRow& row : table.rows) {
      EXPECT_EQ(row.time, Duration());
      EXPECT_EQ(row.algbw(), 0);
      EXPECT_EQ(row.busbw(), 0);
      EXPECT_EQ(row.gap(), std::nullopt);
    }
    EXPECT_EQ(table.mean_busbw(), 0);
  }
}

TEST(PlaySizes, TakesNothingAByteAndATebibyte) {
  const Cluster cluster = NodesOf(32);
  for (const NcclTest& test : NcclTests()) {
    auto table = PlaySizes(cluster, Job(cluster, std::string(test.name) + " 0-22,24-31 0"),
                           *FindDataType("int8"), {0_B, 1_B, kLargestMessage}, {});
    ASSERT_TRUE(table.ok());
    const std::vector<CollectiveRow>& rows = table.value().rows;
    EXPECT_EQ(rows[0].time, Duration());
    EXPECT_EQ(rows[1].job.size, test.has_part_each ? 0_B : 1_B);
    EXPECT_GE(rows[2].time, rows[2].bound.time);
    EXPECT_GT(rows[2].bound.time, Duration());
  }
}

// 63 ranks, 24, and every eighth, of nodes of eight; unequal nodes too: none hangs, and
// all keep above the bound.
TEST(PlaySizes, TakesAnyListOfRanks) {
  const Cluster cluster = NodesOf(64);
  for (const char* list : {"0-62", "0-23", "0-63:8", "5,17,3,60", "0-6,8-15", "0-2,8-20,63"}) {
    for (const NcclTest& test : NcclTests()) {
      const CollectiveTable table = Sizes(cluster, std::string(test.name) + ' ' + list, {64_MiB});
      EXPECT_GE(*table.rows[0].gap(), 0) << test.name << ' ' << list;
    }
  }
}

TEST(PlaySizes, PutsTheOracleBesideTheFlow) {
  const Cluster cluster = SwitchOf(4, 3_us);
  const CollectiveTable table = Sizes(cluster, "all_reduce 0-3", {1_MiB, 64_MiB}, {.chunks = true});
  for (const CollectiveRow& row : table.rows) EXPECT_NEAR(*row.chunk_difference(), 0, 1e-4);
  EXPECT_EQ(Sizes(cluster, "all_reduce 0-3", {1_MiB}).rows[0].chunk_time, std::nullopt);
}

// 256 ranks, 16 GiB: 32 loops of 256 parts of 2 MiB, each in 510 steps of 256 edges.
TEST(PlaySizes, RefusesAnOracleOfTooManyTransfersBeforeAnythingRuns) {
  const Cluster cluster = SwitchOf(256);
  const auto table =
      PlaySizes(cluster, Job(cluster, "all_reduce 0-255 0"), Float(), {8_B, 16_GiB}, {.chunks = true});
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().message,
            "--chunk: transfer by transfer, all_reduce 0-255 16G takes up to 4308480 transfers; at most "
            "500000 are played, "
            "and fewer ranks or bytes would do");
}

// What is refused by its estimate is no less than what the expansion makes, and not much more.
TEST(MostTransfers, AreNoFewerThanTheExpansionHas) {
  const Cluster clusters[] = {SwitchOf(9), NodesOf(16)};
  for (const Cluster& cluster : clusters) {
    for (const NcclTest& test : NcclTests()) {
      for (const std::int64_t bytes : {1, 1000, 3 << 20, 200 << 20}) {
        const CollectiveJob job = Job(cluster, std::string(test.name) + " 0-8", bytes);
        const auto made = static_cast<std::int64_t>(LowerJobIntoChunks(cluster, job).transfers.size());
        EXPECT_GE(MostTransfersOf(cluster, job), made) << ToText(job);
        if (bytes < 100 << 20) continue;
        EXPECT_LE(MostTransfersOf(cluster, job), 3 * made) << ToText(job);
      }
    }
  }
}

TEST(PlayTogether, SaysWhoSharesRanksWithWhom) {
  const Cluster cluster = SwitchOf(8);
  const auto table =
      PlayTogether(cluster, {Job(cluster, "all_reduce 0-5 1M"), Job(cluster, "all_gather 4-7 1M")}, Float(),
                   {.background = {Job(cluster, "alltoall 7,0 1M")}});
  ASSERT_TRUE(table.ok());
  const std::vector<SharedRanks>& shared = table.value().shared;
  ASSERT_EQ(shared.size(), 3u);
  EXPECT_EQ(shared[0].ranks, (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(shared[1].ranks, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(shared[2].second, 2u);
  EXPECT_EQ(table.value().jobs, 2u);
  EXPECT_EQ(table.value().together.size(), 3u);
}

// 4,097 ranks have 16.8 million pairs.
TEST(WhyNotLower, IsAnAllToAllOfTooManyPairs) {
  CollectiveJob job{FindNcclTest("alltoall"), 1_GiB, std::vector<std::uint32_t>(4097)};
  EXPECT_TRUE(WhyNotLower(Cluster{}, job).has_value());
  job.ranks.pop_back();
  EXPECT_FALSE(WhyNotLower(Cluster{}, job).has_value());
}

}  // namespace
}  // namespace scenarios
