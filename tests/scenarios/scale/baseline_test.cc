#include "scenarios/scale/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace scenarios {
namespace {

using testing::HasSubstr;

ScaleRow RowOf(std::int64_t devices, std::int64_t compute_ps, std::int64_t data_ps) {
  ScaleRow row{
      .devices = devices, .batch = 64, .layout = "tensor 1", .digest = std::to_string(compute_ps + data_ps)};
  row.step_time = sim::Duration::Picoseconds(compute_ps + data_ps);
  row.breakdown = {{"compute", sim::Duration::Picoseconds(compute_ps)},
                   {"data", sim::Duration::Picoseconds(data_ps)},
                   {"bubble", sim::Duration()}};
  row.inputs = {{"devices", std::to_string(devices)}, {"hardware.node.nic", "latency_ns: 600"}};
  return row;
}

// A curve that halves, with `data_ps` of communication at each point.
ScaleReport Simulated(std::int64_t data_ps) {
  ScaleReport report{.subject = "job", .layouts = LayoutRule::kFixed};
  for (const std::int64_t devices : {8, 16, 32, 64}) {
    report.rows.push_back(RowOf(devices, 64'000'000'000'000 / devices, data_ps));
  }
  report.curves = {ReportOn(CurveOf(report.rows, Scaling::kStrong), {})};
  return report;
}

ScaleReport Measured(const std::vector<double>& values) {
  ScaleReport report{.subject = "points.csv"};
  Curve curve{.name = "a", .points = {}};
  std::int64_t devices = 4;
  for (const double value : values) curve.points.push_back({devices *= 2, value});
  report.curves = {ReportOn(curve, {})};
  return report;
}

TEST(Baseline, IsReadAsItWasWritten) {
  for (const ScaleReport& report : {Simulated(1'234'567'890), Measured({8, 4.1, 2.04, 1.1, 0.55})}) {
    const Baseline before = BaselineOf(report, "1.2.3");
    const std::string text = BaselineJson(before);
    const auto read = ReadBaseline(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(BaselineJson(read.value()), text);
    const auto comparison = Compare(read.value(), before, 0);
    ASSERT_TRUE(comparison.ok());
    EXPECT_TRUE(comparison.value().holds());
    EXPECT_TRUE(comparison.value().points.empty());
    EXPECT_TRUE(comparison.value().parameters.empty());
  }
}

// A line each, so that a change of one point is a change of one line of its file.
TEST(Baseline, HasALineAPointAndAnInput) {
  const std::string text = BaselineJson(BaselineOf(Simulated(1000), "1"));
  EXPECT_THAT(
      text,
      HasSubstr("\n    {\"devices\":8,\"step_ps\":8000000001000,\"batch\":64,\"layout\":\"tensor 1\","
                "\"digest\":\"8000000001000\",\"causes_ps\":{\"compute\":8000000000000,\"data\":1000}},\n"));
  EXPECT_THAT(text, HasSubstr("\n    {\"key\":\"hardware.node.nic\",\"value\":\"latency_ns: 600\"}\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("\"key\":\"devices\"")));  // rows differ in it
}

// One picosecond is a change, by the cause that it is of.
TEST(Compare, OfSimulatedPointsIsExact) {
  const Baseline before = BaselineOf(Simulated(1000), "1");
  ScaleReport report = Simulated(1000);
  report.rows[1] = RowOf(16, 4'000'000'000'000, 1001);
  const BaselineComparison comparison = Compare(before, BaselineOf(report, "1"), 0).value();
  EXPECT_FALSE(comparison.holds());
  ASSERT_EQ(comparison.points.size(), 1u);
  EXPECT_EQ(comparison.compared, 4u);
  EXPECT_EQ(comparison.points[0].devices, 16);
  EXPECT_TRUE(comparison.points[0].moved);
  ASSERT_EQ(comparison.points[0].causes.size(), 1u);
  EXPECT_EQ(comparison.points[0].causes[0].first, "data");
  EXPECT_EQ(comparison.points[0].causes[0].second, 1e-12);
}

// 10 % of 8 s at 8 devices is 0.8 s: 10 % at the first point, 80 % at the last, where a step takes one.
TEST(Compare, HoldsWithinTheToleranceAndTellsWhatMoved) {
  const Baseline before = BaselineOf(Simulated(0), "1");
  const Baseline after = BaselineOf(Simulated(800'000'000'000), "1");
  const BaselineComparison comparison = Compare(before, after, 0.101).value();
  ASSERT_EQ(comparison.points.size(), 4u);
  EXPECT_FALSE(comparison.points[0].moved);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(comparison.points[i].moved);
  // What stays is Amdahl's serial share: 0.8 of 64.8 s.
  bool found = false;
  for (const ParameterChange& change : comparison.parameters) {
    if (change.name != "serial_share" || change.law != Law::kAmdahl) continue;
    found = true;
    EXPECT_TRUE(change.moved);
    EXPECT_NEAR(change.before, 0, 1e-9);
    EXPECT_NEAR(change.after, 0.8 / 64.8, 1e-9);
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(Compare(before, after, 1).value().points[3].moved == false);
}

TEST(Compare, TellsPointsThatOneCurveAloneHas) {
  ScaleReport report = Simulated(1000);
  report.rows.pop_back();
  const BaselineComparison comparison =
      Compare(BaselineOf(Simulated(1000), "1"), BaselineOf(report, "1"), 1).value();
  ASSERT_EQ(comparison.points.size(), 1u);
  EXPECT_EQ(comparison.points[0].devices, 64);
  EXPECT_EQ(comparison.points[0].after, 0);
  EXPECT_FALSE(comparison.holds());
}

// These points lie up to 2 % from 8/N: two of them may differ by t(3) s sqrt(2), which is 8 %, by chance.
TEST(Compare, OfMeasuredPointsTellsNoiseFromDrift) {
  const Baseline before = BaselineOf(Measured({1.01, 0.495, 0.2525, 0.1225, 0.0631}), "1");
  const BaselineComparison noise =
      Compare(before, BaselineOf(Measured({0.99, 0.5, 0.2475, 0.1275, 0.062}), "1"), 0).value();
  EXPECT_EQ(noise.points.size(), 5u);
  EXPECT_TRUE(noise.holds());
  EXPECT_GT(noise.points[0].allowed, 0.03);
  EXPECT_LT(noise.points[0].allowed, 0.15);
  const BaselineComparison drift =
      Compare(before, BaselineOf(Measured({0.99, 0.5, 0.2475, 0.1275, 0.075}), "1"), 0).value();
  EXPECT_FALSE(drift.holds());
  for (const PointChange& change : drift.points) EXPECT_EQ(change.moved, change.devices == 128);
}

TEST(Compare, RefusesCurvesOfAnotherKind) {
  const Baseline simulated = BaselineOf(Simulated(1000), "1"),
                 measured = BaselineOf(Measured({8, 4, 2, 1}), "1");
  EXPECT_THAT(
      Compare(simulated, measured, 0).error().message,
      HasSubstr("it is of simulated points (step_time_s), strong scaling, layouts fixed; this curve is of "
                "measured points"));
}

TEST(ReadBaseline, SaysWhatIsWrongWithAFile) {
  const std::string good = BaselineJson(BaselineOf(Simulated(1000), "1"));
  const auto error = [](const std::string& text) {
    const auto read = ReadBaseline(text);
    return read.ok() ? std::string("none") : read.error().message;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(error(good), "none");
  EXPECT_THAT(error(""), HasSubstr("no baseline of `orrery scale --update`"));
  EXPECT_THAT(error(good.substr(0, good.size() / 2)), HasSubstr("no baseline"));
  EXPECT_EQ(error(with("\"schema_version\": 1", "\"schema_version\": 2")),
            "schema_version 2; 1 is read here");
  EXPECT_THAT(error(with("\"strong\"", "\"sideways\"")), HasSubstr("unknown value \"sideways\""));
  EXPECT_THAT(error(with("\"step_ps\":8000000001000", "\"step_ps\":0")), HasSubstr("not above zero"));
  EXPECT_THAT(error(with("\"devices\":8", "\"gadgets\":8")), HasSubstr("devices"));
  EXPECT_THAT(error(with("\"degrees\":2", "\"degrees\":0")), HasSubstr("without degrees of freedom"));
}

}  // namespace
}  // namespace scenarios
