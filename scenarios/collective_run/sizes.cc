#include "scenarios/collective_run/sizes.h"

#include <charconv>

namespace scenarios {
namespace {

// 0: no unit is written so.
std::int64_t UnitOf(std::string_view text) {
  if (text.empty()) return 1;
  if (text.size() > 1) return 0;
  switch (text[0]) {
    case 'K':
    case 'k':
      return std::int64_t{1} << 10;
    case 'M':
    case 'm':
      return std::int64_t{1} << 20;
    case 'G':
    case 'g':
      return std::int64_t{1} << 30;
    case 'T':
    case 't':
      return std::int64_t{1} << 40;
    default:
      return 0;
  }
}

}  // namespace

sim::Result<sim::Bytes> ParseSize(std::string_view text) {
  const std::string given = '"' + std::string(text) + "\" is ";
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view rest(end, text.size() - static_cast<std::size_t>(end - text.data()));
  const std::int64_t unit = UnitOf(rest);
  if (error == std::errc::invalid_argument || unit == 0 || number != number) {
    return sim::Error{given + "no size; a number of bytes with K, M, G or T behind it would do, as 64K"};
  }
  const double bytes = number * static_cast<double>(unit);
  if (error != std::errc() || !(bytes >= 0 && bytes <= static_cast<double>(kLargestMessage.count()))) {
    return sim::Error{given + "out of range; 0 to " + SizeText(kLargestMessage) + " would do"};
  }
  return sim::Bytes(static_cast<std::int64_t>(bytes));
}

std::string SizeText(sim::Bytes size) {
  std::int64_t n = size.count();
  const char* units = " KMGT";
  while (n != 0 && n % 1024 == 0 && units[1] != '\0') {
    n /= 1024;
    ++units;
  }
  return std::to_string(n) + (*units == ' ' ? "" : std::string(1, *units));
}

sim::Result<std::vector<sim::Bytes>> SizesOf(const SizeSteps& steps) {
  if (steps.last < steps.first) {
    return sim::Error{"from " + SizeText(steps.first) + " to " + SizeText(steps.last) +
                      " there is no size; a last one that is no smaller than the first would do"};
  }
  if (steps.factor <= 1 && steps.step == sim::Bytes() && steps.first != steps.last) {
    return sim::Error{"a step of 0 leads nowhere; a factor above 1 or a step above 0 would do"};
  }
  std::vector<sim::Bytes> sizes;
  for (sim::Bytes size = steps.first; size <= steps.last;) {
    sizes.push_back(size);
    if (static_cast<std::int64_t>(sizes.size()) > kMostSizes) {
      return sim::Error{"more than " + std::to_string(kMostSizes) + " sizes; larger steps would do"};
    }
    if (steps.factor <= 1) {
      size += steps.step;
    } else {
      if (size.count() > steps.last.count() / steps.factor) break;
      size = size == sim::Bytes() ? sim::Bytes(1) : steps.factor * size;
    }
    if (size == sizes.back()) break;  // one size, and no step
  }
  return sizes;
}

}  // namespace scenarios
