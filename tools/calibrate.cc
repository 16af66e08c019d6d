// orrery calibrate: measurements in, figures of a device out.

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "hardware/device_reader.h"
#include "scenarios/calibration/fitted_text.h"
#include "scenarios/collective_run/job_text.h"
#include "scenarios/output/output_file.h"
#include "tools/calibrate_gemm.h"
#include "tools/calibrate_parts.h"
#include "tools/commands.h"
#include "tools/import_job.h"

namespace tools {

std::optional<sim::Error> WriteNewFile(const std::string& path, const std::string& text) {
  auto created = scenarios::OutputFile::Create(path);
  if (!created.ok()) return created.error();
  scenarios::OutputFile file = std::move(created).value();
  file.Write(text);
  if (const auto finished = file.Finish(); !finished.ok()) return finished.error();
  return std::nullopt;
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
    const std::string column = condition.substr(0, equals);
    if (std::any_of(conditions.begin(), conditions.end(), [&](const auto& c) { return c.first == column; })) {
      diagnostics->Error("--where " + condition, "the column is given twice; one value of it is wanted");
      continue;
    }
    conditions.emplace_back(column, condition.substr(equals + 1));
  }
  return conditions;
}

namespace {

// What is wrong with the words, before any file is read.
std::optional<std::string> RefusalOf(const Arguments& arguments) {
  if (arguments.positional.size() < 2 || arguments.positional[0] != "collectives") {
    return "wanted `orrery calibrate collectives FILE... --hardware NAME` or `... gemm TABLE.csv ...`";
  }
  if (!arguments.has("hardware")) {
    return "--hardware NAME is wanted, whose figures are fitted; `orrery list hardware` names them";
  }
  const std::pair<const char*, const char*> outputs[] = {{"output", ".textproto"}, {"residuals", ".csv"}};
  for (const auto& [flag, ending] : outputs) {
    const std::string path = arguments.value(flag);
    if (!arguments.has(flag)) continue;
    if (!path.ends_with(ending)) {
      return std::string("--") + flag + ' ' + path + ": the name of a " + ending + " is wanted";
    }
    std::error_code error;
    if (std::filesystem::exists(path, error)) {
      return std::string("--") + flag + ' ' + path + " is there already; it is not written over";
    }
  }
  const std::string name = std::filesystem::path(arguments.value("output")).stem().string();
  if (arguments.has("output") && !IsName(name)) {
    return "--output: \"" + name + "\" is no name of letters, digits, '_', '.' and '-'";
  }
  if (arguments.has("nccl")) {
    const auto version = sim::ReadNcclVersion(arguments.value("nccl"));
    if (!version.ok()) return "--nccl: " + version.error().message;
  }
  if (arguments.has("collective")) {
    const auto test = scenarios::ParseTest(arguments.value("collective"));
    if (!test.ok()) return "--collective: " + test.error().message;
  }
  return std::nullopt;
}

bool IsTable(const std::string& file) { return file.ends_with(".csv"); }

// Rows that are there twice would count twice.
void RefuseTwice(const std::vector<std::string>& files, proto::Diagnostics* diagnostics) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!scenarios::IsSameFile(files[i], files[j])) continue;
      diagnostics->Error(files[i], files[i] == files[j] ? "is given twice; once is wanted"
                                                        : "is the file " + files[j] + "; once is wanted");
      break;
    }
  }
}

// What outputs of nccl-tests may leave out, and whether any of them does.
void RefuseUnused(const Arguments& arguments, const std::vector<std::string>& files,
                  const scenarios::NcclTestsNeeds& needs, proto::Diagnostics* diagnostics) {
  const bool tables = std::all_of(files.begin(), files.end(), IsTable);
  const auto refuse = [&](const char* flag, const char* column, bool needed) {
    if (!arguments.has(flag) || needed) return;
    diagnostics->Error(std::string("--") + flag + ' ' + arguments.value(flag),
                       tables ? std::string("tables say it in their column \"") + column + "\"; leave it out"
                              : "every output says its own; leave it out");
  };
  refuse("collective", "collective", needs.collective);
  refuse("nccl", "nccl", needs.nccl);
  if (arguments.has("where") && std::none_of(files.begin(), files.end(), IsTable)) {
    diagnostics->Error("--where " + arguments.values.at("where").front(),
                       "outputs of nccl-tests have no columns to keep rows by; leave it out, or give a .csv");
  }
}

