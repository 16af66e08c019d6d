#include "scenarios/kernel_run/extents.h"

#include <array>
#include <charconv>
#include <functional>
#include <string>

#include "scenarios/collective_run/sizes.h"

namespace scenarios {
namespace {

using Numbers = std::vector<std::int64_t>;

sim::Result<std::int64_t> ParseExtent(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end == text.data() + text.size() && !text.empty();
  if (error == std::errc::invalid_argument || !whole) {
    return sim::Error{'"' + std::string(text) + "\" is no whole number; as 4096, 1:65536 or 128:1024:128"};
  }
  if (error != std::errc() || number < 1 || number > kLargestExtent) {
    return sim::Error{'"' + std::string(text) + "\" is out of range; 1 to " + std::to_string(kLargestExtent) +
                      " would do"};
  }
  return number;
}

sim::Result<std::int64_t> ParseByteCount(std::string_view text) {
  const auto size = ParseSize(text);
  if (!size.ok()) return size.error();
  return size.value().count();
}

// One, two or three numbers between colons.
sim::Result<Numbers> ParseSteps(std::string_view text,
                                const std::function<sim::Result<std::int64_t>(std::string_view)>& parse) {
  Numbers given;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t colon = std::min(text.find(':', at), text.size());
    const auto number = parse(text.substr(at, colon - at));
    if (!number.ok()) return number.error();
    given.push_back(number.value());
    at = colon + 1;
  }
  const std::string quoted = '"' + std::string(text) + '"';
  if (given.size() > 3) return sim::Error{quoted + " has more than first, last and step"};
  if (given.size() == 1) return given;
  const std::int64_t first = given[0], last = given[1], step = given.size() == 3 ? given[2] : 0;
  if (last < first) return sim::Error{quoted + " goes down; from the lower to the higher is wanted"};
  if (given.size() == 3 && step == 0) return sim::Error{quoted + " has a step of 0, which leads nowhere"};
  if (step == 0 && first == 0) return sim::Error{quoted + " doubles 0, which leads nowhere"};
  Numbers numbers;
  for (std::int64_t number = first; number <= last; number += step > 0 ? step : number) {
    if (numbers.size() == kMostKernels) {
      return sim::Error{quoted + " is more than " + std::to_string(kMostKernels) + "; larger steps would do"};
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

sim::Result<Numbers> ParseExtents(std::string_view text) { return ParseSteps(text, ParseExtent); }

sim::Result<std::vector<sim::Bytes>> ParseByteSteps(std::string_view text) {
  const auto numbers = ParseSteps(text, ParseByteCount);
  if (!numbers.ok()) return numbers.error();
  return std::vector<sim::Bytes>(numbers.value().begin(), numbers.value().end());
}

sim::Result<std::vector<sim::GemmShape>> ParseGemmShapes(std::string_view text, std::int64_t count) {
  const std::string quoted = '"' + std::string(text) + '"';
  std::vector<Numbers> extents;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    auto numbers = ParseExtents(text.substr(at, end - at));
    if (!numbers.ok()) return sim::Error{quoted + ": " + numbers.error().message};
    extents.push_back(std::move(numbers).value());
    at = end + 1;
  }
  if (extents.size() != 3) return sim::Error{quoted + " is no MxNxK; as 8192x4096x4096"};
  if (extents[0].size() * extents[1].size() * extents[2].size() > kMostKernels) {
    return sim::Error{quoted + " is more than " + std::to_string(kMostKernels) + " shapes"};
  }
  std::vector<sim::GemmShape> shapes;
  for (const std::int64_t m : extents[0]) {
    for (const std::int64_t n : extents[1]) {
      for (const std::int64_t k : extents[2]) {
        if (static_cast<sim::Wide>(2) * m * n > INT64_MAX / k / count) {
          return sim::Error{quoted + " has a product of more than 2^63 FLOPs"};
        }
        shapes.push_back({m, n, k, count});
      }
    }
  }
  return shapes;
}

}  // namespace scenarios
