// What one rank of a pipeline stage holds at its peak, by part.
//
// A share of the weights counts in their format beside its FP32 copy, as DeepSpeed
// holds it; FSDP narrows the copy when it gathers, 2 B of a share less.
//
// Where backwards are split, activations stay whole until their weight gradient: an
// upper bound. What only the input gradient read could go earlier, but gradients of
// outputs, which are left out, are kept in its place (34 sbh against 32 sbh a layer).
// Source: Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, table 1.
//
// Leaves out: CUDA context, workspaces, communication buffers, allocator slack.

#ifndef SCENARIOS_STAGE_MEMORY_H_
#define SCENARIOS_STAGE_MEMORY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/schedule/pipeline_schedule.h"

namespace scenarios {

struct StageMemory {
  // weights, gradients, master_weights, moments; the same of routed experts with a
  // layout of their own as expert_weights, ...; activations (at their peak over
  // the schedule), recomputed (one layer's or group's, while its backward runs); where
  // layers are offloaded, offload_buffers, and activations without theirs; where sequences
  // pass in parts, key_value_gradients of all parts; where they
  // are cut, context: keys and values of other ranks and their gradients; where weights
  // are cut, gathered: the units that are whole at once; where gradients are cut,
  // unreduced: whole gradients before they are scattered.
  std::vector<BytePart> parts;
  sim::Bytes total;
  std::int64_t micro_batches_in_flight = 0;  // activations of one chunk each, at the most
};

// Plays the stage's order: a forward keeps its chunk's activations, the matching
// backward or weight gradient frees them.
StageMemory MemoryOfStage(const Scenario& scenario, const StagePlan& plan,
                          std::span<const sim::PipelineStep> order);

// That of the stage that holds most.
StageMemory LargestStageMemory(const Scenario& scenario, const std::vector<StagePlan>& stages);

}  // namespace scenarios

#endif  // SCENARIOS_STAGE_MEMORY_H_
