// Fits to rows that a device with known figures gave.

#include "scenarios/calibration/collective_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/calibration/calibrating.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceFinder Only(const hardware::Device& device) {
  return [&device](const std::string& name) { return name == device.name ? &device : nullptr; };
}

// Other latencies and rates than the file's, all where they count.
hardware::Device Changed(hardware::Device device) {
  for (hardware::CollectiveTiming& timing : device.collective_timing) {
    Figures figures = FiguresOf(timing);
    figures[static_cast<std::size_t>(Figure::kBase)] *= 1.4;
    figures[static_cast<std::size_t>(Figure::kStepInside)] *= 0.8;
    figures[static_cast<std::size_t>(Figure::kLimitInside)] *= 0.9;
    figures[static_cast<std::size_t>(Figure::kCopyAllGather)] *= 0.7;
    timing = WithFigures(timing, figures);
  }
  return device;
}

// Every figure that rows depend on comes back, from rows that know nothing else of the device.
TEST(CollectiveFit, FindsTheFiguresThatMadeTheRows) {
  const hardware::Device shipped = DeviceCalled("h100_sxm"), changed = Changed(shipped);
  const auto calibration = CalibrateCollectives(shipped, Only(shipped), CurvesOn(changed)).value();
  EXPECT_GE(calibration.ways.size(), 5u);
  std::size_t near = 0;
  for (const CalibratedRow& row : calibration.rows) {
    const double error = row.fitted_s / row.row.seconds - 1;
    near += error < 0.01 && error > -0.01 ? 1 : 0;
  }
  EXPECT_GE(near, calibration.rows.size() - 8);  // LL128 has too few rows
  for (const WayFit& way : calibration.ways) {
    for (const hardware::CollectiveTiming& timing : changed.collective_timing) {
      if (timing.algorithm != way.algorithm || timing.protocol != way.protocol || way.points < 30) continue;
      const Figures wanted = FiguresOf(timing);
      for (const Figure figure : {Figure::kBase, Figure::kLimitInside, Figure::kCopyAllGather}) {
        const auto i = static_cast<std::size_t>(figure);
        EXPECT_NEAR(way.fitted[i], wanted[i], 0.03 * wanted[i]) << ToText(figure);
      }
    }
  }
}

// Rows of the device itself: nothing to move, up to the four digits that are written.
TEST(CollectiveFit, RowsOfTheDeviceItselfMoveNothing) {
  const hardware::Device device = DeviceCalled("b200_sxm");
  const auto calibration = CalibrateCollectives(device, Only(device), CurvesOn(device)).value();
  for (const WayFit& way : calibration.ways) {
    for (std::size_t i = 0; i < kFigures; ++i) EXPECT_NEAR(way.fitted[i], way.start[i], 1e-3 * way.start[i]);
  }
}

// One row took eight times as long as it does, which is 3 doublings. The fit is of some 30 rows to a latency;
// least squares would move it by 3/30 of a doubling, 7 %, and a row that pulls with 0.15 by 0.4 %.
TEST(CollectiveFit, ADisturbedRowMovesOthersLittle) {
  const hardware::Device device = DeviceCalled("h100_sxm");
  std::vector<MeasuredCollective> rows = CurvesOn(device);
  MeasuredCollective& disturbed = rows[3];
  disturbed.seconds *= 8;
  const auto calibration = CalibrateCollectives(device, Only(device), rows).value();
  for (const CalibratedRow& row : calibration.rows) {
    EXPECT_NEAR(row.fitted_s, row.shipped_s, 0.015 * row.shipped_s) << row.row.place();
  }
}

// What a curve measured cannot reach the figures that it is held out from.
TEST(CollectiveFit, HeldOutTimesDoNotDependOnWhatTheirCurveMeasured) {
  const hardware::Device device = DeviceCalled("h100_sxm");
  std::vector<MeasuredCollective> rows = CurvesOn(device);
  const std::string curve = "h100_sxm all_gather 4 of made";
  const auto held_out = [&] {
    auto calibration = CalibrateCollectives(device, Only(device), rows).value();
    HoldOut(&calibration);
    std::vector<double> times;
    for (const CalibratedRow& row : calibration.rows) {
      if (CurveOf(row.row) == curve) times.push_back(row.held_out_s);
    }
    return times;
  };
  const std::vector<double> before = held_out();
  ASSERT_EQ(before.size(), 21u);
  for (MeasuredCollective& row : rows) {
    if (CurveOf(row) == curve) row.seconds *= 3;
  }
  EXPECT_EQ(held_out(), before);
  for (const double time : before) EXPECT_GT(time, 0);
}

TEST(CollectiveFit, AWayWithTooFewRowsKeepsItsFigures) {
  const hardware::Device device = DeviceCalled("h100_sxm");
  std::vector<MeasuredCollective> rows = CurveOn(Changed(device), "all_gather", 8);
  rows.erase(rows.begin() + 12, rows.end());  // LL up to 1 MiB
  const auto one_way = CalibrateCollectives(device, Only(device), rows).value();
  ASSERT_EQ(one_way.ways.size(), 1u);
  EXPECT_TRUE(one_way.ways[0].enough());

  rows.erase(rows.begin() + 7, rows.end());
  const auto none = CalibrateCollectives(device, Only(device), rows);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "--hardware: 7 rows of one node of \"h100_sxm\", too few to fit; 8 of one algorithm and "
            "protocol, of 2 sizes or more, would do");
}

// A version that is not known is no version that the rows were done by.
TEST(CollectiveFit, SaysWhatUnknownVersionsAreTakenAs) {
  const hardware::Device device = DeviceCalled("h100_sxm");
  std::vector<MeasuredCollective> rows = CurvesOn(device);
  rows[0].nccl = rows[1].nccl = "2.12.7";
  rows[2].nccl = "2.99";
  const auto calibration = CalibrateCollectives(device, Only(device), rows).value();
  EXPECT_THAT(calibration.notes, ElementsAre("2 rows of NCCL \"2.12.7\", taken as 2.27",
                                             "1 row of NCCL \"2.99\", taken as 2.30"));
}

TEST(CollectiveFit, SaysWhichRowsItLeavesOut) {
  const hardware::Device device = DeviceCalled("h100_sxm");
  std::vector<MeasuredCollective> rows = CurveOn(device, "all_gather", 8);
  rows[0].device = "h900";
  rows[1].nodes = 2;
  rows[2].ranks = 16;
  const auto calibration = CalibrateCollectives(device, Only(device), rows).value();
  EXPECT_EQ(calibration.rows.size(), 18u);
  EXPECT_THAT(calibration.left_out,
              ElementsAre(HasSubstr("between nodes"), HasSubstr("\"h900\""), HasSubstr("more ranks")));
}

// 1, 2, ..., 100 per cent: 95 of them are no larger than 95.
TEST(ErrorsOfRows, AreMeansAndTheNearestRank) {
  std::vector<double> errors;
  for (int i = 1; i <= 100; ++i) errors.push_back((i % 2 == 0 ? 0.01 : -0.01) * i);
  const ErrorsOfRows sum = ErrorsOfAll(errors);
  EXPECT_EQ(sum.rows, 100u);
  EXPECT_NEAR(sum.mape, 0.505, 1e-12);
  EXPECT_NEAR(sum.bias, 0.005, 1e-12);  // 50 pairs, each 1 % more than the one before
  EXPECT_NEAR(sum.p95, 0.95, 1e-12);
  EXPECT_EQ(ErrorsOfAll({}).rows, 0u);
}

}  // namespace
}  // namespace scenarios
