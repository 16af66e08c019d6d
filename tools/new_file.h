// Files that commands write once: never over what is there, and whole or not at all.

#ifndef TOOLS_NEW_FILE_H_
#define TOOLS_NEW_FILE_H_

#include <optional>
#include <string>

#include "sim/base/result.h"

namespace tools {

// Whether anything has the name; a link that leads nowhere has, too.
bool IsThere(const std::string& path);

// All of `text` under the final name, or nothing. Error: it is there, or cannot be written.
std::optional<sim::Error> WriteNewFile(const std::string& path, const std::string& text);

// What other files can call a device, model or scenario by: no path, nothing hidden.
bool IsName(const std::string& name);
inline constexpr const char* kNameSigns = "letters, digits, '_', '.' and '-', the first no '.'";

}  // namespace tools

#endif  // TOOLS_NEW_FILE_H_
