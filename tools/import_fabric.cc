#include "tools/import_fabric.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <ostream>
#include <utility>

#include "hardware/device_reader.h"
#include "tools/commands.h"
#include "tools/import_job.h"
#include "tools/new_file.h"
#include "topologies/import/fabric_importers.h"

namespace tools {
namespace {

const topologies::FabricImporter* FindImporter(const std::string& format) {
  for (const topologies::FabricImporter& importer : topologies::FabricImporters()) {
    if (format == importer.format) return &importer;
  }
  return nullptr;
}

// What is wrong with the words, before any file is read.
std::optional<std::string> Refusal(const Arguments& arguments, const topologies::FabricImporter& importer) {
  for (const char* flag : {"topology", "model", "sequence-length", "set", "keep-unknown"}) {
    if (arguments.has(flag)) return std::string("--") + flag + " is for training jobs, not for fabrics";
  }
  if (arguments.positional.size() < 2) {
    return std::string("no file is given; wanted `orrery import ") + importer.format + ' ' + importer.takes +
           "`";
  }
  if (importer.wants_node && !arguments.has("hardware")) {
    return std::string(importer.format) +
           " has no rates, so --hardware NAME is wanted, as h100_sxm; `orrery list` names them";
  }
  const std::string path = arguments.value("output");
  if (arguments.has("output") && !path.ends_with(".textproto")) {
    return "--output " + path + ": the name of a .textproto is wanted; without it the result is printed";
  }
  if (!path.empty() && IsThere(path)) {
    return "--output " + path + " is there already; it is not written over";
  }
  return std::nullopt;
}

std::optional<std::int64_t> Devices(const Arguments& arguments) {
  if (!arguments.has("devices")) return 0;
  const std::string text = arguments.value("devices");
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

void Tell(const topologies::ImportedFabric& fabric, const std::string& name, std::ostream& err) {
  const auto devices =
      std::count_if(fabric.spec.nodes.begin(), fabric.spec.nodes.end(),
                    [](const auto& node) { return node.kind == topologies::VertexKind::kDevice; });
  err << "import: " << name << ": " << devices << " devices, " << fabric.spec.nodes.size() << " elements, "
      << fabric.spec.links.size() << " links\n";
  for (const std::string& note : fabric.notes) err << "import: " << note << '\n';
}

}  // namespace

bool IsFabricFormat(const std::string& format) { return FindImporter(format) != nullptr; }

std::string FabricFormats() {
  std::string text;
  for (const topologies::FabricImporter& importer : topologies::FabricImporters()) {
    text += (text.empty() ? "" : ", ") + std::string(importer.format);
  }
  return text;
}

std::string FabricFormatLine() {
  std::string text;
  for (const topologies::FabricImporter& importer : topologies::FabricImporters()) {
    text += (text.empty() ? "" : "|") + std::string(importer.format);
  }
  return "  orrery import " + text + " FILE   a node or a fabric\n";
}

int ImportFabric(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const topologies::FabricImporter& importer = *FindImporter(arguments.positional[0]);
  if (const auto refusal = Refusal(arguments, importer)) return Fail(*refusal, err);
  const std::optional<std::int64_t> devices = Devices(arguments);
  if (!devices)
    return Fail("--devices \"" + arguments.value("devices") + "\": a whole number of 1 and more is wanted",
                err);

  const std::string input = arguments.positional[1], path = arguments.value("output");
  const bool piped = input == "-";
  topologies::FabricFile file{
      .file = piped ? "<stdin>" : input, .text = {}, .name = arguments.value("name"), .devices = *devices};
  if (file.name.empty()) file.name = std::filesystem::path(path.empty() ? input : path).stem().string();
  if (!IsName(file.name)) {
    return Fail("\"" + file.name + "\" is no name of " + kNameSigns + "; give one with --name", err);
  }
  proto::Diagnostics diagnostics;
  if (arguments.has("hardware")) {
    const auto device = hardware::ReadDevice(arguments.value("hardware"), {}, "", &diagnostics, "--hardware");
    if (device) file.node = device->node;
  }
  std::string text;
  std::optional<topologies::ImportedFabric> fabric;
  if (proto::ReadFile(piped ? "/dev/stdin" : input, &text, &diagnostics) && diagnostics.ok()) {
    file.text = text;
    fabric = importer.import(file, &diagnostics);
  }
  Print(diagnostics, err);
  if (!fabric) return kExitUsage;
  if (path.empty()) {
    out << fabric->text;
  } else if (const auto error = WriteNewFile(path, fabric->text)) {
    return Fail(error->message, err);
  }
  Tell(*fabric, file.name, err);
  return kExitDone;
}

}  // namespace tools
