// orrery calibrate: measurements in, figures of a device out.

#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "hardware/device_reader.h"
#include "scenarios/calibration/fitted_text.h"
#include "scenarios/calibration/gemm_text.h"
#include "scenarios/output/output_file.h"
#include "tools/commands.h"
#include "tools/import_job.h"

namespace tools {
namespace {

std::optional<sim::Error> WriteNewFile(const std::string& path, const std::string& text) {
  auto created = scenarios::OutputFile::Create(path);
  if (!created.ok()) return created.error();
  scenarios::OutputFile file = std::move(created).value();
  file.Write(text);
  if (const auto finished = file.Finish(); !finished.ok()) return finished.error();
  return std::nullopt;
}

// What is wrong with a file that is asked for, before any is read.
void CheckOutput(const Arguments& arguments, const std::string& flag, const std::string& ending,
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
void CheckWords(const Arguments& arguments, proto::Diagnostics* diagnostics) {
  const std::string kind = arguments.positional.empty() ? "" : arguments.positional[0];
  if (arguments.positional.size() < 2 || (kind != "collectives" && kind != "gemm")) {
    diagnostics->Error("calibrate",
                       "wanted `orrery calibrate collectives FILE... --hardware NAME` or "
                       "`orrery calibrate gemm FILE.csv --hardware NAME`");
  }
  if (!arguments.has("hardware")) {
    diagnostics->Error("--hardware",
                       "NAME is wanted, whose figures are fitted; `orrery list hardware` names them");
  } else if (kind == "gemm" && arguments.values.at("hardware").size() > 1) {
    diagnostics->Error("--hardware", "one is wanted: products are fitted device by device");
  }
  for (const char* flag : {"collective", "nccl"}) {
    if (kind == "gemm" && arguments.has(flag)) {
      diagnostics->Error(std::string("--") + flag, "is of collectives, not of gemm");
    }
  }
  if (kind == "collectives" && arguments.has("format")) {
    diagnostics->Error("--format", "is of gemm, not of collectives");
  }
  CheckOutput(arguments, "output", ".textproto", diagnostics);
  CheckOutput(arguments, "residuals", ".csv", diagnostics);
  const std::string name = std::filesystem::path(arguments.value("output")).stem().string();
  if (arguments.has("output") && !IsName(name)) {
    diagnostics->Error("--output", '"' + name + "\" is no name of letters, digits, '_', '.' and '-'");
  }
}

std::vector<std::pair<std::string, std::string>> WhereOf(const Arguments& arguments,
                                                         proto::Diagnostics* diagnostics) {
  std::vector<std::pair<std::string, std::string>> conditions;
  if (!arguments.has("where")) return conditions;
  for (const std::string& condition : arguments.values.at("where")) {
    const std::size_t equals = condition.find('=');
    if (equals == std::string::npos) {
      diagnostics->Error("--where " + condition, "COLUMN=VALUE is wanted");
      continue;
    }
    conditions.emplace_back(condition.substr(0, equals), condition.substr(equals + 1));
  }
  return conditions;
}

std::vector<scenarios::MeasuredCollective> ReadRows(const Arguments& arguments,
                                                    const std::vector<std::string>& files,
                                                    proto::Diagnostics* diagnostics) {
  const auto where = WhereOf(arguments, diagnostics);
  const scenarios::NcclTestsDefaults defaults{arguments.value("collective"), arguments.value("nccl")};
  std::vector<scenarios::MeasuredCollective> rows;
  for (const std::string& file : files) {
    std::string text;
    if (!proto::ReadFile(file, &text, diagnostics)) continue;
    std::vector<scenarios::MeasuredCollective> some;
    if (file.ends_with(".csv")) {
      const auto table = scenarios::ReadCsv(file, text, diagnostics);
      if (table) some = scenarios::ReadMeasuredCollectives(*table, where, diagnostics);
    } else {
      some = scenarios::ReadNcclTestsOutput(file, text, defaults, diagnostics);
    }
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

// `path` as a file in `folder` would name it; names of the catalogue stay.
std::string SeenFrom(const std::string& folder, const std::string& path) {
  if (path.find('/') == std::string::npos && !path.ends_with(".textproto") && !path.ends_with(".json")) {
    return path;
  }
  return std::filesystem::path(path).lexically_proximate(folder.empty() ? "." : folder).string();
}

// Nothing where the device cannot be read, which has been said then.
std::optional<std::string> DeviceText(const Arguments& arguments, const std::vector<std::string>& files,
                                      const scenarios::Calibration& calibration,
                                      proto::Diagnostics* diagnostics) {
  const std::filesystem::path output = arguments.value("output");
  const std::string& hardware = arguments.values.at("hardware").front();
  // Steps between nodes as the file has them: nothing of them is left to the routes.
  std::vector<proto::Override> no_way = {{.index = 1, .path = "node.pcie.latency_ns", .value = "0"}};
  const auto device = hardware::ReadDevice(hardware, {}, "", diagnostics, "--hardware");
  if (device && device->nic.wire > sim::ByteRate()) {
    no_way.push_back({.index = 2, .path = "node.nic.latency_ns", .value = "0"});
  }
  const auto as_written = hardware::ReadDevice(hardware, no_way, "", diagnostics, "--hardware");
  if (!as_written) return std::nullopt;
  return scenarios::FittedDeviceText({.name = output.stem().string(),
                                      .derived_from = SeenFrom(output.parent_path().string(), hardware),
                                      .files = files},
                                     *as_written, calibration);
}

int RunCollectives(const Arguments& arguments, const std::vector<hardware::Device>& devices,
                   const std::vector<std::string>& files, std::ostream& out, std::ostream& err) {
  proto::Diagnostics diagnostics;
  const auto rows = ReadRows(arguments, files, &diagnostics);
  Print(diagnostics, err);
  if (!diagnostics.ok()) return kExitUsage;

  const scenarios::DeviceFinder find = [&](const std::string& name) -> const hardware::Device* {
    for (const hardware::Device& device : devices) {
      const auto& aliases = device.aliases;
      if (device.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
        return &device;
      }
    }
    return nullptr;
  };
  auto calibrated = scenarios::CalibrateCollectives(devices.front(), find, rows);
  if (!calibrated.ok()) return Fail(calibrated.error().message, err);
  scenarios::Calibration calibration = std::move(calibrated).value();
  scenarios::HoldOut(&calibration);
  out << scenarios::CalibrationText(devices.front(), calibration);
  if (arguments.has("residuals")) {
    const auto error = WriteNewFile(arguments.value("residuals"), scenarios::ResidualsCsv(calibration));
    if (error) return Fail(error->message, err);
  }
  if (!arguments.has("output")) return kExitDone;
  const auto text = DeviceText(arguments, files, calibration, &diagnostics);
  Print(diagnostics, err);
  if (!text) return kExitUsage;
  if (const auto error = WriteNewFile(arguments.value("output"), *text)) return Fail(error->message, err);
  return kExitDone;
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

int RunGemm(const Arguments& arguments, const std::vector<hardware::Device>& devices,
            const std::vector<std::string>& files, std::ostream& out, std::ostream& err) {
  proto::Diagnostics diagnostics;
  const auto rows = ReadGemms(arguments, files, &diagnostics);
  Print(diagnostics, err);
  if (!diagnostics.ok()) return kExitUsage;
  const hardware::Device& device = devices.front();
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
  const std::filesystem::path output = arguments.value("output");
  const std::string from = SeenFrom(output.parent_path().string(), arguments.values.at("hardware").front());
  const std::string text = scenarios::FittedGemmText(
      {.name = output.stem().string(), .derived_from = from, .files = files}, device, calibration);
  if (const auto error = WriteNewFile(output.string(), text)) return Fail(error->message, err);
  return kExitDone;
}

int RunCalibrate(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  proto::Diagnostics diagnostics;
  CheckWords(arguments, &diagnostics);
  std::vector<hardware::Device> devices;
  if (arguments.has("hardware")) {
    for (const std::string& name : arguments.values.at("hardware")) {
      auto device = hardware::ReadDevice(name, {}, "", &diagnostics, "--hardware");
      if (device) devices.push_back(*std::move(device));
    }
  }
  Print(diagnostics, err);
  if (!diagnostics.ok()) return kExitUsage;
  const std::vector<std::string> files(arguments.positional.begin() + 1, arguments.positional.end());
  const bool gemm = arguments.positional[0] == "gemm";
  return (gemm ? RunGemm : RunCollectives)(arguments, devices, files, out, err);
}

}  // namespace

Command CalibrateCommand() {
  return {"calibrate",
          "Fits a device's figures to measured collectives or matrix products; tables how far off they are.",
          "(collectives FILE... | gemm FILE.csv...) --hardware NAME... [--output DEVICE.textproto]",
          1000,
          {{"hardware", "NAME", "whose figures; of collectives more that share them: again", true},
           {"where", "COLUMN=VALUE", "of a table only rows with this value in this column", true},
           {"format", "FORMAT", "of products only those in this number format: BF16, FP8, ...", false},
           {"collective", "NAME", "of outputs of nccl-tests that do not say: all_reduce, ...", false},
           {"nccl", "VERSION", "of outputs that do not say; else 2.27", false},
           {"output", "FILE", "the fitted device: what differs from NAME; never written over", false},
           {"residuals", "FILE", "a .csv with a row for each measured one; never written over", false}},
          "  mpirun -np 8 all_reduce_perf -b 8 -e 8G -f 2 | tee all_reduce.txt\n"
          "  orrery calibrate collectives all_reduce.txt --hardware h100_sxm --output my_h100.textproto\n"
          "  orrery calibrate gemm tests/kernels/gemm_measured.csv --hardware h100_sxm    columns "
          "m,n,k,us,format\n",
          RunCalibrate};
}

}  // namespace tools
