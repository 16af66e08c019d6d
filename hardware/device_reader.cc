#include "hardware/device_reader.h"

#include <filesystem>
#include <system_error>

#include "hardware/catalogue.h"
#include "hardware/device_message.h"
#include "proto/hardware.pb.h"

namespace hardware {

namespace {

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool IsPath(const std::string& name) {
  return name.find('/') != std::string::npos || EndsWith(name, ".textproto") || EndsWith(name, ".json");
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string Beside(const std::string& folder, const std::string& file) {
  return (std::filesystem::path(folder) / file).string();
}

// One text, wherever it came from.
std::optional<Device> ReadText(const std::string& file, std::string_view text,
                               const std::vector<proto::Override>& overrides,
                               proto::Diagnostics* diagnostics) {
  orrery::config::Hardware message;
  proto::Document document;
  if (!proto::Read(file, text, overrides, &message, &document, diagnostics)) return std::nullopt;
  if (!CheckDevice(message, document.root(), diagnostics)) return std::nullopt;
  Device device = ConvertDevice(message);
  device.file = file;
  device.figures = ListFigures(message);
  return device;
}

std::optional<Device> ReadPath(const std::string& path, const std::vector<proto::Override>& overrides,
                               proto::Diagnostics* diagnostics) {
  std::string text;
  if (!proto::ReadFile(path, &text, diagnostics)) return std::nullopt;
  return ReadText(path, text, overrides, diagnostics);
}

// The catalogue's file of this name or alias, or null; appends all names.
const proto::CatalogueFile* FindInCatalogue(const std::string& name, std::vector<std::string>* known) {
  const proto::CatalogueFile* found = nullptr;
  for (const proto::CatalogueFile& file : Catalogue()) {
    known->emplace_back(file.name);
    if (file.name == name) found = &file;
    orrery::config::Hardware message;
    proto::Document document;
    proto::Diagnostics ignored;  // a test reads every catalogue file
    if (!proto::Read(std::string(file.file), file.text, {}, &message, &document, &ignored)) continue;
    for (const std::string& alias : message.aliases()) {
      known->push_back(alias);
      if (alias == name) found = &file;
    }
  }
  return found;
}

std::string UnknownDevice(const std::string& name, const std::vector<std::string>& known) {
  std::string what = "unknown device \"" + name + "\"";
  const std::vector<std::string> nearest = proto::Nearest(name, known);
  if (!nearest.empty()) {
    what += "; did you mean ";
    for (std::size_t i = 0; i < nearest.size(); ++i) {
      if (i > 0) what += i + 1 == nearest.size() ? " or " : ", ";
      what += '"' + nearest[i] + '"';
    }
  }
  what += nearest.empty() ? "; the catalogue has" : "? The catalogue has";
  const char* comma = " ";
  for (const proto::CatalogueFile& file : Catalogue()) {
    what += comma + std::string(file.name);
    comma = ", ";
  }
  return what;
}

}  // namespace

std::optional<Device> ReadDevice(const std::string& name_or_path,
                                 const std::vector<proto::Override>& overrides,
                                 const std::string& beside_folder, proto::Diagnostics* diagnostics,
                                 const std::string& place) {
  if (IsPath(name_or_path)) {
    const std::string beside = Beside(beside_folder, name_or_path);
    const bool use_beside = !beside_folder.empty() && Exists(beside);
    return ReadPath(use_beside ? beside : name_or_path, overrides, diagnostics);
  }
  if (!beside_folder.empty() && !name_or_path.empty()) {
    const std::string beside = Beside(beside_folder, name_or_path + ".textproto");
    if (Exists(beside)) return ReadPath(beside, overrides, diagnostics);
  }
  std::vector<std::string> known;
  const proto::CatalogueFile* file = FindInCatalogue(name_or_path, &known);
  if (file == nullptr) {
    diagnostics->Error(place, UnknownDevice(name_or_path, known));
    return std::nullopt;
  }
  return ReadText(std::string(file->file), file->text, overrides, diagnostics);
}

std::vector<Device> ReadCatalogue(proto::Diagnostics* diagnostics) {
  std::vector<Device> devices;
  for (const proto::CatalogueFile& file : Catalogue()) {
    std::optional<Device> device = ReadText(std::string(file.file), file.text, {}, diagnostics);
    if (device.has_value()) devices.push_back(std::move(*device));
  }
  return devices;
}

}  // namespace hardware
