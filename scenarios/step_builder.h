// BuildSteps: layers x layout x schedule become tasks: every rank, every step.
//
// Streams of a rank: compute; tensor (collectives of the tensor group); context; data
// (gradient buckets, parameter gathers, tied embedding, gradient norm); replica
// (shares of gradients between copies); to and from the next and the previous stage,
// one each, because one shared pipeline stream can block 1F1B under rendezvous, and
// a second each where a stage trades activations, or gradients, with both neighbours.
//
// A checkpoint adds copy-out and host streams (checkpoint_writer.h), offload second
// copy-out and copy-in streams (offload_writer.h, host_optimizer.h).
//
// Leaves out: host launches, data loading.

#ifndef SCENARIOS_STEP_BUILDER_H_
#define SCENARIOS_STEP_BUILDER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "hardware/cost_model.h"
#include "scenarios/fold.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/base/result.h"
#include "sim/program/program.h"

namespace scenarios {

struct StepProgram {
  sim::Program program;
  std::vector<StagePlan> stages;  // by pipeline stage
  std::optional<Fold> fold = {};  // none: the program has all ranks
  // By TrafficId, the group of a collective; of sends, and what else there is, empty.
  std::vector<std::vector<sim::Rank>> members = {};
};

// What each stage does, by stage; no task is made.
std::vector<StagePlan> PlanStages(const Scenario& scenario, const hardware::CostModel& cost);

// Fails when the schedule makes tasks wait for each other in a cycle.
sim::Result<StepProgram> BuildSteps(const Scenario& scenario, const hardware::CostModel& cost);

// `go_on` is asked before each rank with the ranks that are done; when it says
// no, the result is an error. With a fold, only ranks that act have tasks.
sim::Result<StepProgram> BuildSteps(const Scenario& scenario, std::vector<StagePlan> stages,
                                    const std::function<bool(std::int64_t)>& go_on = {},
                                    std::optional<Fold> fold = {});

}  // namespace scenarios

#endif  // SCENARIOS_STEP_BUILDER_H_
