// Who of the data ranks holds what, and how often it moves in a step: DDP, ZeRO-1
// to 3, FSDP and HSDP as one description. Which units are whole when: whole_units.h.
//
// Sources: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion
// parameter models", SC 2020; Zhao et al., "PyTorch FSDP: experiences on scaling fully
// sharded data parallel", VLDB 2023; PyTorch 2.4, torch/distributed/_composable/fsdp.

#ifndef SCENARIOS_SHARDING_H_
#define SCENARIOS_SHARDING_H_

#include <cstdint>

#include "models/memory.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"

namespace scenarios {

// Ranks of one context group hold the same as well, so data ranks are those of data x
// context here. They are `replicas` groups of `ranks` neighbours that share one copy
// of what is cut; without sharding every rank is a group. Experts with a layout of
// their own have other data ranks: expert data, of which those among the ranks of one copy share
// theirs. Where two stages hold the same parameters (Pipeline::copies), the data ranks are those of
// both.
struct Sharing {
  std::int64_t ranks = 1;
  std::int64_t replicas = 1;
  bool weights = false, gradients = false, optimizer = false;
};
Sharing SharingOf(const Scenario& scenario, bool experts = false);

// By how many ranks each part of what a rank holds all the time is cut. Gradients
// that are not reduced before the last micro-batch are held whole.
models::Shares SharesOf(const Scenario& scenario, bool experts = false);

// Whether weights of linear layers are held in eight bits, all of them or a share.
bool HoldsEightBits(const Scenario& scenario);

// How often a bucket is reduced in a step.
std::int64_t ReductionsOfStep(const Scenario& scenario);

// Whether a unit stays whole between its forward and its backward; in a pipeline, from its first forward
// to the end of the step. The units are called by their buckets: ZERO_3 gives each its own, and one more
// to spread experts.
bool StaysWhole(const Scenario& scenario, const StagePlan& plan, std::uint32_t bucket);

// How often a unit is gathered in a step. REQUIRES: weights are cut
std::int64_t GathersOfStep(const Scenario& scenario, const StagePlan& plan, std::uint32_t bucket);

// Bytes of one gathered unit, or of one bucket's gradients.
sim::Bytes WeightsOf(const Scenario& scenario, const Bucket& bucket);
sim::Bytes GradientsOf(const Scenario& scenario, const Bucket& bucket);

}  // namespace scenarios

#endif  // SCENARIOS_SHARDING_H_
