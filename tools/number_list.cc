#include "tools/number_list.h"

#include <algorithm>
#include <charconv>

namespace tools {

std::vector<std::string> ListOf(const Arguments& arguments, const std::string& flag) {
  std::vector<std::string> list;
  if (!arguments.has(flag)) return list;
  const std::string text = arguments.value(flag);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    list.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return list;
}

// The loader has the last word on smaller ranges.
std::vector<std::int64_t> NumbersOf(const Arguments& arguments, const std::string& flag,
                                    std::vector<std::string>* errors) {
  constexpr std::int64_t kMost = 1'000'000'000;
  std::vector<std::int64_t> numbers;
  for (const std::string& text : ListOf(arguments, flag)) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number > 0 && number <= kMost) {
      numbers.push_back(number);
    } else {
      errors->push_back("--" + flag + ": \"" + text +
                        "\" is no whole number from 1 to 1,000,000,000; a list as 64,128,256 is wanted");
    }
  }
  return numbers;
}

}  // namespace tools
