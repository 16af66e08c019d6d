#include "scenarios/calibration/measured_points.h"

#include <map>
#include <tuple>

#include "hardware/device_cost_model.h"
#include "hardware/tile_model.h"
#include "scenarios/calibration/gemm_fit.h"
#include "scenarios/calibration/text_parts.h"

namespace scenarios {
namespace {

using sim::NumberFormat;

constexpr std::int64_t kLargestOfFiles = std::int64_t{1} << 30;

std::string ShapeText(const sim::GemmShape& shape) {
  return std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k);
}

std::map<NumberFormat, std::vector<MeasuredGemm>> ByFormat(const std::vector<MeasuredGemm>& points) {
  std::map<NumberFormat, std::vector<MeasuredGemm>> formats;
  for (const MeasuredGemm& point : points) formats[point.format].push_back(point);
  return formats;
}

}  // namespace

std::vector<MeasuredGemm> PointsOf(const hardware::Device& device, const std::vector<MeasuredGemm>& rows,
                                   proto::Diagnostics* diagnostics) {
  std::map<std::tuple<NumberFormat, std::int64_t, std::int64_t, std::int64_t>, std::string> seen;
  std::vector<MeasuredGemm> points;
  for (const MeasuredGemm& row : rows) {
    if (!IsOfDevice(device, row.device)) continue;
    const sim::GemmShape& s = row.shape;
    const auto [first, added] = seen.insert({{row.format, s.m, s.n, s.k}, row.place()});
    if (!hardware::SupportsFormat(device, row.format)) {
      diagnostics->Error(row.place(), hardware::WhyNotFormat(device, row.format));
    } else if (!added) {
      diagnostics->Error(row.place(), std::string(hardware::ToText(row.format)) + " of " + ShapeText(s) +
                                          " is at " + first->second + " too; one time a shape is wanted");
    } else if (s.m > kLargestOfFiles || s.n > kLargestOfFiles || s.k > kLargestOfFiles) {
      diagnostics->Error(row.place(), ShapeText(s) + " is larger than a device's file can say, 2^30");
    }
    points.push_back(row);
  }
  if (points.empty()) {
    diagnostics->Error("--hardware " + device.name,
                       "none of " + std::to_string(rows.size()) + " rows is of this device");
  }
  return points;
}

std::string PointsText(const hardware::Device& device, const std::vector<MeasuredGemm>& points) {
  std::string text;
  for (const auto& [format, some] : ByFormat(points)) {
    const hardware::GemmModel& model = device.gemm[static_cast<std::size_t>(format)];
    std::vector<double> errors;
    for (const MeasuredGemm& point : some) {
      const double own = hardware::GemmSeconds(model, hardware::WorkOfProduct(point.shape, format), 1,
                                               hardware::WholeDevice(device));
      errors.push_back(own / point.seconds - 1);
    }
    const ErrorsOfRows of = ErrorsOfAll(std::move(errors));
    text += Padded(hardware::ToText(format), -14) + Padded(std::to_string(some.size()), 6) +
            " products; the figures that the device has are off by " + PerCent(of.mape, false) + " %, bias " +
            PerCent(of.bias, true) + " %\n";
  }
  if (!device.measured_products.empty()) {
    text += "left out: " + std::to_string(device.measured_products.size()) + " that \"" + device.name +
            "\" has\n";
  }
  return text;
}

std::string MeasuredDeviceText(const FittedDevice& measured, const std::vector<MeasuredGemm>& points) {
  std::string files;
  for (const std::string& file : measured.files) files += (files.empty() ? "" : ", ") + file;
  const std::string source =
      "source { title: \"Measured matrix products\"  note: " +
      QuotedText(std::to_string(points.size()) + (points.size() == 1 ? " row of " : " rows of ") + files) +
      " }\n";
  std::string text = "# Measured matrix products in the place of what figures say of their shapes.\nname: " +
                     QuotedText(measured.name) + "\nderived_from: " + QuotedText(measured.derived_from) +
                     "\nbasis: MEASURED\n" + source;
  for (const auto& [format, some] : ByFormat(points)) {
    text += "\nmeasured_gemm {\n" + Line("formats", hardware::ToText(format));
    for (const MeasuredGemm& point : some) {
      text += "  points { m: " + std::to_string(point.shape.m) + "  n: " + std::to_string(point.shape.n) +
              "  k: " + std::to_string(point.shape.k) + "  us: " + FigureText(point.seconds * 1e6) + " }\n";
    }
    text += Line("basis", "MEASURED") + "  " + source + "}\n";
  }
  return text;
}

}  // namespace scenarios
