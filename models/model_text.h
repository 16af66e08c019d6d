// A Model as the text of a model file; reading it gives the same Model.

#ifndef MODELS_MODEL_TEXT_H_
#define MODELS_MODEL_TEXT_H_

#include <string>

#include "models/model.h"

namespace models {

// Where the shapes come from, for the file's `source`; `url` may be empty.
struct ModelSource {
  std::string title, url, note;
};

// Fields in the order of proto/model.proto, one a line; those that are as the
// reader takes them anyway are left out. REQUIRES: model.name is not empty
std::string ModelText(const Model& model, const ModelSource& source);

}  // namespace models

#endif  // MODELS_MODEL_TEXT_H_
