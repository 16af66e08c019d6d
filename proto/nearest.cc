#include <algorithm>
#include <cstddef>
#include <tuple>

#include "proto/text_reader.h"

namespace proto {

namespace {

// Only letters and digits count, without case ("micro_batchsize" is
// "microBatchSize"), and letters that look like a digit are that digit.
std::string Simplify(std::string_view name) {
  std::string simple;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower == 'o') {
      simple += '0';
    } else if (lower == 'l' || lower == 'i') {
      simple += '1';
    } else if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9')) {
      simple += lower;
    }
  }
  return simple;
}

// Insertions, deletions, replacements and swaps of neighbours that turn one
// name into the other (optimal string alignment).
std::size_t Distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replace, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> Nearest(std::string_view wrong, const std::vector<std::string>& known) {
  constexpr std::size_t kMost = 3;
  constexpr std::size_t kLongest = 64;  // nobody mistypes a longer name
  struct Candidate {
    std::size_t distance;
    std::size_t whole;  // the same where no part of the name is let off
    std::size_t position;
  };
  const std::string simple = Simplify(wrong.substr(0, kLongest));
  const std::size_t tolerance = std::max<std::size_t>(simple.size() > 2 ? 2 : 1, simple.size() / 3);
  std::vector<Candidate> near;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::string other = Simplify(known[i]);
    const std::size_t whole = Distance(simple, other);
    std::size_t distance = whole;
    // "h1oo" is near "h100_sxm": what was typed may be its beginning.
    if (simple.size() >= 3 && other.size() > simple.size()) {
      distance = std::min(distance, 1 + Distance(simple, other.substr(0, simple.size())));
    }
    // "compute_capability" is near "capability".
    constexpr std::size_t kWord = 4;
    const bool contains = simple.find(other) != simple.npos || other.find(simple) != other.npos;
    if (contains && std::min(simple.size(), other.size()) >= kWord)
      distance = std::min<std::size_t>(distance, 2);
    // A name of two letters is near nothing that shares no letter with it.
    if (distance <= tolerance && distance < std::max(simple.size(), other.size()))
      near.push_back({distance, whole, i});
  }
  std::stable_sort(near.begin(), near.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.distance, a.whole) < std::tie(b.distance, b.whole);
  });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < near.size() && i < kMost; ++i) names.push_back(known[near[i].position]);
  return names;
}

}  // namespace proto
