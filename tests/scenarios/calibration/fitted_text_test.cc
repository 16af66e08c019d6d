// The file that a calibration writes, read back.

#include "scenarios/calibration/fitted_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/scenarios/calibration/calibrating.h"

namespace scenarios {
namespace {

using testing::AllOf;
using testing::HasSubstr;

hardware::Device AsWritten(const std::string& name) {
  proto::Diagnostics diagnostics;
  const auto device = hardware::ReadDevice(name,
                                           {{.index = 1, .path = "node.pcie.latency_ns", .value = "0"},
                                            {.index = 2, .path = "node.nic.latency_ns", .value = "0"}},
                                           "", &diagnostics);
  CHECK(device.has_value());
  return *device;
}

// Rows of a node whose all-gathers copy at half the rate.
Calibration CalibrationOf(const hardware::Device& device) {
  hardware::Device slower = device;
  for (hardware::CollectiveTiming& timing : slower.collective_timing) {
    Figures figures = FiguresOf(timing);
    figures[static_cast<std::size_t>(Figure::kCopyAllGather)] /= 2;
    timing = WithFigures(timing, figures);
  }
  const DeviceFinder find = [&](const std::string&) { return &device; };
  auto calibration = CalibrateCollectives(device, find, CurvesOn(slower)).value();
  HoldOut(&calibration);
  return calibration;
}

class FittedText : public testing::Test {
 protected:
  const hardware::Device device_ = DeviceCalled("h100_sxm");
  const Calibration calibration_ = CalibrationOf(device_);
  const std::string text_ =
      FittedDeviceText({.name = "my_h100", .derived_from = "h100_sxm", .files = {"rows.csv"}},
                       AsWritten("h100_sxm"), calibration_);
};

TEST_F(FittedText, IsADeviceThatTakesTheFittedTimes) {
  const std::string path = testing::TempDir() + "my_h100.textproto";
  std::ofstream(path) << text_;
  const hardware::Device fitted = DeviceCalled(path);
  EXPECT_EQ(fitted.name, "my_h100");
  for (const CalibratedRow& row : calibration_.rows) {
    EXPECT_NEAR(Simulated(row.row, fitted), row.fitted_s, 1e-9 + 1e-4 * row.fitted_s) << CurveOf(row.row);
  }
  // What was not fitted is as it was, between nodes too.
  ASSERT_EQ(fitted.collective_timing.size(), device_.collective_timing.size());
  for (std::size_t i = 0; i < fitted.collective_timing.size(); ++i) {
    EXPECT_EQ(fitted.collective_timing[i].step_between, device_.collective_timing[i].step_between);
    EXPECT_EQ(fitted.collective_timing[i].algorithm, device_.collective_timing[i].algorithm);
  }
  std::filesystem::remove(path);
}

TEST_F(FittedText, SaysWhatItWasFittedTo) {
  EXPECT_THAT(text_, AllOf(HasSubstr("# Figures of collectives fitted to 252 rows of rows.csv.\n"),
                           HasSubstr("# Each curve by a fit to the others, "),
                           HasSubstr("  basis: MEASURED\n"), HasSubstr(" rows of rows.csv\"\n")));
}

TEST_F(FittedText, TablesFiguresAndErrors) {
  const std::string text = CalibrationText(device_, calibration_);
  EXPECT_THAT(text, AllOf(HasSubstr("Collectives of \"h100_sxm\": 252 rows\n"),
                          HasSubstr("own_copy_all_gather_gb_per_s             745     372."),
                          HasSubstr("h100_sxm all_gather from 1M")));
  // A row each, and one of names.
  const std::string csv = ResidualsCsv(calibration_);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 253);
}

}  // namespace
}  // namespace scenarios
