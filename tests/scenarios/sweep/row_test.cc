#include "scenarios/sweep/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/run.h"
#include "tests/scenarios/sweep/sweeping.h"

namespace scenarios {
namespace {

std::string CellNamed(const std::string& column, const Row& row) {
  const std::vector<std::string> columns = RowColumns();
  const auto found = std::find(columns.begin(), columns.end(), column);
  return found == columns.end() ? "no such column"
                                : CellsOf(row)[static_cast<std::size_t>(found - columns.begin())].text;
}

TEST(SweepRow, IsTheReportOfItsRun) {
  const Scenario scenario = *Load(SmallJob(), {{"layout.tensor", "2"}}).scenario;
  const Report report = scenarios::Run(scenario).value().report;
  const Row row = *PlayedRows(PointsOfAxes({"layout.tensor=2"}))[0];
  EXPECT_EQ(row.step_time, report.step_time);
  EXPECT_EQ(row.mfu, report.mfu);
  EXPECT_EQ(row.digest, report.digest);
  EXPECT_EQ(row.memory, report.stages[0].memory_total);
  EXPECT_EQ(row.usd_per_step, report.cost_usd_per_step);
  // 16 sequences of 2,048 tokens for that money.
  EXPECT_DOUBLE_EQ(*row.tokens_per_usd * *row.usd_per_step, 16 * 2048);
  sim::Duration sum;
  for (const auto& part : row.breakdown) sum += *part;
  EXPECT_EQ(sum, report.step_time);
  EXPECT_EQ(CellNamed("exposed_tensor_s", row), CellNamed("exposed_tensor_s", *RowOf(TextsOf(row))));
}

TEST(SweepRow, IsReadBackToTheLastDigit) {
  Row row;
  row.status = RowStatus::kOk;
  row.reason = "with, \"signs\"\nand ends";
  row.mfu = 0.1 + 0.2;  // 0.30000000000000004
  row.usd_per_step = 1e-300;
  row.step_time = sim::Duration::Picoseconds(1'000'000'000'001);
  row.mean_step_time = sim::Duration::Picoseconds(INT64_MAX);
  row.least_step_time = sim::Duration();
  row.memory = sim::Bytes(INT64_MAX);
  row.tasks = 0;
  const std::optional<Row> again = RowOf(TextsOf(row));
  ASSERT_TRUE(again);
  EXPECT_EQ(TextsOf(*again), TextsOf(row));
  EXPECT_EQ(again->mfu, row.mfu);
  EXPECT_EQ(again->usd_per_step, row.usd_per_step);
  EXPECT_EQ(again->mean_step_time, row.mean_step_time);
  EXPECT_FALSE(again->devices);
  EXPECT_EQ(CellNamed("step_time_s", row), "1.000000000001");
  EXPECT_EQ(CellNamed("least_step_time_s", row), "0");
  EXPECT_EQ(CellNamed("mfu", row), "0.30000000000000004");
}

TEST(SweepRow, IsNotReadFromWhatIsNone) {
  const std::vector<std::string> good = TextsOf(Row{});
  ASSERT_TRUE(RowOf(good));
  std::vector<std::string> bad = good;
  bad[0] = "fine";
  EXPECT_FALSE(RowOf(bad));
  EXPECT_FALSE(RowOf({good.begin(), good.end() - 1}));
  const std::vector<std::string> columns = RowColumns();
  const auto step =
      static_cast<std::size_t>(std::find(columns.begin(), columns.end(), "step_time_s") - columns.begin());
  for (const std::string text : {"x", "1.0000000000001", "1.-2", ".5"}) {
    bad = good;
    bad[step] = text;
    EXPECT_FALSE(RowOf(bad)) << text;
  }
}

// A column that a field of the scenario is called by as well would be there twice.
TEST(SweepRow, HasNoColumnThatIsAFieldOfAScenario) {
  for (const std::string& column : RowColumns()) {
    PointList list;
    list.paths = {column};
    list.points = {{{column, "1"}}};
    proto::Diagnostics diagnostics;
    CheckFields(SmallJob(), list, &diagnostics);
    ASSERT_FALSE(diagnostics.ok()) << column;
    EXPECT_THAT(diagnostics.errors().front(), testing::HasSubstr("unknown field")) << column;
  }
}

}  // namespace
}  // namespace scenarios
