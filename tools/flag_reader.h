// Flags read into numbers and choices; what cannot be read is one line each, all in one go.

#ifndef TOOLS_FLAG_READER_H_
#define TOOLS_FLAG_READER_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/command_line.h"

namespace tools {

class FlagReader {
 public:
  // `choices` are the names that --with takes.
  FlagReader(const Arguments& arguments, std::span<const char* const> choices,
             std::vector<std::string>* errors)
      : arguments_(WithChoices(arguments, choices, errors)), choices_(choices), errors_(errors) {}

  // A number in [least, most]; what is there stays where the flag is not given.
  template <class T>
  void Number(const char* flag, T least, T most, std::optional<T>* value) {
    if (!arguments_.has(flag)) return;
    const std::string text = arguments_.value(flag);
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool read = error == std::errc() && end == text.data() + text.size();
    if (read && number >= least && number <= most) {
      *value = number;
      return;
    }
    Complain(flag, (read ? "out of range; " : "not a number; ") + Written(least) + " to " + Written(most) +
                       " would do");
  }

  template <class T>
  void OneOf(const char* flag, const std::vector<std::pair<std::string, T>>& values,
             std::optional<T>* value) {
    if (!arguments_.has(flag)) return;
    std::string names;
    for (const auto& [name, choice] : values) {
      if (name == arguments_.value(flag)) {
        *value = choice;
        return;
      }
      names += (names.empty() ? "" : ", ") + name;
    }
    Complain(flag, "unknown; one of " + names + " would do");
  }

 private:
  // "--with tensor=8" as if it were a flag of its own.
  static Arguments WithChoices(const Arguments& arguments, std::span<const char* const> choices,
                               std::vector<std::string>* errors);
  static std::string Written(std::int64_t number) { return std::to_string(number); }
  static std::string Written(double number);
  void Complain(const char* flag, const std::string& what);

  const Arguments arguments_;
  const std::span<const char* const> choices_;
  std::vector<std::string>* errors_;
};

}  // namespace tools

#endif  // TOOLS_FLAG_READER_H_
