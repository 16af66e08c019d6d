// What the saves of a run cost, from its timeline and in closed form.

#ifndef SCENARIOS_CHECKPOINT_REPORT_H_
#define SCENARIOS_CHECKPOINT_REPORT_H_

#include "scenarios/checkpoint_plan.h"
#include "scenarios/report.h"
#include "scenarios/step_builder.h"
#include "sim/analysis/step.h"
#include "sim/program/timeline.h"

namespace scenarios {

// The steps whose last period is the step time: those before the first save.
sim::StepTimes SteadySteps(const Scenario& scenario, const sim::Program& program,
                           const sim::Timeline& timeline);

// How long all ranks together take to copy, write and read back on the idle
// fabric: the bytes on the busiest link, or the slowest serialiser.
struct IdleSave {
  sim::Duration copy, write, read;
  sim::Duration write_to_servers;  // as if the servers took no time
};
IdleSave IdleTimesOf(const Scenario& scenario, const CheckpointPlan& plan);

// Fills report->checkpoint and adds warnings. REQUIRES: the scenario has a
// checkpoint; the report has its step time and breakdown rank
void AddCheckpoint(const Scenario& scenario, const sim::Program& program, const sim::Timeline& timeline,
                   Report* report);

}  // namespace scenarios

#endif  // SCENARIOS_CHECKPOINT_REPORT_H_
