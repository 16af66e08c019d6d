// How many nodes and ranks a token visits: the closed form beside every order of a few experts, and beside
// tokens that were routed one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "models/expert_visits.h"
#include "models/experts_block.h"

namespace models {
namespace {

struct Visits {
  double bins = 0, squares = 0;  // sums over tokens
  std::int64_t tokens = 0;
  double mean() const { return bins / static_cast<double>(tokens); }
  double deviation() const {  // of the mean
    const auto n = static_cast<double>(tokens);
    return std::sqrt(std::max(squares / n - mean() * mean(), 0.0) / n);
  }
};

// A token that likes the experts in this order: nodes by their best expert, then experts on those.
void Route(const std::vector<int>& order, std::int64_t per_token, std::int64_t bins, std::int64_t nodes,
           std::int64_t limit, Visits* visits) {
  const auto experts = static_cast<std::int64_t>(order.size());
  std::set<std::int64_t> chosen, visited;
  for (const int expert : order) {
    if (static_cast<std::int64_t>(chosen.size()) < limit) chosen.insert(expert * nodes / experts);
  }
  std::int64_t taken = 0;
  for (const int expert : order) {
    if (taken == per_token || !chosen.contains(expert * nodes / experts)) continue;
    ++taken;
    visited.insert(expert * bins / experts);
  }
  const auto count = static_cast<double>(visited.size());
  visits->bins += count;
  visits->squares += count * count;
  ++visits->tokens;
}

TEST(VisitedByBest, IsTheMeanOverEveryOrderOfTheExperts) {
  using Case = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  for (const auto& [experts, per_token, bins, nodes, limit] : {Case{8, 3, 4, 4, 2},
                                                               {8, 4, 8, 4, 2},
                                                               {6, 2, 6, 3, 1},
                                                               {6, 3, 3, 3, 2},
                                                               {6, 2, 3, 3, 3},
                                                               {6, 4, 6, 2, 2}}) {
    std::vector<int> order(static_cast<std::size_t>(experts));
    std::iota(order.begin(), order.end(), 0);
    Visits all;
    do Route(order, per_token, bins, nodes, limit, &all);
    while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(VisitedByBest(experts, per_token, bins, nodes, limit), all.mean(), 1e-12)
        << experts << ' ' << per_token << ' ' << bins << ' ' << nodes << ' ' << limit;
  }
}

// DeepSeek-V3's 8 of 256 experts on 8 and 32 nodes of 8 ranks, 4 nodes at most: 2,000 tokens, four
// deviations.
TEST(VisitedByBest, IsWhatRoutedTokensVisit) {
  std::mt19937_64 random(7);
  std::vector<int> order(256);
  std::iota(order.begin(), order.end(), 0);
  for (const auto& [bins, nodes] : {std::pair{8, 8}, {64, 8}, {256, 32}}) {
    Visits visits;
    for (int token = 0; token < 2000; ++token) {
      std::shuffle(order.begin(), order.end(), random);
      Route(order, 8, bins, nodes, 4, &visits);
    }
    EXPECT_NEAR(VisitedByBest(256, 8, bins, nodes, 4), visits.mean(), 4 * visits.deviation() + 1e-3)
        << bins << ' ' << nodes;
  }
}

TEST(VisitedByBest, WithoutALimitIsThatOfEvenChoice) {
  for (const std::int64_t nodes : {1, 2, 4, 8}) {
    for (const std::int64_t bins : {nodes, 8 * nodes}) {
      EXPECT_NEAR(VisitedByBest(256, 8, bins, nodes, nodes), VisitedShares(256, 8, bins, nodes, nodes), 1e-9);
    }
  }
  EXPECT_NEAR(VisitedByBest(256, 8, 8, 1, 1), 5.2947, 1e-4);  // 8 (1 - (224 choose 8) / (256 choose 8))
}

// A token's best experts are on its best nodes: more of them are visited than of nodes that are chosen
// blindly.
TEST(VisitedByBest, MissesFewerNodesThanNodesChosenByThemselves) {
  EXPECT_GT(VisitedByBest(256, 8, 8, 8, 4), VisitedShares(256, 8, 8, 8, 4));
  EXPECT_LE(VisitedByBest(256, 8, 8, 8, 4), 4);
}

}  // namespace
}  // namespace models
