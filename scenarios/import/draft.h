// Draft: a scenario in the making, as paths of proto/scenario.proto with the value
// and the place in the imported file that each comes from. So what the loader
// finds wrong with the scenario is said at the line that the user wrote.

#ifndef SCENARIOS_IMPORT_DRAFT_H_
#define SCENARIOS_IMPORT_DRAFT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "proto/text_reader.h"
#include "scenarios/import/settings.h"
#include "scenarios/scenario.h"

namespace scenarios {

class Draft {
 public:
  // `from` is Settings::Place of the key; empty: of the importer's own choice.
  void Put(const std::string& path, std::int64_t value, const std::string& from = "") {
    entries_.push_back({path, std::to_string(value), from});
  }
  void Put(const std::string& path, bool value, const std::string& from = "") {
    entries_.push_back({path, value ? "true" : "false", from});
  }
  // Also the name of a value of an enum.
  void Put(const std::string& path, const std::string& value, const std::string& from = "") {
    entries_.push_back({path, value, from});
  }
  void Put(const std::string& path, const char* value, const std::string& from = "") {
    entries_.push_back({path, value, from});
  }

  // A model that the file describes: a field of proto/model.proto comes from this place.
  models::Model model;
  bool has_model = false;
  void ModelFrom(const std::string& field, const std::string& from) {
    model_from_.push_back({field, "", from});
  }

  struct Entry {
    std::string path, value, from;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  // Where `path` comes from, or the nearest field around it; "" when it is not known.
  std::string PlaceOf(const std::string& path) const;
  std::string PlaceOfModel(const std::string& field) const;

 private:
  std::vector<Entry> entries_, model_from_;
};

// What the command line says beside the file. Empty and nothing: not given.
struct ImportRequest {
  std::string file, text;  // its name for messages, and what is in it
  std::string name;        // of the scenario; the model is NAME_model
  std::string output;      // where the scenario will be: files beside it can be named
  std::string hardware, topology, model;
  std::optional<std::int64_t> devices, sequence_length;
  std::vector<GivenValue> given;
  bool keep_unknown = false;
};

struct ImportedJob {
  std::string scenario_text;
  std::string model_text;               // empty when the scenario names a model that exists
  std::vector<std::string> not_mapped;  // a line each; those with "! " change the result
  Scenario scenario;                    // what `orrery check` reads from the texts
};

// The texts, if there were no errors and the loader takes them. Its errors are told at
// the places of the imported file. `framework` is for the file's comments: "Megatron-LM".
std::optional<ImportedJob> FinishDraft(const ImportRequest& request, const std::string& framework,
                                       const Draft& draft, std::vector<std::string> not_mapped,
                                       proto::Diagnostics* diagnostics);

// --hardware, --topology, name and source, which every importer puts first.
void PutRequest(const ImportRequest& request, const std::string& framework, Draft* draft,
                proto::Diagnostics* diagnostics);

// --model, where the file does not describe one.
void PutModel(const ImportRequest& request, Draft* draft, proto::Diagnostics* diagnostics);

// Devices as the command line says; else as the file (`from` its place), or an error. Where both
// say it and differ, a warning: scripts are written for any number of nodes.
void PutDevices(const ImportRequest& request, std::optional<std::int64_t> of_file, const std::string& from,
                Draft* draft, proto::Diagnostics* diagnostics);

// The fused attention that PyTorch or Transformer Engine would choose on the device: cuDNN's
// since Hopper, else FlashAttention-2; UNFUSED in FP32, and where the device has figures of neither.
// REQUIRES: training.format was put
// Source: Transformer Engine 2.4, dot_product_attention/utils.py, get_attention_backend.
std::string UsualAttention(const ImportRequest& request, const Draft& draft, bool prefers_cudnn);

}  // namespace scenarios

#endif  // SCENARIOS_IMPORT_DRAFT_H_
