#include "tools/calibrate_gemm.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

#include "hardware/device_reader.h"
#include "scenarios/calibration/doubts.h"
#include "scenarios/calibration/gemm_text.h"
#include "scenarios/calibration/measured_points.h"
#include "tools/calibrate_parts.h"
#include "tools/new_file.h"

namespace tools {
namespace {

// What is wrong with the words.
void CheckGemmWords(const Arguments& arguments, proto::Diagnostics* diagnostics) {
  const std::string& what = arguments.positional[0];
  if (arguments.positional.size() < 2) {
    diagnostics->Error(what, "wanted `orrery calibrate " + what + " TABLE.csv --hardware NAME`");
  }
  CheckWords(arguments, {"collective", "nccl"}, diagnostics);
  if (arguments.has("hardware") && arguments.values.at("hardware").size() > 1) {
    diagnostics->Error("--hardware", "one is wanted: products are of one device");
  }
}

std::vector<scenarios::MeasuredGemm> ReadGemms(const Arguments& arguments,
                                               const std::vector<std::string>& files,
                                               proto::Diagnostics* diagnostics) {
  const auto where = WhereOf(arguments, diagnostics);
  const std::string name = arguments.value("format");
  const auto format = scenarios::FindFormat(name);
  if (arguments.has("format") && !format)
    diagnostics->Error("--format " + name, "is no number format; BF16, FP8, ...");
  std::vector<scenarios::MeasuredGemm> rows;
  bool any = false, says_format = false;
  RefuseTwice(files, diagnostics);
  for (const std::string& file : files) {
    std::string text;
    if (!proto::ReadFile(file, &text, diagnostics)) continue;
    const auto table = scenarios::ReadCsv(file, text, diagnostics);
    if (!table) continue;
    for (scenarios::MeasuredGemm& row : scenarios::ReadMeasuredGemms(*table, where, diagnostics)) {
      any = true;
      says_format = says_format || row.says_format;
      if (!format || row.format == *format) rows.push_back(std::move(row));
    }
  }
  if (any && rows.empty() && diagnostics->ok()) {
    diagnostics->Error("--format " + name, says_format
                                               ? "no row is in it"
                                               : "no table has a column \"format\", so all rows are BF16");
  }
  return rows;
}

// Too few rows of every format are compared, but nothing is fitted to them.
std::vector<std::string> WhyNotWritten(const scenarios::GemmCalibration& calibration) {
  const bool fitted = std::any_of(calibration.formats.begin(), calibration.formats.end(),
                                  [](const scenarios::FormatFit& fit) { return fit.enough(); });
  return fitted ? scenarios::DoubtsOf(calibration) : calibration.notes;
}

// As the file to write will say where it is from; REQUIRES: --output
scenarios::FittedDevice WrittenDevice(const Arguments& arguments, const std::vector<std::string>& files) {
  return {.name = std::filesystem::path(arguments.value("output")).stem().string(),
          .derived_from = DerivedFrom(arguments),
          .files = files};
}

std::optional<hardware::Device> ReadNamed(const Arguments& arguments, proto::Diagnostics* diagnostics) {
  if (!arguments.has("hardware")) return std::nullopt;
  return hardware::ReadDevice(arguments.values.at("hardware").front(), {}, "", diagnostics, "--hardware");
}

}  // namespace

int CalibratePoints(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  proto::Diagnostics diagnostics;
  CheckGemmWords(arguments, &diagnostics);
  if (!arguments.has("output")) {
    diagnostics.Error("--output", "DEVICE.textproto is wanted, which the points are written to");
  }
  if (arguments.has("residuals")) diagnostics.Error("--residuals", "is of gemm, not of points");
  const std::vector<std::string> files(arguments.positional.begin() + 1, arguments.positional.end());
  const auto rows = ReadGemms(arguments, files, &diagnostics);
  const auto device = ReadNamed(arguments, &diagnostics);
  std::vector<scenarios::MeasuredGemm> points;
  if (device && diagnostics.ok()) {
    RefuseNameOf(*device, arguments, &diagnostics);
    scenarios::RefuseTooFast(*device, rows, &diagnostics);
    points = scenarios::PointsOf(*device, rows, &diagnostics);
  }
  Print(diagnostics, err);
  if (!diagnostics.ok() || !device) return kExitUsage;
  out << scenarios::PointsText(*device, points);
  const auto error = WriteNewFile(arguments.value("output"),
                                  scenarios::MeasuredDeviceText(WrittenDevice(arguments, files), points));
  return error ? Fail(error->message, err) : kExitDone;
}

int CalibrateGemm(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  proto::Diagnostics diagnostics;
  CheckGemmWords(arguments, &diagnostics);
  const std::vector<std::string> files(arguments.positional.begin() + 1, arguments.positional.end());
  const auto rows = ReadGemms(arguments, files, &diagnostics);
  const auto read = ReadNamed(arguments, &diagnostics);
  Print(diagnostics, err);
  if (!diagnostics.ok() || !read) return kExitUsage;
  const hardware::Device& device = *read;
  RefuseNameOf(device, arguments, &diagnostics);
  scenarios::RefuseTooFast(device, rows, &diagnostics);
  if (!diagnostics.ok()) {
    Print(diagnostics, err);
    return kExitUsage;
  }
  auto calibrated = scenarios::CalibrateGemms(device, rows);
  if (!calibrated.ok()) return Fail(calibrated.error().message, err);
  scenarios::GemmCalibration calibration = std::move(calibrated).value();
  scenarios::HoldOutGroups(device, &calibration);
  out << scenarios::GemmCalibrationText(device, calibration);
  if (arguments.has("residuals")) {
    const auto error = WriteNewFile(arguments.value("residuals"), scenarios::GemmResidualsCsv(calibration));
    if (error) return Fail(error->message, err);
  }
  if (!arguments.has("output")) return kExitDone;
  const std::string text = scenarios::FittedGemmText(WrittenDevice(arguments, files), device, calibration);
  return WriteDevice(arguments, WhyNotWritten(calibration), text, err);
}

}  // namespace tools
