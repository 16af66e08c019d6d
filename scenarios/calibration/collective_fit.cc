#include "scenarios/calibration/collective_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "hardware/math.h"
#include "scenarios/calibration/four_digits.h"
#include "scenarios/calibration/least_squares.h"
#include "scenarios/calibration/text_parts.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

constexpr double kPrior = 0.015;  // residual, in logarithms to base 2, for a figure twice or half as large
constexpr double kMostDoublings = 8;
// From this residual on a row is an outlier, in logarithms to base 2: 11 %, which is 1.345 of the 8 % that
// rows are off as a rule. Source: Huber, "Robust estimation of a location parameter", Annals of Mathematical
// Statistics 35(1), 1964; the factor is the usual one, for 95 % efficiency where errors are normal.
constexpr double kOutlier = 0.15;

using Way = std::pair<sim::Algorithm, sim::Protocol>;

Way WayOfPoint(const CollectivePoint& point) { return {point.algorithm, point.protocol}; }

// A residual whose square grows no faster than the residual itself from kOutlier on, so that a row which was
// disturbed pulls no harder than others.
double WithoutOutliers(double residual) {
  const double size = std::abs(residual);
  if (size <= kOutlier) return residual;
  return std::copysign(std::sqrt(kOutlier * (2 * size - kOutlier)), residual);
}

// Whether the times of points change with a figure at all.
bool Matters(Figure figure, const Figures& start, std::span<const CollectivePoint* const> points) {
  if (!(start[static_cast<std::size_t>(figure)] > 0)) return false;
  return std::any_of(points.begin(), points.end(), [&](const CollectivePoint* point) {
    if (figure == Figure::kStepInside) return point->steps > 0;
    const bool copy = figure >= Figure::kCopyAllReduce && figure <= Figure::kCopyAllToAll;
    return !copy || point->copy == figure;
  });
}

Figures Written(const Figures& figures) {
  Figures written = figures;
  for (std::size_t i = 0; i < kFigures; ++i) {
    const double unit = UnitOf(static_cast<Figure>(i));
    written[i] = FourDigits(figures[i] / unit) * unit;
  }
  return written;
}

hardware::Device DeviceFor(const MeasuredCollective& row, hardware::Device device) {
  device = WithPointToPoint(std::move(device));
  device.nccl.version = NcclVersionOf(row);
  if (row.note.starts_with("NCCL_ALGO=")) {
    CHECK(!sim::SetVariable(row.note.substr(0, row.note.find(';')), &device.nccl.environment));
  }
  return device;
}

// Fits way by way; a way with too few points keeps its figures.
std::vector<WayFit> FitAll(const std::vector<WayFit>& ways, const std::vector<CalibratedRow>& rows,
                           const std::function<bool(const CalibratedRow&)>& use) {
  std::vector<WayFit> fits = ways;
  for (WayFit& way : fits) {
    std::vector<const CollectivePoint*> points;
    std::set<std::int64_t> sizes;
    for (const CalibratedRow& row : rows) {
      if (WayOfPoint(row.point) != Way(way.algorithm, way.protocol) || !use(row)) continue;
      points.push_back(&row.point);
      sizes.insert(row.row.bytes.count());
    }
    way.points = points.size();
    way.sizes = sizes.size();
    way.fitted = way.enough() ? FitWay(way.start, points) : way.start;
  }
  return fits;
}

const WayFit& FitOf(const std::vector<WayFit>& ways, const CollectivePoint& point) {
  const auto found = std::find_if(ways.begin(), ways.end(), [&](const WayFit& way) {
    return Way(way.algorithm, way.protocol) == WayOfPoint(point);
  });
  CHECK(found != ways.end());
  return *found;
}

// Every device and collective counts alike, however many rows it has: that is how errors are told. The mean
// is 1.
void Weigh(std::vector<CalibratedRow>* rows) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const CalibratedRow& row : *rows) ++counts[{row.row.device, row.row.collective}];
  for (CalibratedRow& row : *rows) {
    const std::size_t alike = counts[{row.row.device, row.row.collective}];
    row.point.weight = static_cast<double>(rows->size()) / static_cast<double>(counts.size() * alike);
  }
}

}  // namespace

Figures FitWay(const Figures& start, std::span<const CollectivePoint* const> points) {
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < kFigures; ++i) {
    if (Matters(static_cast<Figure>(i), start, points)) moved.push_back(i);
  }
  // Figures are above zero, so parameters are their doublings since the start.
  const auto figures = [&](std::span<const double> doublings) {
    Figures at = start;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      at[moved[i]] *= hardware::Exp2(std::clamp(doublings[i], -kMostDoublings, kMostDoublings));
    }
    return at;
  };
  const ResidualFunction residuals = [&](std::span<const double> doublings, std::span<double> values) {
    const Figures at = figures(doublings);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double off = hardware::Log2(TimeOf(*points[i], at) / points[i]->measured_s);
      values[i] = std::sqrt(points[i]->weight) * WithoutOutliers(off);
    }
    for (std::size_t i = 0; i < moved.size(); ++i) values[points.size() + i] = kPrior * doublings[i];
  };
  const LeastSquares best =
      Minimise(residuals, points.size() + moved.size(), std::vector<double>(moved.size(), 0));
  return Written(figures(best.parameters));
}

