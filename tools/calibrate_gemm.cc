#include "tools/calibrate_gemm.h"

#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "hardware/device_reader.h"
#include "scenarios/calibration/gemm_text.h"
#include "scenarios/calibration/measured_points.h"
#include "tools/calibrate_parts.h"
#include "tools/import_job.h"

namespace tools {
namespace {

// What is wrong with a file that is asked for, before any is read.
void CheckGemmOutput(const Arguments& arguments, const std::string& flag, const std::string& ending,
                     proto::Diagnostics* diagnostics) {
  if (!arguments.has(flag)) return;
  const std::string path = arguments.value(flag);
  std::error_code error;
  if (!path.ends_with(ending)) {
    diagnostics->Error("--" + flag + ' ' + path, "the name of a " + ending + " is wanted");
  } else if (std::filesystem::exists(path, error)) {
    diagnostics->Error("--" + flag + ' ' + path, "is there already; it is not written over");
  }
}

// What is wrong with the words.
void CheckGemmWords(const Arguments& arguments, proto::Diagnostics* diagnostics) {
  const std::string& what = arguments.positional[0];
  if (arguments.positional.size() < 2) {
    diagnostics->Error(what, "wanted `orrery calibrate " + what + " TABLE.csv --hardware NAME`");
  }
  if (!arguments.has("hardware")) {
    diagnostics->Error("--hardware",
                       "NAME is wanted, whose figures are fitted; `orrery list hardware` names them");
  } else if (arguments.values.at("hardware").size() > 1) {
    diagnostics->Error("--hardware", "one is wanted: products are of one device");
  }
  for (const char* flag : {"collective", "nccl"}) {
    if (arguments.has(flag)) {
      diagnostics->Error(std::string("--") + flag, "is of collectives, not of " + what);
    }
  }
  CheckGemmOutput(arguments, "output", ".textproto", diagnostics);
  CheckGemmOutput(arguments, "residuals", ".csv", diagnostics);
  const std::string name = std::filesystem::path(arguments.value("output")).stem().string();
  if (arguments.has("output") && !IsName(name)) {
    diagnostics->Error("--output", '"' + name + "\" is no name of letters, digits, '_', '.' and '-'");
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
  for (const std::string& file : files) {
    std::string text;
    if (!proto::ReadFile(file, &text, diagnostics)) continue;
    const auto table = scenarios::ReadCsv(file, text, diagnostics);
    if (!table) continue;
    for (scenarios::MeasuredGemm& row : scenarios::ReadMeasuredGemms(*table, where, diagnostics)) {
      if (!format || row.format == *format) rows.push_back(std::move(row));
    }
  }
  return rows;
}

// `path` as a file in `folder` would name it; names of the catalogue stay.
std::string GemmDeviceSeenFrom(const std::string& folder, const std::string& path) {
  if (path.find('/') == std::string::npos && !path.ends_with(".textproto") && !path.ends_with(".json")) {
    return path;
  }
  return std::filesystem::path(path).lexically_proximate(folder.empty() ? "." : folder).string();
}

// As the file to write will say where it is from; REQUIRES: --output
scenarios::FittedDevice WrittenDevice(const Arguments& arguments, const std::vector<std::string>& files) {
  const std::filesystem::path output = arguments.value("output");
  return {.name = output.stem().string(),
          .derived_from =
              GemmDeviceSeenFrom(output.parent_path().string(), arguments.values.at("hardware").front()),
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
  if (device && diagnostics.ok()) points = scenarios::PointsOf(*device, rows, &diagnostics);
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
  if (const auto error = WriteNewFile(arguments.value("output"), text)) return Fail(error->message, err);
  return kExitDone;
}

}  // namespace tools
