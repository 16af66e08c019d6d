#include "tools/new_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "scenarios/output/output_file.h"

namespace tools {

bool IsThere(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  return type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::none;
}

std::optional<sim::Error> WriteNewFile(const std::string& path, const std::string& text) {
  if (IsThere(path)) return sim::Error{path + " is there already; it is not written over"};
  auto created = scenarios::OutputFile::Create(path);
  if (!created.ok()) return created.error();
  scenarios::OutputFile file = std::move(created).value();
  file.Write(text);
  if (const auto finished = file.Finish(); !finished.ok()) return finished.error();
  return std::nullopt;
}

bool IsName(const std::string& name) {
  constexpr const char* kSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.front() != '.' && name.find_first_not_of(kSigns) == std::string::npos;
}

}  // namespace tools
