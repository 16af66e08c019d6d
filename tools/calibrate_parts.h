// What both kinds of `orrery calibrate` do alike.

#ifndef TOOLS_CALIBRATE_PARTS_H_
#define TOOLS_CALIBRATE_PARTS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/text_reader.h"
#include "sim/base/result.h"
#include "tools/command_line.h"

namespace tools {

// All of `text` under the final name, or nothing.
std::optional<sim::Error> WriteNewFile(const std::string& path, const std::string& text);

// `--where COLUMN=VALUE` as pairs; what is none is an error each.
std::vector<std::pair<std::string, std::string>> WhereOf(const Arguments& arguments,
                                                         proto::Diagnostics* diagnostics);

}  // namespace tools

#endif  // TOOLS_CALIBRATE_PARTS_H_