std::string CurveOf(const MeasuredCollective& row) {
  return row.device + ' ' + row.collective + ' ' + std::to_string(row.ranks) +
         (row.source.empty() ? "" : " of " + row.source);
}

sim::Result<Calibration> CalibrateCollectives(const hardware::Device& first, const DeviceFinder& find,
                                              const std::vector<MeasuredCollective>& rows) {
  Calibration calibration;
  std::map<std::string, std::size_t> left_out, unknown;
  for (const MeasuredCollective& row : rows) {
    const hardware::Device* device = find(row.device);
    if (device == nullptr) {
      ++left_out["of device \"" + row.device + '"'];
      continue;
    }
    if (row.nodes > 1) {
      ++left_out["between nodes, whose figures are NCCL's own"];
      continue;
    }
    hardware::Device own = DeviceFor(row, *device);
    own.collective_timing = WithPointToPoint(first).collective_timing;
    const auto point = PointOf(row, own);
    if (!point) {
      ++left_out["with more ranks than a node of \"" + own.name + "\" has, or that NCCL would refuse"];
      continue;
    }
    if (!row.nccl.empty() && !sim::ReadNcclVersion(row.nccl).ok()) ++unknown[row.nccl];
    calibration.rows.push_back({.row = row, .point = *point});
  }
  Weigh(&calibration.rows);
  for (const auto& [why, count] : left_out) {
    calibration.left_out.push_back(Counted(count, "row") + ' ' + why);
  }
  for (const auto& [version, count] : unknown) {
    MeasuredCollective row;
    row.nccl = version;
    const sim::NcclVersion taken = NcclVersionOf(row);
    calibration.notes.push_back(Counted(count, "row") + " of NCCL \"" + version + "\", taken as " +
                                std::to_string(taken.major) + '.' + std::to_string(taken.minor));
  }
  for (const hardware::CollectiveTiming& timing : WithPointToPoint(first).collective_timing) {
    const Way way{timing.algorithm, timing.protocol};
    const auto is_of = [&](const CalibratedRow& row) { return WayOfPoint(row.point) == way; };
    if (!std::any_of(calibration.rows.begin(), calibration.rows.end(), is_of)) continue;
    calibration.ways.push_back({.algorithm = way.first, .protocol = way.second, .start = FiguresOf(timing)});
  }
  calibration.ways = FitAll(calibration.ways, calibration.rows, [](const CalibratedRow&) { return true; });
  for (CalibratedRow& row : calibration.rows) {
    const WayFit& way = FitOf(calibration.ways, row.point);
    row.shipped_s = TimeOf(row.point, way.start);
    row.fitted_s = TimeOf(row.point, way.fitted);
  }
  if (std::none_of(calibration.ways.begin(), calibration.ways.end(),
                   [](const WayFit& way) { return way.enough(); })) {
    const std::string why =
        calibration.left_out.empty() ? "" : "; left out: " + FirstOf(calibration.left_out);
    return sim::Error{"--hardware: " + Counted(calibration.rows.size(), "row") + " of one node of \"" +
                      first.name + "\", too few to fit; " + std::to_string(kFewestPoints) +
                      " of one algorithm and protocol, of " + std::to_string(kFewestSizes) +
                      " sizes or more, would do" + why};
  }
  return calibration;
}

void HoldOut(Calibration* calibration) {
  std::map<std::string, std::vector<CalibratedRow*>> curves;
  for (CalibratedRow& row : calibration->rows) curves[CurveOf(row.row)].push_back(&row);
  for (auto& [curve, rows] : curves) {
    // Ways without a row of this curve keep the figures that they have.
    std::vector<WayFit> touched;
    for (const WayFit& way : calibration->ways) {
      const bool of_curve = std::any_of(rows.begin(), rows.end(), [&](const CalibratedRow* row) {
        return WayOfPoint(row->point) == Way(way.algorithm, way.protocol);
      });
      if (of_curve) touched.push_back(way);
    }
    const auto without = [&, name = curve](const CalibratedRow& row) { return CurveOf(row.row) != name; };
    const std::vector<WayFit> fits = FitAll(touched, calibration->rows, without);
    for (CalibratedRow* row : rows) {
      const WayFit& way = FitOf(fits, row->point);
      row->held_out_s = way.enough() ? TimeOf(row->point, way.fitted) : 0;
    }
  }
}

ErrorsOfRows ErrorsOfAll(std::vector<double> errors) {
  ErrorsOfRows sum{.rows = errors.size()};
  if (errors.empty()) return sum;
  const auto n = static_cast<double>(errors.size());
  for (double& error : errors) {
    sum.bias += error / n;
    error = std::abs(error);
    sum.mape += error / n;
  }
  std::sort(errors.begin(), errors.end());
  // The nearest rank: 95 of 100 are no larger.
  sum.p95 = errors[(errors.size() * 95 + 99) / 100 - 1];
  return sum;
}

}  // namespace scenarios
