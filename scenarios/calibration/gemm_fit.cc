#include "scenarios/calibration/gemm_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "hardware/device_cost_model.h"
#include "hardware/math.h"
#include "scenarios/calibration/four_digits.h"
#include "scenarios/calibration/least_squares.h"
#include "scenarios/calibration/text_parts.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

using hardware::GemmModel;
using sim::NumberFormat;

constexpr double kSoftGemm = 0.03;  // residuals of 3 % and more count by their distance
constexpr double kGemmPrior =
    2e-3;  // residual for a figure's parameter of 1: what no row tells stays in the middle
constexpr double kWorthIt = 0.998;  // of the cost, for another kind of kernel to be taken
constexpr std::int32_t kMostParts = 16;
constexpr Effort kEffort = {.most_steps = 100, .small_gain = 1e-5};

constexpr GemmFigure kFitted[] = {
    {"efficiency", &GemmModel::efficiency, 1, 0.2, 1},
    {"relative_128x128", &GemmModel::relative_128x128, 1, 0.3, 1},
    {"relative_128x64", &GemmModel::relative_128x64, 1, 0.1, 1},
    {"prologue_k", &GemmModel::prologue_k, 1, 0, 2000},
    {"wave_overlap", &GemmModel::wave_overlap, 1, 0, 1},
    {"long_kernel_loss", &GemmModel::long_kernel_loss, 1, 0, 0.5},
    {"split_fixed_us", &GemmModel::split_fixed_s, 1e-6, 0, 12},
    {"fixed_us", &GemmModel::fixed_s, 1e-6, 0, 8},
    {"l2_sm_gb_per_s", &GemmModel::l2_sm_bytes_per_s, 1e9, 5, 500},
    {"sm_memory_ratio", &GemmModel::sm_memory_ratio, 1, 0.3, 20},
    {"memory_efficiency", &GemmModel::memory_efficiency, 1, 0.3, 1},
    {"l2_ratio", &GemmModel::l2_ratio, 1, 1, 8},
    {"l2_first_part", &GemmModel::l2_first_part, 1, 0.05, 2},
    {"l2_second_part", &GemmModel::l2_second_part, 1, 0.01, 2},
    {"norm", &GemmModel::norm, 1, 1, 8},
    {"row_k_ns", &GemmModel::row_k_s, 1e-9, 0, 2},
    {"cast_fixed_us", &GemmModel::cast_fixed_s, 1e-6, 0, 20},
    {"cast_bytes", &GemmModel::cast_bytes, 1, 0, 30},
};

// Where a fit begins: near what most devices end at.
GemmModel UsualModel(double peak_flops_per_s) {
  return {.kind = hardware::GemmModelKind::kTiles,
          .peak_flops_per_s = peak_flops_per_s,
          .efficiency = 0.75,
          .relative_128x128 = 0.98,
          .relative_128x64 = 0.9,
          .prologue_k = 150,
          .wave_overlap = 0.6,
          .long_kernel_loss = 0.08,
          .most_parts = kMostParts,
          .split_fixed_s = 2.5e-6,
          .fixed_s = 2.2e-6,
          .l2_sm_bytes_per_s = 120e9,
          .sm_memory_ratio = 1.2,
          .memory_efficiency = 0.9,
          .l2_ratio = 1.5,
          .l2_first_part = 0.6,
          .l2_second_part = 0.08,
          .norm = 3};
}

// Formats whose activations are cast in front of the product.
bool IncludesCast(NumberFormat format) {
  return format == NumberFormat::kFp8 || format == NumberFormat::kFp8Block ||
         format == NumberFormat::kMxFp8 || format == NumberFormat::kNvFp4 || format == NumberFormat::kInt8;
}

// A figure between its bounds as a number without any, and back: x / sqrt(1 + x^2) goes from -1 to 1.
double ToParameter(const GemmFigure& figure, const GemmModel& model) {
  const double part = (model.*figure.member / figure.unit - figure.low) / (figure.high - figure.low);
  const double side = 2 * std::clamp(part, 0.005, 0.995) - 1;
  return side / std::sqrt(1 - side * side);
}
double FromParameter(const GemmFigure& figure, double x) {
  const double part = 0.5 + 0.5 * x / std::sqrt(1 + x * x);
  return (figure.low + (figure.high - figure.low) * part) * figure.unit;
}

