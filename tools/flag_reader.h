// Flags read into numbers and choices; what cannot be read is one line each, all in one go.

#ifndef TOOLS_FLAG_READER_H_
#define TOOLS_FLAG_READER_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tools/command_line.h"

namespace tools {

// "--with tensor=8" as if it were a flag of its own, for the names that `--with` takes, and what is wrong
// with it; `hint` says where they are listed.
Arguments WithChoices(const Arguments& arguments, const std::vector<std::string>& names,
                      const std::string& hint, std::vector<std::string>* errors);

class FlagReader {
 public:
  // Flags of `choices` were given as "--with NAME=VALUE" or as `before` says, for messages.
  FlagReader(const Arguments& arguments, std::vector<std::string> choices, std::vector<std::string>* errors,
             std::string before = "--with ")
      : arguments_(arguments), choices_(std::move(choices)), errors_(errors), before_(std::move(before)) {}

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
    Complain(flag, (read                                      ? "out of range; "
                    : std::is_integral_v<T> && IsNumber(text) ? "not a whole number; "
                                                              : "not a number; ") +
                       Written(least) + " to " + Written(most) + " would do");
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
  static bool IsNumber(const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  }
  static std::string Written(std::int64_t number) { return std::to_string(number); }
  static std::string Written(double number);
  void Complain(const char* flag, const std::string& what);

  const Arguments& arguments_;
  const std::vector<std::string> choices_;
  std::vector<std::string>* errors_;
  const std::string before_;
};

}  // namespace tools

#endif  // TOOLS_FLAG_READER_H_
