// A pairwise-covering array: rows such that any two values of two dimensions stand
// together in one of them, where anything allows that. Most faults of combined
// features take two features (Kuhn, Wallace, Gallo, IEEE TSE 30(6), 2004), and the
// rows are few: about as many as the two largest dimensions have pairs of values.

#ifndef TESTS_SCENARIOS_PAIRWISE_H_
#define TESTS_SCENARIOS_PAIRWISE_H_

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace scenarios {

// A value for each dimension, from 0; kOpen: not chosen yet.
using PairwiseRow = std::vector<int>;
inline constexpr int kOpen = -1;

struct PairwiseSpace {
  std::vector<int> values;  // of each dimension
  // Whether nothing that a row has chosen so far contradicts itself.
  std::function<bool(const PairwiseRow&)> allows;
};

// Dimension, value, dimension, value; the first dimension is the lower one.
using Pair = std::tuple<int, int, int, int>;

inline void AddPairs(const PairwiseRow& row, std::set<Pair>* pairs) {
  for (int a = 0; a < static_cast<int>(row.size()); ++a) {
    for (int b = a + 1; b < static_cast<int>(row.size()); ++b) {
      const int x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
      if (x != kOpen && y != kOpen) pairs->insert({a, x, b, y});
    }
  }
}

inline std::set<Pair> AllPairs(const PairwiseSpace& space) {
  std::set<Pair> pairs;
  const int dimensions = static_cast<int>(space.values.size());
  for (int a = 0; a < dimensions; ++a) {
    for (int b = a + 1; b < dimensions; ++b) {
      for (int x = 0; x < space.values[static_cast<std::size_t>(a)]; ++x) {
        for (int y = 0; y < space.values[static_cast<std::size_t>(b)]; ++y) pairs.insert({a, x, b, y});
      }
    }
  }
  return pairs;
}

// Chooses what is open, the first value first that covers most new pairs; goes back
// where nothing is allowed. Returns whether it could.
inline bool Complete(const PairwiseSpace& space, const std::set<Pair>& covered, PairwiseRow* row) {
  std::size_t open = 0;
  while (open < row->size() && (*row)[open] != kOpen) ++open;
  if (open == row->size()) return true;
  std::vector<std::pair<int, int>> choices;  // pairs that are not new, value
  for (int value = 0; value < space.values[open]; ++value) {
    int old = 0;
    for (std::size_t other = 0; other < row->size(); ++other) {
      if ((*row)[other] == kOpen) continue;
      const Pair pair = other < open
                            ? Pair{static_cast<int>(other), (*row)[other], static_cast<int>(open), value}
                            : Pair{static_cast<int>(open), value, static_cast<int>(other), (*row)[other]};
      old += covered.contains(pair) ? 1 : 0;
    }
    choices.emplace_back(old, value);
  }
  std::sort(choices.begin(), choices.end());
  for (const auto& [old, value] : choices) {
    (*row)[open] = value;
    if (space.allows(*row) && Complete(space, covered, row)) return true;
  }
  (*row)[open] = kOpen;
  return false;
}

// The rows, always the same. Pairs that no row allows are left out.
inline std::vector<PairwiseRow> CoverPairs(const PairwiseSpace& space) {
  std::vector<PairwiseRow> rows;
  std::set<Pair> covered;
  for (const Pair& pair : AllPairs(space)) {
    if (covered.contains(pair)) continue;
    PairwiseRow row(space.values.size(), kOpen);
    row[static_cast<std::size_t>(std::get<0>(pair))] = std::get<1>(pair);
    row[static_cast<std::size_t>(std::get<2>(pair))] = std::get<3>(pair);
    if (!space.allows(row) || !Complete(space, covered, &row)) continue;
    AddPairs(row, &covered);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_PAIRWISE_H_