struct Problem {
  std::vector<const GemmFigure*> moved;
  std::vector<GemmPoint> points;
  hardware::Share share;
};

struct Solution {
  GemmModel model;
  double cost = 0;
};

Solution Solve(const Problem& problem, const GemmModel& start) {
  constexpr double kLn2 = 0.69314718055994530942;
  const std::size_t figures = problem.moved.size(), points = problem.points.size();
  std::vector<double> begin(figures);
  for (std::size_t i = 0; i < figures; ++i) begin[i] = ToParameter(*problem.moved[i], start);
  const auto model_at = [&](std::span<const double> at) {
    GemmModel model = start;
    for (std::size_t i = 0; i < figures; ++i) {
      model.*problem.moved[i]->member = FromParameter(*problem.moved[i], at[i]);
    }
    return model;
  };
  const ResidualFunction residuals = [&](std::span<const double> at, std::span<double> values) {
    const GemmModel model = model_at(at);
    for (std::size_t i = 0; i < points; ++i) {
      const GemmPoint& point = problem.points[i];
      const double seconds = MeasuredSeconds(model, point.work, problem.share);
      values[i] = Softened(kLn2 * hardware::Log2(seconds / point.seconds), kSoftGemm);
    }
    for (std::size_t i = 0; i < figures; ++i) values[points + i] = kGemmPrior * at[i];
  };
  const LeastSquares best = Minimise(residuals, points + figures, begin, kEffort);
  return {model_at(best.parameters), best.cost};
}

// `moves_start`: the start of the kernel is fitted, too; it cannot be told from that of a cast.
Problem ProblemOf(std::vector<GemmPoint> points, const hardware::Share& share, NumberFormat format,
                  bool moves_start, bool one_row) {
  Problem problem{.moved = {}, .points = std::move(points), .share = share};
  for (const GemmFigure& figure : kFitted) {
    const bool of_cast = figure.member == &GemmModel::cast_fixed_s || figure.member == &GemmModel::cast_bytes;
    if (of_cast && !IncludesCast(format)) continue;
    if (figure.member == &GemmModel::fixed_s && !moves_start) continue;
    if (figure.member == &GemmModel::row_k_s && !one_row) continue;
    problem.moved.push_back(&figure);
  }
  return problem;
}

GemmModel WrittenModel(GemmModel model) {
  for (const GemmFigure& figure : kFitted) {
    model.*figure.member = FourDigits(model.*figure.member / figure.unit) * figure.unit;
  }
  return model;
}

// Kinds of kernels are tried one after the other: with k in parts or whole, and with one for single rows.
GemmModel FitFormat(const std::vector<GemmPoint>& points, const hardware::Share& share, NumberFormat format,
                    const GemmModel& start, bool moves_start) {
  Problem problem = ProblemOf(points, share, format, moves_start, false);
  Solution best = Solve(problem, start);
  const auto attempt = [&](const GemmModel& from) {
    const Solution other = Solve(problem, from);
    if (other.cost < kWorthIt * best.cost) best = other;
  };
  GemmModel other = start;
  for (const double norm : {1.6, 3.0, 5.0}) {
    for (const double overlap : {0.2, 0.85}) {
      for (const double ratio : {0.9, 2.0}) {
        other.norm = norm;
        other.wave_overlap = overlap;
        other.sm_memory_ratio = ratio;
        attempt(other);
      }
    }
  }
  other = best.model;
  other.most_parts = 1;
  attempt(other);
  const bool rows = std::any_of(points.begin(), points.end(),
                                [](const GemmPoint& point) { return point.work.shape.m == 1; });
  if (rows) {
    problem = ProblemOf(points, share, format, moves_start, true);
    other = best.model;
    other.row_k_s = 0.3e-9;
    attempt(other);
  }
  return best.model;
}

using Group = std::pair<std::int64_t, std::int64_t>;
Group GroupOf(const MeasuredGemm& row) { return {row.shape.n, row.shape.k}; }

std::vector<Group> GroupsOf(const std::vector<CalibratedGemm>& rows) {
  std::set<Group> groups;
  for (const CalibratedGemm& row : rows) groups.insert(GroupOf(row.row));
  return {groups.begin(), groups.end()};
}

GemmPoint GemmPointOf(const MeasuredGemm& row) {
  return {hardware::WorkOfProduct(row.shape, row.format), row.seconds};
}

