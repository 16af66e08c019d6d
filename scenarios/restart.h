// Restart: how long it takes to have the last save back on the devices: a
// program of its own, the flows of a save in reverse.
//
// Each rank reads what it holds, whoever wrote it. Under ZeRO that is its part
// of the optimizer state and of the weights; these are gathered over the ranks
// that share a copy as in any step, which is not counted here. So each copy is
// read once: one without `training.sharding.ranks`, several with it (HSDP).
// Without ZeRO no step gathers, and each of the data ranks reads all of it.
//
// Leaves out: starting processes, building communicators, loading programs.

#ifndef SCENARIOS_RESTART_H_
#define SCENARIOS_RESTART_H_

#include "scenarios/checkpoint_plan.h"
#include "scenarios/scenario.h"
#include "sim/base/result.h"
#include "sim/base/units.h"

namespace scenarios {

struct RestartTimes {
  sim::Duration read;   // until the last host has its part
  sim::Duration total;  // until the last device has it
};

// Nothing else runs meanwhile. Fails where it takes longer than the clock can tell.
// REQUIRES: the scenario has a checkpoint and a fabric with storage
sim::Result<RestartTimes> SimulateRestart(const Scenario& scenario, const CheckpointPlan& plan);

}  // namespace scenarios

#endif  // SCENARIOS_RESTART_H_
