// Measured collectives beside simulated ones, and docs/network.md to what comes of them.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/network/curves.h"
#include "tests/pages/page.h"

namespace network {
namespace {

const std::vector<Compared>& All() {
  static const std::vector<Compared> all = Compare(ReadMeasured());
  return all;
}

const std::vector<scenarios::Calibration>& Calibrations() {
  static const std::vector<scenarios::Calibration> all = Calibrate(ReadMeasured());
  return all;
}

TEST(Network, PageIsWhatTheTableAndTheModelsGive) {
  const std::string page = Document(All(), Calibrations(), ReadMeasured());
  if (page == pages::Kept("network.md")) return;
  ADD_FAILURE() << "docs/network.md is not up to date; the new one is "
                << pages::WriteNew("network.md", page);
}

// Rows that parameters were fitted to, by device and collective: 15 % from 1 MiB on, 25 % below.
TEST(Network, RowsOfOneNodeAreWithinAFewPerCent) {
  std::map<std::tuple<std::string, std::string, bool>, std::vector<const Compared*>> groups;
  for (const Compared& one : All()) {
    if (one.row.source != "aiconfigurator") continue;
    groups[{one.row.device, one.row.collective, one.row.bytes.count() >= 1 << 20}].push_back(&one);
  }
  EXPECT_GE(groups.size(), 30u);
  for (const auto& [key, rows] : groups) {
    const auto& [gpu, collective, large] = key;
    const Errors errors = ErrorsOf(rows);
    EXPECT_LE(errors.mape, large ? 0.15 : 0.25) << gpu << ' ' << collective;
    EXPECT_LE(std::abs(errors.bias), large ? 0.075 : 0.125) << gpu << ' ' << collective;
  }
}

// The same of figures that were fitted without a row's curve.
TEST(Network, CurvesThatWereLeftOutAreWithinTheSame) {
  std::map<std::tuple<std::string, std::string, bool>, std::vector<double>> groups;
  for (const scenarios::Calibration& calibration : Calibrations()) {
    for (const scenarios::CalibratedRow& row : calibration.rows) {
      if (!(row.held_out_s > 0)) continue;
      groups[{row.row.device, row.row.collective, row.row.bytes.count() >= 1 << 20}].push_back(
          row.held_out_s / row.row.seconds - 1);
    }
  }
  EXPECT_GE(groups.size(), 30u);
  for (const auto& [key, errors] : groups) {
    const auto& [gpu, collective, large] = key;
    const scenarios::ErrorsOfRows sum = scenarios::ErrorsOfAll(errors);
    EXPECT_LE(sum.mape, large ? 0.15 : 0.25) << gpu << ' ' << collective;
    EXPECT_LE(std::abs(sum.bias), large ? 0.075 : 0.125) << gpu << ' ' << collective;
  }
}

// Eight A100 of one thread: nothing was fitted to them, and the launches are the device's own figure.
TEST(Network, RowsOfOneHostThreadAreWithinTheSame) {
  for (const bool large : {false, true}) {
    std::vector<const Compared*> rows;
    for (const Compared& one : All()) {
      if (!one.row.note.starts_with("nccl-tests -g ")) continue;
      if ((one.row.bytes.count() >= 1 << 20) == large) rows.push_back(&one);
    }
    ASSERT_GE(rows.size(), 5u);
    const Errors errors = ErrorsOf(rows);
    EXPECT_LE(errors.mape, large ? 0.15 : 0.25);
    EXPECT_LE(std::abs(errors.bias), large ? 0.075 : 0.125);
  }
}

// Between nodes nothing was fitted at all.
TEST(Network, RowsOfHopperBetweenNodesAreWithinTwentyPerCent) {
  std::vector<const Compared*> rows;
  for (const Compared& one : All()) {
    if (one.row.nodes > 1 && one.row.device == "h100_sxm") rows.push_back(&one);
  }
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_LE(ErrorsOf(rows).mape, 0.2);
  EXPECT_LE(std::abs(ErrorsOf(rows).bias), 0.1);
}

// What the files have is what the rows give today: fitted again, the mean error of a set of devices stays,
// up to half a per cent.
TEST(Network, FiguresOfTheFilesAreTheFittedOnes) {
  for (const scenarios::Calibration& calibration : Calibrations()) {
    std::vector<double> shipped, fitted;
    for (const scenarios::CalibratedRow& row : calibration.rows) {
      shipped.push_back(row.shipped_s / row.row.seconds - 1);
      fitted.push_back(row.fitted_s / row.row.seconds - 1);
    }
    EXPECT_NEAR(scenarios::ErrorsOfAll(shipped).mape, scenarios::ErrorsOfAll(fitted).mape, 0.005)
        << calibration.rows.front().row.device;
  }
}

}  // namespace
}  // namespace network
