// A Hugging Face config.json as a model file.

#ifndef MODELS_HF_IMPORT_H_
#define MODELS_HF_IMPORT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "proto/text_reader.h"

namespace models {

struct HfImport {
  Model model;
  std::string text;                  // the model file; reading it gives `model`
  std::string model_type;            // the family that was read
  std::vector<std::string> unknown;  // keys that say something else, or nothing; "text_config.x"
  bool nested = false;               // the language model of a larger one: the rest is left out
};

// `json` is the config.json's text and `file` its name for messages. `name` is
// the model's; empty: after "_name_or_path", else after the family.
//
// Errors, all in one run: no JSON; an unknown model_type, with those that are
// known; keys that are missing, of a wrong type, out of range or at odds with
// each other, each at its line and column.
std::optional<HfImport> ImportHf(const std::string& file, std::string_view json, const std::string& name,
                                 proto::Diagnostics* diagnostics);

}  // namespace models

#endif  // MODELS_HF_IMPORT_H_
