#include "hardware/device_reader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "hardware/catalogue.h"
#include "hardware/device_base.h"
#include "hardware/device_message.h"
#include "proto/hardware.pb.h"

namespace hardware {

namespace {

using orrery::config::Hardware;

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

std::vector<std::string> AliasesOf(const proto::CatalogueFile& file) {
  Hardware message;
  proto::Document document;
  proto::Diagnostics ignored;  // a test reads every catalogue file
  proto::Read(std::string(file.file), file.text, {}, &message, &document, &ignored);
  return {message.aliases().begin(), message.aliases().end()};
}

// The catalogue's file of this name or alias; or null, and then `known` is all of them.
const proto::CatalogueFile* FindInCatalogue(const std::string& name, std::vector<std::string>* known) {
  const std::string quoted = '"' + name + '"';
  for (const proto::CatalogueFile& file : Catalogue()) {
    if (file.name == name) return &file;
    if (file.text.find(quoted) == std::string_view::npos) continue;  // reading them all takes milliseconds
    const std::vector<std::string> aliases = AliasesOf(file);
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return &file;
  }
  for (const proto::CatalogueFile& file : Catalogue()) {
    known->emplace_back(file.name);
    for (std::string& alias : AliasesOf(file)) known->push_back(std::move(alias));
  }
  return nullptr;
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

// The devices from the wanted one to the one that is read, each derived from
// the next: paths, and names of the catalogue.
using Chain = std::vector<std::string>;
constexpr std::size_t kLongestChain = 5;

// How much of a text is in its message: nothing worth checking, what was not refused, or all.
enum class Got { kNothing, kSome, kAll };

Got ReadMessage(const std::string& file, std::string_view text, const Chain& chain, Hardware* message,
                proto::Document* document, proto::Diagnostics* diagnostics);

// "NAME.textproto" or ".json" in the folder of the last file of `chain`, where there is one.
std::optional<std::string> FileBeside(const std::string& name, const Chain& chain) {
  if (name.empty() || !IsPath(chain.back())) return std::nullopt;
  const std::filesystem::path folder = std::filesystem::path(chain.back()).parent_path();
  for (const char* ending : {".textproto", ".json"}) {
    if (Exists((folder / (name + ending)).string())) return name + ending;
  }
  return std::nullopt;
}

// The device that the last file of `chain` is derived from; `place` is where it says so.
bool ReadBase(const std::string& name, const std::string& place, const Chain& chain, Hardware* base,
              proto::Diagnostics* diagnostics) {
  std::string file, text, link;
  if (IsPath(name)) {
    const std::filesystem::path folder = std::filesystem::path(chain.back()).parent_path();
    link = file = (folder / name).lexically_normal().string();
  } else {
    std::vector<std::string> known;
    const proto::CatalogueFile* found = FindInCatalogue(name, &known);
    if (found == nullptr) {
      if (const auto beside = FileBeside(name, chain))
        return ReadBase(*beside, place, chain, base, diagnostics);
      diagnostics->Error(place, UnknownDevice(name, known) + "; a file beside this one may be named, too");
      return false;
    }
    file = found->file;
    text = found->text;
    link = found->name;
  }
  std::string through;
  for (const std::string& step : chain) through += step + ", ";
  if (std::find(chain.begin(), chain.end(), link) != chain.end()) {
    diagnostics->Error(place, link + " is derived from itself: " + through + link);
    return false;
  }
  if (chain.size() == kLongestChain) {
    diagnostics->Error(place, "derived through more than " + std::to_string(kLongestChain - 1) +
                                  " devices: " + through + link);
    return false;
  }
  if (text.empty() && !proto::ReadFile(file, &text, diagnostics)) return false;
  Chain longer = chain;
  longer.push_back(link);
  proto::Document document;
  const Got got = ReadMessage(file, text, longer, base, &document, diagnostics);
  return got != Got::kNothing && CheckDevice(*base, document.root(), diagnostics) && got == Got::kAll;
}

// One text with what it is derived from.
Got ReadMessage(const std::string& file, std::string_view text, const Chain& chain, Hardware* message,
                proto::Document* document, proto::Diagnostics* diagnostics) {
  bool all = proto::Read(file, text, {}, message, document, diagnostics);
  if (!document->complete()) return Got::kNothing;
  if (message->has_derived_from()) {
    const proto::Field root = document->root();
    Hardware base;
    if (!ReadBase(message->derived_from(), root.At("derived_from").place(), chain, &base, diagnostics)) {
      return Got::kNothing;
    }
    all = TakeFromBase(base, root, message, diagnostics) && all;
  }
  return all ? Got::kAll : Got::kSome;
}

// One text, wherever it came from: `link` is what it is called in a chain.
std::optional<Device> ReadText(const std::string& file, const std::string& link, std::string_view text,
                               const std::vector<proto::Override>& overrides,
                               proto::Diagnostics* diagnostics) {
  Hardware message;
  proto::Document document;
  const Got got = ReadMessage(file, text, {link}, &message, &document, diagnostics);
  bool good = got == Got::kAll;
  if (got != Got::kNothing) good = proto::Apply(overrides, &message, &document, diagnostics) && good;
  for (const proto::Override& set : overrides) {
    if (set.path != "derived_from") continue;
    diagnostics->Error("--set " + std::to_string(set.index) + ": " + set.prefix + set.path,
                       "the file alone chooses it; wanted is another device, or its fields one by one");
    good = false;
  }
  if (got != Got::kNothing) good = CheckDevice(message, document.root(), diagnostics) && good;
  if (!good) return std::nullopt;
  Device device = ConvertDevice(message);
  device.file = file;
  device.figures = ListFigures(message);
  return device;
}

std::optional<Device> ReadPath(const std::string& path, const std::vector<proto::Override>& overrides,
                               proto::Diagnostics* diagnostics) {
  std::string text;
  if (!proto::ReadFile(path, &text, diagnostics)) return std::nullopt;
  return ReadText(path, std::filesystem::path(path).lexically_normal().string(), text, overrides,
                  diagnostics);
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
  return ReadText(std::string(file->file), std::string(file->name), file->text, overrides, diagnostics);
}

std::vector<Device> ReadCatalogue(proto::Diagnostics* diagnostics) {
  std::vector<Device> devices;
  for (const proto::CatalogueFile& file : Catalogue()) {
    std::optional<Device> device =
        ReadText(std::string(file.file), std::string(file.name), file.text, {}, diagnostics);
    if (device.has_value()) devices.push_back(std::move(*device));
  }
  return devices;
}

}  // namespace hardware
