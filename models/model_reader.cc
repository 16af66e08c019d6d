#include "models/model_reader.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "models/catalogue.h"
#include "models/model_message.h"
#include "proto/model.pb.h"

namespace models {
namespace {

bool IsPath(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".textproto") || name.ends_with(".json");
}

bool Exists(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// The file that `name` means, or nothing where the catalogue has to be asked.
std::optional<std::string> FileOf(const std::string& name, const std::string& beside_folder) {
  const std::filesystem::path folder(beside_folder);
  if (IsPath(name)) {
    if (!beside_folder.empty() && Exists(folder / name)) return (folder / name).string();
    return name;
  }
  if (beside_folder.empty() || name.empty()) return std::nullopt;
  for (const char* ending : {".textproto", ".json"}) {
    const std::filesystem::path path = folder / (name + ending);
    if (Exists(path)) return path.string();
  }
  return std::nullopt;
}

}  // namespace

std::optional<Model> ReadModelText(const std::string& file, std::string_view text,
                                   const std::vector<proto::Override>& overrides,
                                   proto::Diagnostics* diagnostics) {
  const std::size_t errors_before = diagnostics->errors().size();
  orrery::config::Model in;
  proto::Document document;
  proto::Read(file, text, overrides, &in, &document, diagnostics);
  if (!document.complete()) return std::nullopt;
  Checker check(document.root(), diagnostics);
  Model out = ConvertModel(in, &check);
  CheckModel(out, &check);
  if (!in.has_source() || in.source().title().empty()) {
    diagnostics->Warning(document.root().At("source").place(), "no title; say where the shapes come from");
  }
  if (diagnostics->errors().size() > errors_before) return std::nullopt;
  return out;
}

std::optional<Model> ReadModel(const std::string& name_or_path, const std::vector<proto::Override>& overrides,
                               const std::string& beside_folder, proto::Diagnostics* diagnostics,
                               const std::string& place) {
  if (const std::optional<std::string> file = FileOf(name_or_path, beside_folder)) {
    std::string text;
    if (!proto::ReadFile(*file, &text, diagnostics)) return std::nullopt;
    return ReadModelText(*file, text, overrides, diagnostics);
  }
  std::vector<std::string> known;
  for (const proto::CatalogueFile& entry : Catalogue()) {
    if (entry.name == name_or_path) {
      return ReadModelText(std::string(entry.file), entry.text, overrides, diagnostics);
    }
    known.emplace_back(entry.name);
  }
  std::string what = "no model is called \"" + name_or_path + "\"";
  const std::vector<std::string> near = proto::Nearest(name_or_path, known);
  for (std::size_t i = 0; i < near.size(); ++i) {
    what += (i == 0 ? "; did you mean \"" : i + 1 == near.size() ? " or \"" : ", \"") + near[i] + "\"";
  }
  diagnostics->Error(place, what + (near.empty() ? "" : "?"));
  return std::nullopt;
}

}  // namespace models
