// How far simulated step times are from published ones, by source and by kind of row.

#ifndef SCENARIOS_PUBLISHED_SCORE_H_
#define SCENARIOS_PUBLISHED_SCORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/published/step_row.h"

namespace scenarios {

// One row after all: simulated, or why not.
struct StepOutcome {
  StepRow row;
  double simulated_s = 0;  // 0 where it was not
  double tasks = 0;
  bool fits = true;                  // into the device's memory, as simulated
  std::string architecture;          // of the device
  std::vector<std::string> refused;  // no scenario, the converter's or the loader's reasons
  std::vector<std::string> assumed, left_out;
  bool too_large = false;  // a scenario, but not simulated

  bool built() const { return refused.empty(); }
  bool simulated() const { return simulated_s > 0; }
  double error() const { return simulated_s / row.step_time_s - 1; }
};

// Parts, not per cent. p90 is the smallest that 90 % of the rows do not exceed.
struct Errors {
  std::int64_t rows = 0;
  double mean = 0, median = 0, p90 = 0;  // of the absolute errors
  double bias = 0;                       // mean of the signed ones
};
Errors ErrorsOf(std::vector<double> errors);

// Spearman's: Pearson's correlation of ranks, equal values sharing the mean of theirs. Nothing
// for fewer than two values, or where one side has no two different ones.
std::optional<double> RankCorrelation(const std::vector<double>& a, const std::vector<double>& b);

// Rows of one source, model and device, at least `least` of them, whose layouts and sizes
// differ: whether GPU seconds a token, published and simulated, have the same order.
struct Sweep {
  std::string source, model, gpu;
  std::int64_t rows = 0;
  double correlation = 0;
};
std::vector<Sweep> SweepsOf(const std::vector<StepOutcome>& outcomes, std::size_t least = 5);

// Lines of a Markdown table: one a group, in the order of the groups' names, then all of them,
// and the mean of the groups ("macro").
std::string ErrorTable(const std::vector<StepOutcome>& outcomes, const std::string& title,
                       const std::function<std::string(const StepOutcome&)>& group);
std::string SweepTable(const std::vector<Sweep>& sweeps);
// Each reason with the number of rows, most first; lists a row under each of its reasons.
std::string ReasonTable(const std::vector<StepOutcome>& outcomes, const std::string& title,
                        const std::function<std::vector<std::string>(const StepOutcome&)>& reasons);

// A line a row: id, source, published and simulated seconds, error in per cent.
std::string OutcomesCsv(const std::vector<StepOutcome>& outcomes);

}  // namespace scenarios

#endif  // SCENARIOS_PUBLISHED_SCORE_H_