// Fills the times by the device's figures and, where there are, by the fitted ones.
void FillTimes(const hardware::Share& share, FormatFit* fit) {
  for (CalibratedGemm& row : fit->rows) {
    const hardware::GemmWork work = GemmPointOf(row.row).work;
    if (fit->shipped.kind != hardware::GemmModelKind::kNone) {
      row.shipped_s = MeasuredSeconds(fit->shipped, work, share);
    }
    if (fit->enough()) row.fitted_s = MeasuredSeconds(fit->fitted, work, share);
  }
}

GemmModel FitRows(const hardware::Device& device, const GemmModel& sixteen_bits, const FormatFit& fit) {
  std::vector<GemmPoint> points;
  for (const CalibratedGemm& row : fit.rows) points.push_back(GemmPointOf(row.row));
  const bool tiles = fit.shipped.kind == hardware::GemmModelKind::kTiles;
  GemmModel start = UsualModel(tiles ? fit.shipped.peak_flops_per_s
                                     : device.peak_flops_per_s[static_cast<std::size_t>(fit.format)]);
  const bool moves_start = !IncludesCast(fit.format);
  if (!moves_start) {
    start.fixed_s = sixteen_bits.fixed_s;
    start.cast_fixed_s = 4e-6;
    start.cast_bytes = 5;
  }
  return WrittenModel(FitFormat(points, hardware::WholeDevice(device), fit.format, start, moves_start));
}

// Between which shapes the rows lie.
void SetRange(FormatFit* fit) {
  using Range = GemmModel::Range;
  Range from = {INT64_MAX, INT64_MAX, INT64_MAX}, to;
  for (const CalibratedGemm& row : fit->rows) {
    const sim::GemmShape& shape = row.row.shape;
    from = {std::min(from.m, shape.m), std::min(from.n, shape.n), std::min(from.k, shape.k)};
    to = {std::max(to.m, shape.m), std::max(to.n, shape.n), std::max(to.k, shape.k)};
  }
  fit->fitted.fitted_from = from;
  fit->fitted.fitted_to = to;
}

// What is odd about a format's rows.
void AddNotes(const FormatFit& fit, std::vector<std::string>* notes) {
  constexpr double kApart = 1.1;
  const std::string format = std::string("in ") + hardware::ToText(fit.format) + ", ";
  if (!fit.enough()) {
    notes->push_back(format + Counted(fit.rows.size(), "row") + " of " + Counted(fit.groups, "pair") +
                     " of n and k are too few to fit; " + std::to_string(kFewestGemms) + " of " +
                     std::to_string(kFewestGroups) + " would do");
  }
  std::map<std::array<std::int64_t, 3>, std::vector<double>> shapes;
  for (const CalibratedGemm& row : fit.rows) {
    shapes[{row.row.shape.m, row.row.shape.n, row.row.shape.k}].push_back(row.row.seconds);
  }
  std::size_t repeated = 0, apart = 0;
  for (const auto& [shape, seconds] : shapes) {
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    repeated += seconds.size() > 1 ? 1 : 0;
    apart += *most > kApart * *least ? 1 : 0;
  }
  if (repeated > 0) {
    notes->push_back(format + Counted(repeated, "shape") + " measured more than once, " +
                     std::to_string(apart) + " of them with times more than 10 % apart; every row counts");
  }
  if (!fit.rows.front().row.says_format) {
    notes->push_back("tables without a column \"format\" are taken as BF16");
  }
}

// Rows of this device by format, and why others are not among them. Nothing is fitted yet.
GemmCalibration Sort(const hardware::Device& device, const std::vector<MeasuredGemm>& rows) {
  GemmCalibration calibration;
  std::map<std::string, std::size_t> left_out;
  std::map<NumberFormat, std::vector<CalibratedGemm>> formats;
  for (const MeasuredGemm& row : rows) {
    if (IsOfDevice(device, row.device)) {
      formats[row.format].push_back({.row = row});
    } else {
      ++left_out["of device \"" + row.device + '"'];
    }
  }
  for (auto& [format, some] : formats) {
    const auto at = static_cast<std::size_t>(format);
    FormatFit fit{.format = format,
                  .shipped = device.gemm[at],
                  .fitted = device.gemm[at],
                  .groups = GroupsOf(some).size(),
                  .rows = std::move(some)};
    const std::string in =
        std::string("in ") + hardware::ToText(format) +
        (fit.rows.front().row.says_format ? "" : ", as no column \"format\" says another,");
    if (!(device.peak_flops_per_s[at] > 0)) {
      left_out[in + " of which the device has no peak"] += fit.rows.size();
    } else if (!fit.enough() && fit.shipped.kind == hardware::GemmModelKind::kNone) {
      left_out[in + " of which the device has no figures, too few to fit"] += fit.rows.size();
    } else {
      AddNotes(fit, &calibration.notes);
      calibration.formats.push_back(std::move(fit));
    }
  }
  for (const auto& [why, count] : left_out) {
    calibration.left_out.push_back(Counted(count, "row") + ' ' + why);
  }
  return calibration;
}

}  // namespace

