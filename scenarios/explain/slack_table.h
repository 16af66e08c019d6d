// Slack table: how much longer tasks could take before the step grows, by what they are for and by stage.

#ifndef SCENARIOS_EXPLAIN_SLACK_TABLE_H_
#define SCENARIOS_EXPLAIN_SLACK_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/analysis/step.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace scenarios {

// Tasks of one class on one pipeline stage; a communication counts once for each of its seats there.
struct SlackRow {
  std::string purpose;  // "forward", "tensor"
  std::int64_t stage = 0;
  std::int64_t tasks = 0;      // that took time, in one step, of ranks that were played (one of each kind)
  std::int64_t tight = 0;      // of them, without slack: the step is as long as they make it
  std::int64_t unlimited = 0;  // of them, with nothing of this or the next step behind them
  // Of those between: the least, and the median of all that are not unlimited.
  std::optional<sim::Duration> least, median;
};

// In the order of sim::TaskClass, then by stage. Of the step before the last one that `steps` has, where the
// run is steady, so that what a step owes to the next one counts; else of the last.
std::vector<SlackRow> SlackTableOf(const Scenario& scenario, const sim::Program& program,
                                   const sim::Timeline& timeline, const sim::StepTimes& steps);

}  // namespace scenarios

#endif  // SCENARIOS_EXPLAIN_SLACK_TABLE_H_
