// Run: the whole column for one scenario: build, simulate, read.

#ifndef SCENARIOS_RUN_H_
#define SCENARIOS_RUN_H_

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "scenarios/step_builder.h"
#include "sim/base/result.h"
#include "sim/program/timeline.h"

namespace scenarios {

struct RunOptions {
  bool log_rates = false;      // for the trace's link counters
  double memory_limit = 64e9;  // bytes this program may take; more is refused before it starts
};

struct RunResult {
  StepProgram steps;
  sim::Timeline timeline;
  Report report;
};

// Fails when it is too large (RefuseToSimulate), and when tasks wait for each
// other for ever (BuildSteps, Simulate).
sim::Result<RunResult> Run(const Scenario& scenario, const RunOptions& options = {});

// What the timeline of a scenario's program says.
Report MakeReport(const Scenario& scenario, const StepProgram& steps, const sim::Timeline& timeline);

}  // namespace scenarios

#endif  // SCENARIOS_RUN_H_