std::span<const GemmFigure> GemmFigures() { return kFitted; }

bool IsOfDevice(const hardware::Device& device, const std::string& name) {
  return name.empty() || name == device.name ||
         std::find(device.aliases.begin(), device.aliases.end(), name) != device.aliases.end();
}

bool IsAtBound(const GemmFigure& figure, const GemmModel& model) {
  const double part = (model.*figure.member / figure.unit - figure.low) / (figure.high - figure.low);
  return part <= 0.01 || part >= 0.99;
}

bool FormatFit::moves(const GemmFigure& figure) const {
  const bool of_cast = figure.member == &GemmModel::cast_fixed_s || figure.member == &GemmModel::cast_bytes;
  if (of_cast) return IncludesCast(format);
  if (figure.member == &GemmModel::fixed_s) return !IncludesCast(format);
  return figure.member != &GemmModel::row_k_s || fitted.row_k_s > 0;
}

double MeasuredSeconds(const GemmModel& model, const hardware::GemmWork& work, const hardware::Share& share) {
  return hardware::GemmSeconds(model, work, 1, share) + hardware::MeasuredCastSeconds(model, work, share);
}

sim::Result<GemmCalibration> CalibrateGemms(const hardware::Device& device,
                                            const std::vector<MeasuredGemm>& rows) {
  GemmCalibration calibration = Sort(device, rows);
  if (calibration.formats.empty()) {
    const std::string why = calibration.left_out.empty() ? "none are given" : FirstOf(calibration.left_out);
    return sim::Error{"no rows to compare with \"" + device.name + "\": " + why};
  }
  GemmModel sixteen_bits = device.gemm[static_cast<std::size_t>(NumberFormat::kBf16)];
  for (FormatFit& fit : calibration.formats) {
    if (fit.enough()) {
      fit.fitted = FitRows(device, sixteen_bits, fit);
      SetRange(&fit);
    }
    if (fit.format == NumberFormat::kBf16) sixteen_bits = fit.fitted;
    FillTimes(hardware::WholeDevice(device), &fit);
  }
  return calibration;
}

GemmCalibration ShippedGemms(const hardware::Device& device, const std::vector<MeasuredGemm>& rows) {
  GemmCalibration calibration = Sort(device, rows);
  for (FormatFit& fit : calibration.formats) FillTimes(hardware::WholeDevice(device), &fit);
  return calibration;
}

void HoldOutGroups(const hardware::Device& device, GemmCalibration* calibration) {
  const hardware::Share share = hardware::WholeDevice(device);
  for (FormatFit& fit : calibration->formats) {
    if (!fit.enough()) continue;
    const std::vector<Group> groups = GroupsOf(fit.rows);
    std::map<Group, std::size_t> fold_of;
    for (std::size_t i = 0; i < groups.size(); ++i) fold_of[groups[i]] = i % kGemmFolds;
    for (std::size_t fold = 0; fold < kGemmFolds; ++fold) {
      std::vector<GemmPoint> others;
      for (const CalibratedGemm& row : fit.rows) {
        if (fold_of[GroupOf(row.row)] != fold) others.push_back(GemmPointOf(row.row));
      }
      // From where all rows end, among the kinds of kernels that all chose.
      const Problem problem =
          ProblemOf(std::move(others), share, fit.format, !IncludesCast(fit.format), fit.fitted.row_k_s > 0);
      const GemmModel model = WrittenModel(Solve(problem, fit.fitted).model);
      for (CalibratedGemm& row : fit.rows) {
        if (fold_of[GroupOf(row.row)] != fold) continue;
        row.held_out_s = MeasuredSeconds(model, GemmPointOf(row.row).work, share);
      }
    }
  }
}

}  // namespace scenarios
