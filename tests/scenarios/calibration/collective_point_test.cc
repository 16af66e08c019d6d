// The closed form of a point beside the lowering that it was read off.

#include "scenarios/calibration/collective_point.h"

#include <gtest/gtest.h>

#include "tests/scenarios/calibration/calibrating.h"

namespace scenarios {
namespace {

Figures FiguresFor(const CollectivePoint& point, const hardware::Device& device) {
  for (const hardware::CollectiveTiming& timing : device.collective_timing) {
    if (timing.algorithm == point.algorithm && timing.protocol == point.protocol) return FiguresOf(timing);
  }
  ADD_FAILURE() << "no figures";
  return {};
}

// Within a nanosecond of what lowering gives in whole picoseconds, and a part of 10^-5 where loops fill: by
// rings, NVLS and sends, by each protocol, over switches and over PCIe.
TEST(CollectivePoint, ItsTimeIsThatOfTheLowering) {
  for (const char* name : {"h100_sxm", "a100_80_sxm", "gb300_nvl72", "l40s"}) {
    const hardware::Device device = WithPointToPoint(DeviceCalled(name));
    for (const MeasuredCollective& row : CurvesOn(device)) {
      hardware::Device own = device;
      own.nccl.version = NcclVersionOf(row);
      const auto point = PointOf(row, own);
      if (row.ranks > static_cast<std::uint32_t>(device.node.devices)) {
        EXPECT_FALSE(point.has_value());
        continue;
      }
      ASSERT_TRUE(point.has_value());
      EXPECT_NEAR(TimeOf(*point, FiguresFor(*point, device)), row.seconds, 1e-9 + 1e-5 * row.seconds)
          << name << ' ' << CurveOf(row) << ' ' << row.bytes.count();
    }
  }
}

// The same with figures that the point was not read off.
TEST(CollectivePoint, FollowsFiguresThatItHasNotSeen) {
  const hardware::Device device = DeviceCalled("h100_sxm");
  hardware::Device other = device;
  for (hardware::CollectiveTiming& timing : other.collective_timing) {
    Figures figures = FiguresOf(timing);
    for (double& figure : figures) figure *= 1.25;
    timing = WithFigures(timing, figures);
  }
  for (const MeasuredCollective& row : CurveOn(other, "all_gather", 8)) {
    const auto point = PointOf(row, device);
    ASSERT_TRUE(point.has_value());
    EXPECT_NEAR(TimeOf(*point, FiguresFor(*point, other)), row.seconds, 1e-9 + 1e-5 * row.seconds)
        << row.bytes.count();
  }
}

TEST(CollectivePoint, RowsBetweenNodesHaveNone) {
  MeasuredCollective row = CurveOn(DeviceCalled("h100_sxm"), "all_reduce", 8).back();
  row.nodes = 2;
  EXPECT_FALSE(PointOf(row, DeviceCalled("h100_sxm")).has_value());
}

TEST(CollectivePoint, VersionsThatAreNotStatedOrNotKnownHaveANeighbour) {
  const auto version = [](const std::string& text) {
    return NcclVersionOf(
        {.file = {}, .source = {}, .device = {}, .network = {}, .nccl = text, .note = {}, .collective = {}});
  };
  EXPECT_EQ(version("2.23"), (sim::NcclVersion{2, 23}));
  EXPECT_EQ(version("2.20.5"), (sim::NcclVersion{2, 20}));
  EXPECT_EQ(version("2.x"), sim::NcclVersion{});
  EXPECT_EQ(version(""), sim::NcclVersion{});
  EXPECT_EQ(version("2.31.2"), sim::kNewestNccl);
}

}  // namespace
}  // namespace scenarios
