#include "tools/calibrate_parts.h"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "scenarios/output/output_file.h"
#include "tools/new_file.h"

namespace tools {
namespace {

std::string StemOf(const std::string& path) { return std::filesystem::path(path).stem().string(); }

void CheckFile(const Arguments& arguments, const std::string& flag, const std::string& ending,
               proto::Diagnostics* diagnostics) {
  if (!arguments.has(flag)) return;
  const std::string path = arguments.value(flag), place = "--" + flag + ' ' + path;
  if (!path.ends_with(ending)) {
    diagnostics->Error(place, "the name of a " + ending + " is wanted");
  } else if (StemOf(path).starts_with('.')) {
    diagnostics->Error(place, "a name in front of " + ending + ", not hidden by a '.', is wanted");
  } else if (flag == "output" && !IsName(StemOf(path))) {
    diagnostics->Error(place, '"' + StemOf(path) + "\" is no name of " + kNameSigns);
  } else if (IsThere(path)) {
    diagnostics->Error(place, "is there already; it is not written over");
  }
}

}  // namespace

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

void CheckWords(const Arguments& arguments, const std::vector<std::string>& of_the_other_kind,
                proto::Diagnostics* diagnostics) {
  const std::string& kind = arguments.positional.front();
  if (!arguments.has("hardware")) {
    diagnostics->Error("--hardware",
                       "NAME is wanted, whose figures are fitted; `orrery list hardware` names them");
  }
  for (const std::string& flag : of_the_other_kind) {
    if (!arguments.has(flag)) continue;
    diagnostics->Error("--" + flag,
                       (kind == "collectives" ? "is of gemm" : "is of collectives") + (", not of " + kind));
  }
  CheckFile(arguments, "output", ".textproto", diagnostics);
  CheckFile(arguments, "residuals", ".csv", diagnostics);
}

void RefuseNameOf(const hardware::Device& device, const Arguments& arguments,
                  proto::Diagnostics* diagnostics) {
  if (!arguments.has("output")) return;
  const std::string path = arguments.value("output"), name = StemOf(path);
  const auto& aliases = device.aliases;
  if (name != device.name && std::find(aliases.begin(), aliases.end(), name) == aliases.end()) return;
  diagnostics->Error(
      "--output " + path,
      '"' + name + "\" is the device that it derives from; the new one needs a name of its own");
}

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

std::string DerivedFrom(const Arguments& arguments) {
  const std::string& from = arguments.values.at("hardware").front();
  if (from.find('/') == std::string::npos && !from.ends_with(".textproto") && !from.ends_with(".json")) {
    return from;
  }
  const std::filesystem::path folder = std::filesystem::path(arguments.value("output")).parent_path();
  return std::filesystem::path(from).lexically_proximate(folder.empty() ? "." : folder).string();
}

int WriteDevice(const Arguments& arguments, const std::vector<std::string>& doubts, const std::string& text,
                std::ostream& err) {
  const std::string path = arguments.value("output");
  for (const std::string& doubt : doubts) Fail("--output " + path + ": not written: " + doubt, err);
  if (!doubts.empty()) return kExitUsage;
  if (const auto error = WriteNewFile(path, text)) return Fail(error->message, err);
  return kExitDone;
}

}  // namespace tools
