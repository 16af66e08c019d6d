// Who of the data ranks holds what, and how often it moves in a step: DDP, ZeRO-1
// to 3, FSDP and HSDP as one description.
//
// Weights cut by ZERO_3 are gathered one unit at a time: before its forward and,
// if it was resharded after that, again before its backward. While one unit runs,
// those that come next are gathered beside it.
//
// Sources: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion
// parameter models", SC 2020; Zhao et al., "PyTorch FSDP: experiences on scaling fully
// sharded data parallel", VLDB 2023; PyTorch 2.4, torch/distributed/_composable/fsdp.

#ifndef SCENARIOS_SHARDING_H_
#define SCENARIOS_SHARDING_H_

#include <cstdint>
#include <vector>

#include "models/memory.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"

namespace scenarios {

// The data ranks are `replicas` groups of `ranks` neighbours that share one copy
// of what is cut; without sharding every rank is a group. Experts with a layout of
// their own have other data ranks; they are cut by ZERO_1 at most. Where two stages hold
// the same parameters (Pipeline::copies), the data ranks are those of both.
struct Sharing {
  std::int64_t ranks = 1;
  std::int64_t replicas = 1;
  bool weights = false, gradients = false, optimizer = false;
};
Sharing SharingOf(const Scenario& scenario, bool experts = false);

// By how many ranks each part of what a rank holds all the time is cut. Gradients
// that are not reduced before the last micro-batch are held whole.
models::Shares SharesOf(const Scenario& scenario, bool experts = false);

// How often a bucket is reduced in a step.
std::int64_t ReductionsOfStep(const Scenario& scenario);

// Whether a unit stays whole between its forward and its backward. The units are
// called by their buckets: ZERO_3 gives each its own, 0 the last of the model.
bool StaysWhole(const Scenario& scenario, const StagePlan& plan, std::uint32_t bucket);

// How often a unit is gathered in a step. REQUIRES: weights are cut
std::int64_t GathersOfStep(const Scenario& scenario, const StagePlan& plan, std::uint32_t bucket);

// Bytes of one gathered unit, or of one bucket's gradients.
sim::Bytes WeightsOf(const Scenario& scenario, const Bucket& bucket);
sim::Bytes GradientsOf(const Scenario& scenario, const Bucket& bucket);

// Which units are whole as a rank goes through its micro-batches.
class WholeUnits {
 public:
  // Both must outlive this.
  WholeUnits(const Scenario& scenario, const StagePlan& plan)
      : scenario_(scenario), plan_(plan), whole_(plan.buckets.size(), false) {}

  // The units to gather now: that one and those ahead of it that are not whole.
  // They are whole from now on.
  std::vector<std::uint32_t> BeforeForward(std::uint32_t bucket);
  std::vector<std::uint32_t> BeforeBackward(std::uint32_t bucket);
  void AfterForward(std::uint32_t bucket);
  void AfterBackward(std::uint32_t bucket) { whole_[bucket] = false; }

  sim::Bytes bytes() const;

 private:
  void Take(std::uint32_t bucket, std::vector<std::uint32_t>* missing);

  const Scenario& scenario_;
  const StagePlan& plan_;
  std::vector<bool> whole_;  // by bucket
};

}  // namespace scenarios

#endif  // SCENARIOS_SHARDING_H_
