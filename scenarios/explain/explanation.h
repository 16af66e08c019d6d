// Explanation: why a job's step takes as long as it does, and what would change it.

#ifndef SCENARIOS_EXPLAIN_EXPLANATION_H_
#define SCENARIOS_EXPLAIN_EXPLANATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/explain/bounds.h"
#include "scenarios/explain/parameter.h"
#include "scenarios/explain/path_causes.h"
#include "scenarios/explain/slack_table.h"
#include "scenarios/run.h"

namespace scenarios {

// A piece of the critical path.
struct LongPiece {
  std::string name;     // "mlp mb3 layer 7"
  std::string purpose;  // "forward"
  std::uint32_t rank = 0;
  std::int64_t stage = 0;
  sim::Duration since, time;  // after the step's start; how long
};

struct Sensitivity {
  Parameter parameter = Parameter::kTensorRate;
  double slope_s = 0;  // d(step) / d(ln parameter), from the path
  // From the job played again with the parameter larger, where that was asked for and could be played.
  struct Check {
    double slope_s = 0;
    bool same_path = false;
  };
  std::optional<Check> checked;
  std::string unchecked;  // why not
};

struct Explanation {
  Report report;
  std::vector<PathCause> causes;  // add up to the report's step time
  std::vector<LongPiece> longest;
  std::int64_t pieces = 0;  // of the path
  std::vector<SlackRow> slack;
  std::vector<Sensitivity> sensitivities;  // of parameters that the job has, by Parameter
  std::optional<double> check;             // by how much larger they were when played again: 0.01
  std::vector<StepBound> bounds;
};

struct ExplainOptions {
  RunOptions run;
  std::optional<double> check;  // > 0
  std::size_t longest = 8;      // pieces to list
};

// Of steps without saves, as the report's. Takes about three times the memory of a run, and a replay for each
// bound and check. Fails where Run does, and with "interrupted" where it is told to stop.
sim::Result<Explanation> Explain(const Scenario& scenario, const ExplainOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_EXPLAIN_EXPLANATION_H_
