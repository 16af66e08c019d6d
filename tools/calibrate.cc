// orrery calibrate: measurements in, figures of a device out.

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

#include "hardware/device_reader.h"
#include "scenarios/calibration/doubts.h"
#include "scenarios/calibration/fitted_text.h"
#include "scenarios/collective_run/job_text.h"
#include "tools/calibrate_gemm.h"
#include "tools/calibrate_parts.h"
#include "tools/commands.h"
#include "tools/new_file.h"

namespace tools {

namespace {

// What is wrong with the words, before any file is read.
void CheckCollectiveWords(const Arguments& arguments, proto::Diagnostics* diagnostics) {
  CheckWords(arguments, {"format"}, diagnostics);
  if (arguments.has("nccl")) {
    const auto version = sim::ReadNcclVersion(arguments.value("nccl"));
    if (!version.ok()) diagnostics->Error("--nccl", version.error().message);
  }
  if (arguments.has("collective")) {
    const auto test = scenarios::ParseTest(arguments.value("collective"));
    if (!test.ok()) diagnostics->Error("--collective", test.error().message);
  }
}

bool IsTable(const std::string& file) { return file.ends_with(".csv"); }

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
  return scenarios::FittedDeviceText(
      {.name = output.stem().string(), .derived_from = DerivedFrom(arguments), .files = files}, *as_written,
      calibration);
}

int RunCalibrate(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (!arguments.positional.empty() && arguments.positional[0] == "gemm") {
    return CalibrateGemm(arguments, out, err);
  }
  if (!arguments.positional.empty() && arguments.positional[0] == "points") {
    return CalibratePoints(arguments, out, err);
  }
  if (arguments.positional.size() < 2 || arguments.positional[0] != "collectives") {
    return Fail("wanted `orrery calibrate collectives FILE... --hardware NAME` or `... gemm TABLE.csv ...`",
                err);
  }
  proto::Diagnostics diagnostics;
  CheckCollectiveWords(arguments, &diagnostics);
  if (!diagnostics.ok()) {
    Print(diagnostics, err);
    return kExitUsage;
  }
  const Devices devices(arguments.values.at("hardware"), &diagnostics);
  const std::vector<std::string> files(arguments.positional.begin() + 1, arguments.positional.end());
  const auto rows = ReadRows(arguments, files, &diagnostics);
  if (diagnostics.ok()) devices.RefuseWithoutRows(rows, &diagnostics);
  if (diagnostics.ok()) RefuseNameOf(devices.first(), arguments, &diagnostics);
  Print(diagnostics, err);
  if (!diagnostics.ok()) return kExitUsage;

  const scenarios::DeviceFinder find = [&](const std::string& name) { return devices.Find(name); };
  auto calibrated = scenarios::CalibrateCollectives(devices.first(), find, rows);
  if (!calibrated.ok()) return Fail(calibrated.error().message, err);
  scenarios::Calibration calibration = std::move(calibrated).value();
  scenarios::RefuseTooFast(calibration, &diagnostics);
  if (!diagnostics.ok()) {
    Print(diagnostics, err);
    return kExitUsage;
  }
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
  return WriteDevice(arguments, scenarios::DoubtsOf(calibration), *text, err);
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
      "  orrery calibrate gemm products.csv --hardware h100_sxm\n"
      "  orrery calibrate points products.csv --hardware h100_sxm --output my_h100.textproto\n"
      "products.csv: columns m, n, k, us; gpu, else NAME; format, else BF16. A format is fitted to 60 rows\n"
      "and more, of 10 pairs of n and k and more; fewer are compared with what NAME has. Points: products\n"
      "of exactly these shapes take the measured times, which are without casts of their operands.\n",
      RunCalibrate};
}

}  // namespace tools
