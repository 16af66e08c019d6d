// YAML, TOML and JSON as one kind of tree, each node with its place. The
// libraries are known to these functions alone.

#ifndef SCENARIOS_IMPORT_TREES_H_
#define SCENARIOS_IMPORT_TREES_H_

#include <optional>
#include <string>
#include <string_view>

#include "proto/syntax.h"
#include "proto/text_reader.h"

namespace scenarios {

// The tree, whose root is an object, or nothing after an error at its line and
// column. Refused: several documents in a file, keys that are no scalars, "<<", more
// than 100,000 nodes (aliases count each time), or deeper than proto::kMaxDepth.
std::optional<proto::Node> ParseYaml(const std::string& file, std::string_view text,
                                     proto::Diagnostics* diagnostics);
std::optional<proto::Node> ParseToml(const std::string& file, std::string_view text,
                                     proto::Diagnostics* diagnostics);
std::optional<proto::Node> ParseJson(const std::string& file, std::string_view text,
                                     proto::Diagnostics* diagnostics);

}  // namespace scenarios

#endif  // SCENARIOS_IMPORT_TREES_H_
