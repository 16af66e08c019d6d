#include "scenarios/sweep/ranking.h"

#include <gtest/gtest.h>

#include "sim/base/random.h"

namespace scenarios {
namespace {

Row PlayedRow(std::int64_t step_ps, std::int64_t memory, std::int64_t devices, double price) {
  Row row;
  row.status = RowStatus::kOk;
  row.step_time = sim::Duration::Picoseconds(step_ps);
  row.least_step_time = sim::Duration::Picoseconds(step_ps / 2);
  row.memory = sim::Bytes(memory);
  row.devices = devices;
  row.global_batch = 1;
  row.sequence_length = 1000;
  if (price > 0) row.usd_per_device_hour = price;
  return row;
}

TEST(Ranking, IsByWhatIsAskedFor) {
  // Twice as fast on four times the devices: twice the money.
  const std::vector<Row> rows = {PlayedRow(2000, 5, 1, 3600), PlayedRow(1000, 5, 4, 3600)};
  EXPECT_EQ(RankingOf(rows, Metric::kStepTime)[0].row, 1u);
  EXPECT_EQ(RankingOf(rows, Metric::kCost)[0].row, 0u);
  EXPECT_EQ(RankingOf(rows, Metric::kTokensPerDollar)[0].row, 0u);
  // A dollar a device-second, 2e-9 device-seconds.
  EXPECT_DOUBLE_EQ(RankingOf(rows, Metric::kCost)[0].merit.by_metric, 2e-9);
  // More tokens for the same money.
  std::vector<Row> longer = rows;
  longer[1].sequence_length = 3000;
  EXPECT_EQ(RankingOf(longer, Metric::kTokensPerDollar)[0].row, 1u);
}

TEST(Ranking, LeavesOutWhatWasNotPlayedDoesNotFitOrHasNoPrice) {
  std::vector<Row> rows(4, PlayedRow(10, 10, 1, 1));
  rows[0].status = RowStatus::kDoesNotFit;
  rows[1] = Row{};
  rows[2].usd_per_device_hour.reset();
  ASSERT_EQ(RankingOf(rows, Metric::kCost).size(), 1u);
  EXPECT_EQ(RankingOf(rows, Metric::kCost)[0].row, 3u);
  EXPECT_EQ(RankingOf(rows, Metric::kStepTime).size(), 2u);
}

TEST(ParetoFront, ComparesDollarsOnlyWhereAllHavePrices) {
  // The cheap device is slower: on the front by dollars, dominated by device-seconds.
  std::vector<Row> rows = {PlayedRow(1000, 5, 1, 10), PlayedRow(2000, 5, 1, 1)};
  EXPECT_EQ(CostUnitOf(rows), CostUnit::kDollars);
  EXPECT_TRUE(RankingOf(rows, Metric::kStepTime)[1].on_front);
  rows[0].usd_per_device_hour.reset();
  EXPECT_EQ(CostUnitOf(rows), CostUnit::kDeviceSeconds);
  EXPECT_FALSE(RankingOf(rows, Metric::kStepTime)[1].on_front);
}

std::vector<Row> RandomRows(std::uint64_t seed, std::size_t count) {
  sim::Random random(seed, "rows");
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i) {
    // Few values, so that there are ties.
    rows.push_back(PlayedRow(random.Between(1, 9), random.Between(1, 5), random.Between(1, 3), 1));
    rows.back().least_step_time = sim::Duration::Picoseconds(random.Between(1, rows.back().step_time->ps()));
  }
  return rows;
}

// The definition, pair by pair.
bool BeatenBySome(const Row& row, const std::vector<Row>& rows) {
  for (const Row& other : rows) {
    const auto cost = [](const Row& r) { return *r.devices * r.step_time->ps(); };
    const bool no_worse =
        other.step_time <= row.step_time && other.memory <= row.memory && cost(other) <= cost(row);
    const bool better =
        other.step_time < row.step_time || other.memory < row.memory || cost(other) < cost(row);
    if (no_worse && better) return true;
  }
  return false;
}

TEST(ParetoFront, IsWhatNoOtherRowBeatsByBruteForce) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<Row> rows = RandomRows(seed, 20);
    for (const Ranked& one : RankingOf(rows, Metric::kStepTime)) {
      EXPECT_EQ(one.on_front, !BeatenBySome(rows[one.row], rows)) << seed << ' ' << one.row;
    }
  }
}

// Whatever was played before: what is skipped is neither the best of all rows nor on their front.
TEST(Skipper, NeverSkipsTheBestOrTheFront) {
  std::size_t skipped = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Row> rows = RandomRows(seed, 20);
    for (const Metric metric : {Metric::kStepTime, Metric::kCost, Metric::kTokensPerDollar}) {
      for (const bool front : {false, true}) {
        Skipper skipper({metric, front}, CostUnit::kDollars);
        for (std::size_t i = 0; i < 10; ++i) skipper.Add(rows[i]);
        const std::vector<Ranked> ranking = RankingOf(rows, metric);
        for (const Ranked& one : ranking) {
          if (!skipper.Skips(rows[one.row])) continue;
          ++skipped;
          EXPECT_GT(one.merit.by_metric, ranking[0].merit.by_metric);
          EXPECT_TRUE(!front || !one.on_front);
        }
      }
    }
  }
  EXPECT_GT(skipped, 1000u);
}

TEST(Skipper, SkipsNothingBeforeSomethingFits) {
  Row row = PlayedRow(10, 10, 1, 1);
  Skipper skipper({}, CostUnit::kDollars);
  EXPECT_FALSE(skipper.Skips(row));
  row.status = RowStatus::kDoesNotFit;
  skipper.Add(row);
  EXPECT_FALSE(skipper.Skips(PlayedRow(1000, 1000, 9, 9)));
}

}  // namespace
}  // namespace scenarios
