// Reads a Model from the embedded catalogue or from a file.

#ifndef MODELS_MODEL_READER_H_
#define MODELS_MODEL_READER_H_

#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "proto/text_reader.h"

namespace models {

// `name_or_path` is, in this order: a path, when it has a slash or ends in
// .textproto or .json (relative to `beside_folder`, else to the working folder);
// a file of that name in `beside_folder`; a name of the catalogue. An empty
// `beside_folder` means there is none.
//
// `place` is where the name was written, for the message about an unknown one.
// `overrides` are paths in the model itself ("layers", not "model.layers").
// Every mistake is reported in one run; nothing is returned if there is one. A
// Model that is returned has every figure in the range that proto/model.proto
// says, kv_heads that divide heads, positions for its longest sequence, and
// parameters that fit 63 bits.
std::optional<Model> ReadModel(const std::string& name_or_path, const std::vector<proto::Override>& overrides,
                               const std::string& beside_folder, proto::Diagnostics* diagnostics,
                               const std::string& place = "model");

// The same from text; `file` is for messages.
std::optional<Model> ReadModelText(const std::string& file, std::string_view text,
                                   const std::vector<proto::Override>& overrides,
                                   proto::Diagnostics* diagnostics);

}  // namespace models

#endif  // MODELS_MODEL_READER_H_
