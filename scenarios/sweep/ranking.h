// Which rows are best, which are on the Pareto front, and which can be neither.

#ifndef SCENARIOS_SWEEP_RANKING_H_
#define SCENARIOS_SWEEP_RANKING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/sweep/row.h"

namespace scenarios {

enum class Metric : std::uint8_t { kStepTime, kCost, kTokensPerDollar };

struct Wanted {
  Metric metric = Metric::kStepTime;
  // Also what no other row beats in time, memory and cost together: a row is on the front unless another one
  // is as good in all three and better in one.
  bool front = true;
};

// Less is better in each.
struct Merit {
  double by_metric = 0;  // seconds or dollars a step; dollars a token
  double step_s = 0, memory_bytes = 0;
  double cost = 0;  // of a step, in `CostUnit`
};

// Device-seconds where not every row that loads has a price, or the front would compare them with dollars.
enum class CostUnit : std::uint8_t { kDollars, kDeviceSeconds };
CostUnit CostUnitOf(const std::vector<Row>& rows);

struct Ruler {
  Metric metric = Metric::kStepTime;
  CostUnit unit = CostUnit::kDollars;
  // Of a row whose step takes so long; nothing without a price where the metric is money.
  std::optional<Merit> Of(const Row& row, sim::Duration step) const;
};

// Whether `b` is no better than `a` in time, memory and cost, and worse in one of them.
bool Dominates(const Merit& a, const Merit& b);

// Takes rows that were played, and says which others need not be: by their lower bounds, which say less than
// they will come to, so that nothing is given up that would have been wanted.
class Skipper {
 public:
  Skipper(const Wanted& wanted, CostUnit unit) : wanted_(wanted), ruler_{wanted.metric, unit} {}
  void Add(const Row& played);
  bool Skips(const Row& looked_at) const;

 private:
  const Wanted wanted_;
  const Ruler ruler_;
  std::optional<double> best_;
  std::vector<Merit> front_;
};

struct Ranked {
  std::size_t row = 0;
  Merit merit;
  bool on_front = false;
};

// Rows that were played, fit and have a merit, the best first; ties in the order of the rows.
std::vector<Ranked> RankingOf(const std::vector<Row>& rows, Metric metric);

}  // namespace scenarios

#endif  // SCENARIOS_SWEEP_RANKING_H_
