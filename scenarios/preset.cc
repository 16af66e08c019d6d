#include "scenarios/preset.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "proto/scenario.pb.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

namespace pb = google::protobuf;
namespace config = orrery::config;

// A preset's text and what to call it in messages.
struct PresetFile {
  std::string file, text;
};

bool IsPath(const std::string& name) {
  return name.find('/') != name.npos || name.ends_with(".textproto") || name.ends_with(".json");
}

bool IsFile(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// As models are found: a path, a file beside the scenario, the catalogue.
std::optional<PresetFile> Find(const std::string& name, const Block& top, const std::string& beside) {
  const auto read = [&](const std::string& path) -> std::optional<PresetFile> {
    PresetFile found{.file = path, .text = ""};
    if (!proto::ReadFile(path, &found.text, top.diagnostics())) return std::nullopt;
    return found;
  };
  const std::filesystem::path folder = beside;
  if (IsPath(name)) {
    const bool there = !beside.empty() && IsFile(folder / name);
    return read(there ? (folder / name).string() : name);
  }
  if (!beside.empty() && IsFile(folder / (name + ".textproto")))
    return read((folder / (name + ".textproto")).string());
  std::vector<std::string> names;
  for (const proto::CatalogueFile& entry : presets::Catalogue()) {
    if (entry.name == name) return PresetFile{std::string(entry.file), std::string(entry.text)};
    names.emplace_back(entry.name);
  }
  std::string wanted;
  for (const std::string& near : proto::Nearest(name, names)) wanted += (wanted.empty() ? "" : " or ") + near;
  top.Error("preset",
            "there is no preset \"" + name + "\"; " +
                (wanted.empty() ? "`orrery list presets` shows all" : "did you mean " + wanted + "?"));
  return std::nullopt;
}

std::optional<Preset> Read(const PresetFile& file, config::Preset* message, proto::Diagnostics* diagnostics) {
  const std::size_t before = diagnostics->errors().size();
  proto::Document document;
  proto::Read(file.file, file.text, {}, message, &document, diagnostics);
  if (!document.complete()) return std::nullopt;
  const Block root(document.root(), diagnostics);
  if (message->name().empty()) root.Error("name", "missing; give a name in lower_snake_case");
  if (!message->has_training()) root.Missing("training", "what training does where a scenario is silent");
  Preset preset{.name = message->name(),
                .description = message->description(),
                .source = ReadSource(message->source(), root.Of("source")),
                .fields = {}};
  if (diagnostics->errors().size() != before) return std::nullopt;
  return preset;
}

// Copies fields of `preset` that `own` has not, and lists them as "path=value".
void Take(const pb::Message& preset, const std::string& path, pb::Message* own,
          std::vector<std::string>* taken) {
  const pb::Reflection& reflection = *preset.GetReflection();
  std::vector<const pb::FieldDescriptor*> given;
  reflection.ListFields(preset, &given);
  for (const pb::FieldDescriptor* field : given) {
    const std::string name = path + '.' + field->name();
    if (!field->is_repeated() && field->message_type() != nullptr) {
      Take(reflection.GetMessage(preset, field), name, reflection.MutableMessage(own, field), taken);
      continue;
    }
    const int count = field->is_repeated() ? reflection.FieldSize(preset, field) : 0;
    if (field->is_repeated() ? reflection.FieldSize(*own, field) > 0 : reflection.HasField(*own, field))
      continue;
    std::string value, all;
    for (int i = 0; i < std::max(count, 1); ++i) {
      pb::TextFormat::PrintFieldValueToString(preset, field, field->is_repeated() ? i : -1, &value);
      all += (i > 0 ? "," : "") + value;
    }
    taken->push_back(name + '=' + all);
    // One field at a time: the message with that field alone, merged.
    const std::unique_ptr<pb::Message> alone(preset.New());
    alone->CopyFrom(preset);
    for (const pb::FieldDescriptor* other : given) {
      if (other != field) reflection.ClearField(alone.get(), other);
    }
    own->MergeFrom(*alone);
  }
}

// Takes out of a preset what has no meaning beside the scenario's own choices, which the
// loader would refuse: how state moves that is cut otherwise, and a format that follows another.
void DropWhatDoesNotApply(const config::Training& own, config::Training* preset) {
  using Sharding = config::OptimizerSharding;
  const auto kind = own.has_optimizer_sharding() ? own.optimizer_sharding() : preset->optimizer_sharding();
  if (kind == Sharding::NONE || kind == Sharding::ZERO_3) preset->clear_overlap_parameter_gather();
  if (kind == Sharding::ZERO_3) preset->clear_bucket_mb();
  if (kind != preset->optimizer_sharding()) preset->clear_sharding();
  const bool as_weights = preset->has_format() && preset->gradient_type() == preset->format();
  if (own.has_format() && as_weights) preset->set_gradient_type(own.format());
}

}  // namespace

void TakePreset(const Block& top, const std::string& beside, config::Scenario* in, Scenario* scenario) {
  if (!in->has_preset()) return;
  const std::optional<PresetFile> file = Find(in->preset(), top, beside);
  if (!file) return;
  config::Preset preset;
  scenario->preset = Read(*file, &preset, top.diagnostics());
  if (!scenario->preset) return;
  DropWhatDoesNotApply(in->training(), preset.mutable_training());
  Take(preset.training(), "training", in->mutable_training(), &scenario->preset->fields);
}

std::vector<Preset> ReadPresets(proto::Diagnostics* diagnostics) {
  std::vector<Preset> all;
  for (const proto::CatalogueFile& entry : presets::Catalogue()) {
    config::Preset message;
    auto preset = Read({std::string(entry.file), std::string(entry.text)}, &message, diagnostics);
    if (!preset) continue;
    config::Training nothing;
    Take(message.training(), "training", &nothing, &preset->fields);
    all.push_back(*std::move(preset));
  }
  return all;
}

void ExplainPreset(const Block& top, const Scenario& scenario) {
  if (!scenario.preset) return;
  std::string fields;
  for (const std::string& field : scenario.preset->fields) fields += (fields.empty() ? "" : ", ") + field;
  top.diagnostics()->Warning(top.PlaceOf("preset"), "\"" + scenario.preset->name + "\" gives " + fields +
                                                        "; fields of the scenario override it");
}

}  // namespace scenarios
