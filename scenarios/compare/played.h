// PlayedJob: what a comparison keeps of a job that was played.

#ifndef SCENARIOS_COMPARE_PLAYED_H_
#define SCENARIOS_COMPARE_PLAYED_H_

#include <optional>
#include <string>
#include <vector>

#include "scenarios/compare/kernel_classes.h"
#include "scenarios/report.h"
#include "scenarios/run.h"

namespace scenarios {

// What a rank spends its step on; finer than the report's breakdown.
struct StepPart {
  std::string id;    // "products", "bubble"; stable
  std::string name;  // for people
  sim::Duration time;
  std::optional<KernelClass> kernels;  // of the compute's kernels
  double kilo_amount = 0;              // as in KernelWork; 0: not known
};

struct PlayedJob {
  Report report;
  // The step in the long run: with what saves cost, where the job has them; else the report's.
  sim::Duration step;
  // Of the rank that idles least; always the same parts in the same order. They add up to `step`.
  std::vector<StepPart> parts;

  double tokens() const {
    return static_cast<double>(report.global_batch) * static_cast<double>(report.sequence_length);
  }
  // By this, rates of the report are those of `step`: 1 without saves.
  double saves_factor() const { return report.step_time.seconds() / step.seconds(); }
  sim::Bytes largest_stage() const;
  const StageReport& stage() const;  // of the rank that idles least
};

// What a run says. REQUIRES: it was not interrupted
PlayedJob ReadPlayed(const Scenario& scenario, RunResult run);

}  // namespace scenarios

#endif  // SCENARIOS_COMPARE_PLAYED_H_