std::vector<scenarios::MeasuredCollective> ReadRows(const Arguments& arguments,
                                                    const std::vector<std::string>& files,
                                                    proto::Diagnostics* diagnostics) {
  const auto where = WhereOf(arguments, diagnostics);
  const scenarios::NcclTestsDefaults defaults{arguments.value("collective"), arguments.value("nccl")};
  scenarios::NcclTestsNeeds needs;
  std::vector<scenarios::MeasuredCollective> rows;
  RefuseTwice(files, diagnostics);
  for (const std::string& file : files) {
    std::string text;
    if (!proto::ReadFile(file, &text, diagnostics)) continue;
    std::vector<scenarios::MeasuredCollective> some;
    if (IsTable(file)) {
      const auto table = scenarios::ReadCsv(file, text, diagnostics);
      if (table) some = scenarios::ReadMeasuredCollectives(*table, where, diagnostics);
    } else {
      some = scenarios::ReadNcclTestsOutput(file, text, defaults, diagnostics, &needs);
    }
    rows.insert(rows.end(), some.begin(), some.end());
  }
  if (diagnostics->ok()) RefuseUnused(arguments, files, needs, diagnostics);
  return rows;
}

// The devices whose figures are fitted together.
class Devices {
 public:
  Devices(const std::vector<std::string>& names, proto::Diagnostics* diagnostics) {
    for (const std::string& name : names) {
      auto device = hardware::ReadDevice(name, {}, "", diagnostics, "--hardware");
      if (!device) continue;
      if (Find(device->name) != nullptr) {
        diagnostics->Error("--hardware " + name, "is given twice; once is wanted");
        continue;
      }
      devices_.push_back(*std::move(device));
    }
  }

  const hardware::Device& first() const { return devices_.front(); }

  const hardware::Device* Find(const std::string& name) const {
    for (const hardware::Device& device : devices_) {
      const auto& aliases = device.aliases;
      if (device.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
        return &device;
      }
    }
    return nullptr;
  }

  // The first one has the figures to begin with; another without rows adds nothing.
  void RefuseWithoutRows(const std::vector<scenarios::MeasuredCollective>& rows,
                         proto::Diagnostics* diagnostics) const {
    for (std::size_t i = 1; i < devices_.size(); ++i) {
      const bool measured = std::any_of(rows.begin(), rows.end(),
                                        [&](const auto& row) { return Find(row.device) == &devices_[i]; });
      if (measured) continue;
      diagnostics->Error("--hardware " + devices_[i].name, "no row is of this device; leave it out");
    }
  }

 private:
  std::vector<hardware::Device> devices_;
};

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

int RunCalibrate(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (!arguments.positional.empty() && arguments.positional[0] == "gemm") {
    return CalibrateGemm(arguments, out, err);
  }
  if (!arguments.positional.empty() && arguments.positional[0] == "points") {
    return CalibratePoints(arguments, out, err);
  }
  if (const auto refusal = RefusalOf(arguments)) return Fail(*refusal, err);
  proto::Diagnostics diagnostics;
  const Devices devices(arguments.values.at("hardware"), &diagnostics);
  const std::vector<std::string> files(arguments.positional.begin() + 1, arguments.positional.end());
  const auto rows = ReadRows(arguments, files, &diagnostics);
  if (diagnostics.ok()) devices.RefuseWithoutRows(rows, &diagnostics);
  Print(diagnostics, err);
  if (!diagnostics.ok()) return kExitUsage;

  const scenarios::DeviceFinder find = [&](const std::string& name) { return devices.Find(name); };
  auto calibrated = scenarios::CalibrateCollectives(devices.first(), find, rows);
  if (!calibrated.ok()) return Fail(calibrated.error().message, err);
  scenarios::Calibration calibration = std::move(calibrated).value();
  scenarios::HoldOut(&calibration);
  out << scenarios::CalibrationText(devices.first(), calibration);
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

}  // namespace

Command CalibrateCommand() {
  return {
      "calibrate",
      "Fits a device's figures to measured collectives or matrix products, with errors.",
      "(collectives | gemm | points) FILE... --hardware NAME... [--output FILE]",
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
      "  orrery calibrate gemm products.csv --hardware h100_sxm    columns m, n, k, us, format\n"
      "  orrery calibrate points products.csv --hardware h100_sxm --output my_h100.textproto    products of\n"
      "    exactly these shapes take the measured times, whatever the figures say; `us` is of the product\n"
      "    alone, casts of its operands left out\n",
      RunCalibrate};
}

}  // namespace tools
