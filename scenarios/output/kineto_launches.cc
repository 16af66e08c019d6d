#include "scenarios/output/kineto_launches.h"

#include <algorithm>
#include <cstddef>

namespace scenarios {

std::vector<LaunchTime> LaunchesBefore(const std::vector<std::int64_t>& starts, std::int64_t length) {
  std::vector<LaunchTime> launches;
  launches.reserve(starts.size());
  for (std::size_t first = 0; first < starts.size();) {
    const std::int64_t start = starts[first];
    const std::size_t end = static_cast<std::size_t>(
        std::upper_bound(starts.begin() + static_cast<std::ptrdiff_t>(first), starts.end(), start) -
        starts.begin());
    const auto together = static_cast<std::int64_t>(end - first);
    std::int64_t each = length;
    if (first > 0) each = std::min(each, (start - starts[first - 1]) / together);
    for (std::int64_t i = together; i > 0; --i) {
      launches.push_back({start - i * each, start - (i - 1) * each});
    }
    first = end;
  }
  return launches;
}

}  // namespace scenarios
