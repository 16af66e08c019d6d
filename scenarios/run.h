// Run: the whole column for one scenario: build, simulate, read.

#ifndef SCENARIOS_RUN_H_
#define SCENARIOS_RUN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "scenarios/step_builder.h"
#include "sim/base/result.h"
#include "sim/program/timeline.h"

namespace scenarios {

// How far a run is: the ranks whose tasks are built, then the tasks that ended.
struct RunProgress {
  enum class Phase : std::uint8_t { kBuild, kSimulate };
  Phase phase = Phase::kBuild;
  std::uint64_t done = 0, of = 0;
  sim::Time now;  // simulated
};

struct RunOptions {
  bool log_rates = false;      // for the trace's link counters; all ranks are played then
  bool fold = true;            // play one rank of each kind only, where there are like ones (fold.h)
  double memory_limit = 64e9;  // bytes this program may take; more is refused before it starts
  // Asked now and then whether to go on; no effect on what the run finds. Empty: always.
  std::function<bool(const RunProgress&)> go_on = {};
};

// What is known of a run that was told to stop.
struct Interruption {
  RunProgress progress;
  std::vector<sim::Time> step_ends;  // of the steps that all ranks ended
};

// A run that was told to stop has an interruption and no report.
struct RunResult {
  StepProgram steps;
  sim::Timeline timeline;
  Report report;
  std::optional<Interruption> interruption = {};
};

// Fails when it is too large (RefuseToSimulate), and when tasks wait for each
// other for ever (BuildSteps, Simulate).
sim::Result<RunResult> Run(const Scenario& scenario, const RunOptions& options = {});

// What the timeline of a scenario's program says.
Report MakeReport(const Scenario& scenario, const StepProgram& steps, const sim::Timeline& timeline);

}  // namespace scenarios

#endif  // SCENARIOS_RUN_H_
