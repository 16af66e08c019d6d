#include "scenarios/import/draft.h"

#include <google/protobuf/text_format.h>

#include <filesystem>
#include <utility>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "models/model_text.h"
#include "proto/scenario.pb.h"
#include "scenarios/loader.h"

namespace scenarios {
namespace {

// The entry for the longest beginning of `path` that there is one for.
std::string Nearest(const std::vector<Draft::Entry>& entries, std::string path) {
  while (!path.empty()) {
    for (const Draft::Entry& entry : entries) {
      if (entry.path == path && !entry.from.empty()) return entry.from;
    }
    const std::size_t end = path.find_last_of(".[");
    path.resize(end == std::string::npos ? 0 : end);
  }
  return "";
}

// ":12:3: layout.tensor: what" or "--set 3: layout.tensor: what" as path and the rest.
std::pair<std::string, std::string> PathAndWhat(const std::string& error) {
  const std::size_t place = error.find(": ");
  if (place == std::string::npos) return {"", error};
  const std::size_t path = error.find(": ", place + 2);
  if (path == std::string::npos) return {"", error.substr(place + 2)};
  return {error.substr(place + 2, path - place - 2), error.substr(path + 2)};
}

// An error that the loader has found, where the user wrote what is wrong.
void Tell(const std::string& file, const std::string& place, const std::string& path, const std::string& what,
          proto::Diagnostics* diagnostics) {
  diagnostics->Error(place.empty() ? file : place, path.empty() ? what : path + ": " + what);
}

std::string Comment(const ImportRequest& request, const std::string& framework,
                    const std::vector<std::string>& not_mapped) {
  std::string text = "# Imported from " + framework + " (" + request.file + ").\n";
  if (!not_mapped.empty()) {
    text += "#\n# Not mapped; what begins with ! changes time or memory:\n";
    for (const std::string& line : not_mapped) text += "#   " + line + '\n';
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\n') c = ' ';
  }
  return text;
}

// The entries as a message. What the schema does not take is an error at its place.
bool FillMessage(const ImportRequest& request, const Draft& draft, orrery::config::Scenario* message,
                 proto::Diagnostics* diagnostics) {
  std::vector<proto::Override> overrides;
  for (const Draft::Entry& entry : draft.entries()) {
    overrides.push_back({static_cast<int>(overrides.size()) + 1, entry.path, entry.value, ""});
  }
  proto::Diagnostics found;
  proto::Document document;
  const bool good = proto::Read("", "steps: 2", overrides, message, &document, &found);
  message->clear_steps();
  for (const std::string& error : found.errors()) {
    const auto [path, what] = PathAndWhat(error);
    Tell(request.file, draft.PlaceOf(path), path, "not simulated: " + what, diagnostics);
  }
  return good;
}

// The model's text read back, which is the last word on what is legal.
std::optional<models::Model> ReadBack(const ImportRequest& request, const Draft& draft,
                                      const std::string& text, proto::Diagnostics* diagnostics) {
  proto::Diagnostics found;
  auto model = models::ReadModelText("", text, {}, &found);
  for (const std::string& error : found.errors()) {
    const auto [path, what] = PathAndWhat(error);
    Tell(request.file, draft.PlaceOfModel(path), "model." + path, what, diagnostics);
  }
  return model;
}

}  // namespace

std::string Draft::PlaceOf(const std::string& path) const { return Nearest(entries_, path); }
std::string Draft::PlaceOfModel(const std::string& field) const { return Nearest(model_from_, field); }

void PutRequest(const ImportRequest& request, const std::string& framework, Draft* draft,
                proto::Diagnostics* diagnostics) {
  draft->Put("name", request.name);
  draft->Put("source.title", framework + " job " + request.name);
  draft->Put("source.note", "imported from " + request.file);
  if (request.hardware.empty()) {
    diagnostics->Error("--hardware", "missing; a device is wanted, as --hardware h100_sxm");
  } else {
    draft->Put("hardware", request.hardware, "--hardware");
  }
  if (request.topology.empty()) {
    diagnostics->Error("--topology", "missing; a network is wanted, as --topology rail_optimised_ndr");
  } else {
    draft->Put("topology", request.topology, "--topology");
  }
}

void PutModel(const ImportRequest& request, Draft* draft, proto::Diagnostics* diagnostics) {
  if (request.model.empty()) {
    diagnostics->Error("--model",
                       "missing; the file does not describe one, so a name is wanted, as llama3_8b");
  } else {
    draft->Put("model", request.model, "--model");
  }
}

void PutDevices(const ImportRequest& request, std::optional<std::int64_t> of_file, const std::string& from,
                Draft* draft, proto::Diagnostics* diagnostics) {
  if (request.devices) {
    draft->Put("devices", *request.devices, "--devices");
    if (of_file && *of_file != *request.devices) {
      diagnostics->Warning(from, std::to_string(*of_file) + " devices here, but --devices " +
                                     std::to_string(*request.devices) + " counts");
    }
  } else if (of_file) {
    draft->Put("devices", *of_file, from);
  } else {
    diagnostics->Error("--devices", "missing, and the file does not say how many there are");
  }
}

std::string UsualAttention(const ImportRequest& request, const Draft& draft, bool prefers_cudnn) {
  for (const Draft::Entry& entry : draft.entries()) {
    if (entry.path == "training.format" && entry.value == "FP32") return "UNFUSED";
  }
  proto::Diagnostics silent;  // the loader says what is wrong with the name
  const std::string folder = std::filesystem::path(request.output).parent_path().string();
  const auto device =
      hardware::ReadDevice(request.hardware, {}, folder.empty() ? "." : folder, &silent, "hardware");
  if (!device) return "FLASH2";
  constexpr std::int32_t kHopper = 90;
  const bool cudnn =
      device->capability >= kHopper && hardware::SupportsAttention(*device, sim::AttentionKind::kCudnn);
  if (prefers_cudnn && cudnn) return "CUDNN";
  return hardware::SupportsAttention(*device, sim::AttentionKind::kFlash2) ? "FLASH2" : "UNFUSED";
}

std::optional<ImportedJob> FinishDraft(const ImportRequest& request, const std::string& framework,
                                       const Draft& draft, std::vector<std::string> not_mapped,
                                       proto::Diagnostics* diagnostics) {
  orrery::config::Scenario message;
  FillMessage(request, draft, &message, diagnostics);
  ImportedJob job;
  std::optional<models::Model> model;
  if (draft.has_model) {
    models::Model shapes = draft.model;
    shapes.name = request.name + "_model";
    message.set_model(shapes.name);
    job.model_text =
        models::ModelText(shapes, {framework + " job " + request.name, "", "imported from " + request.file});
    model = ReadBack(request, draft, job.model_text, diagnostics);
    if (!model) return std::nullopt;
  }
  google::protobuf::TextFormat::Printer printer;
  std::string fields;
  if (!printer.PrintToString(message, &fields)) return std::nullopt;
  job.scenario_text = Comment(request, framework, not_mapped) + fields;

  proto::Diagnostics found;
  auto scenario = model ? LoadScenarioText(request.output, job.scenario_text, {}, *model, &found)
                        : LoadScenarioText(request.output, job.scenario_text, {}, &found);
  for (const std::string& error : found.errors()) {
    const auto [path, what] = PathAndWhat(error);
    const std::string place = draft.PlaceOf(path);
    // What is missing because it was refused above has its own line already.
    if (what.starts_with("missing") && diagnostics->errors().size() > 0 && place.empty()) continue;
    Tell(request.file, place, path, what, diagnostics);
  }
  for (const std::string& warning : found.warnings()) {
    const auto [path, what] = PathAndWhat(warning);
    const std::string place = draft.PlaceOf(path);
    diagnostics->Warning(place.empty() ? request.file : place, path + ": " + what);
  }
  if (!scenario || !diagnostics->ok()) return std::nullopt;
  job.scenario = *std::move(scenario);
  job.not_mapped = std::move(not_mapped);
  return job;
}

}  // namespace scenarios
