// Schedules made of a building block: when one micro-batch passes each stage
// says everything else, since the next one does the same some slots later.
//
// Source: Qi et al., "Pipeline parallelism with controllable memory", NeurIPS
// 2024, section 3: repeat, squeeze, reorder.

#ifndef SIM_SCHEDULE_BUILDING_BLOCK_H_
#define SIM_SCHEDULE_BUILDING_BLOCK_H_

#include <array>
#include <cstdint>
#include <vector>

#include "sim/schedule/pipeline_schedule.h"

namespace sim {

// The slots in which a stage runs micro-batch 0 through two chunks in a V:
// forward of chunk 0, forward of chunk 1, input gradient of chunk 1, of chunk 0.
using BuildingBlock = std::vector<std::array<std::uint32_t, 4>>;  // by stage

// Slots from one micro-batch to the next: two chunks of forward, input and
// weight gradient, so that the steady state has no bubble when all are equal.
inline constexpr std::uint32_t kBlockInterval = 6;

// The orders of all stages. Weight gradients take the slots left free, oldest
// first. Before the first gradient is back on stage 0 and after its last
// forward, each step moves to the first free slot after what it needs, unless a
// stage would then hold more than the busiest stage of the plain repetition.
// REQUIRES: no two steps of a stage fall into one slot, stages and micro-batches > 0
std::vector<std::vector<PipelineStep>> RepeatBlock(const BuildingBlock& block, std::uint32_t microbatches);

// What is wrong with the shape for two chunks and for RepeatBlock, whose time
// grows with the square of the stages times the micro-batches.
std::optional<Error> RefuseBlock(const PipelineShape& shape, const char* schedule);

}  // namespace sim

#endif  // SIM_SCHEDULE_BUILDING_BLOCK_H_
