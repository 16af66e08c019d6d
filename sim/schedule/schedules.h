// The rows of the table of pipeline_schedule.cc, a file each, and what their
// files share. Everybody else includes pipeline_schedule.h.

#ifndef SIM_SCHEDULE_SCHEDULES_H_
#define SIM_SCHEDULE_SCHEDULES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/pipeline_schedule.h"

namespace sim {

extern const PipelineSchedule kGPipe;                  // gpipe.cc
extern const PipelineSchedule kOneForwardOneBackward;  // one_f_one_b.cc
extern const PipelineSchedule kInterleaved;            // interleaved.cc
extern const PipelineSchedule kSequence;               // sequence.cc
extern const PipelineSchedule kZeroBubbleH1;           // zero_bubble_h1.cc
extern const PipelineSchedule kZeroBubbleH2;           // zero_bubble_h2.cc
extern const PipelineSchedule kZeroBubbleV;            // zero_bubble_v.cc
extern const PipelineSchedule kVHalf;                  // v_half.cc
extern const PipelineSchedule kVMin;                   // v_min.cc
extern const PipelineSchedule kDualPipe;               // dual_pipe.cc
extern const PipelineSchedule kDualPipeV;              // dual_pipe_v.cc

// What every schedule refuses: nothing to do, or more than a sane file asks for.
std::optional<Error> RefuseSize(const PipelineShape& shape);

// Steps that are to be joined, which `schedule` does not do when asked.
std::optional<Error> RefuseJoined(const PipelineShape& shape, const char* schedule);

// RefuseSize, and a group size, sequence parts or joined steps that `schedule` would silently ignore.
std::optional<Error> RefuseExtras(const PipelineShape& shape, const char* schedule);

// RefuseExtras, and more than one chunk.
std::optional<Error> RefuseChunks(const PipelineShape& shape, const char* schedule);

// RefuseExtras, and any number of chunks but two.
std::optional<Error> RefuseAllButTwoChunks(const PipelineShape& shape, const char* schedule);

// 1F1B with the backward split: `warmup` forwards first, then one forward and
// one input gradient in turn. The weight gradient of a micro-batch follows the
// input gradient of the one that is `delay` later; those left over come last.
// REQUIRES: warmup > 0
std::vector<PipelineStep> DelayedWeightGradients(std::uint32_t microbatches, std::uint32_t warmup,
                                                 std::uint32_t delay);

// The order of one rank of DualPipe (dual_pipe.cc), which DualPipeV shares.
// Chunk 0 is the direction whose first stage is nearer, chunk 1 the other one.
// Each numbers its micro-batches from 0. `position` counts from that first
// stage to `half`-1, where both directions meet. REQUIRES: microbatches >= 2 half
std::vector<PipelineStep> DualPipeSteps(std::uint32_t half, std::uint32_t microbatches,
                                        std::uint32_t position);

// Their bubble for that many pieces of the model, which holds when a forward takes
// as long as an input gradient and a weight gradient no longer.
std::optional<Duration> DualPipeBubbleOf(std::uint32_t pieces, const PassTimes& times);

}  // namespace sim

#endif  // SIM_SCHEDULE_SCHEDULES_H_
