// Pipeline bubbles in closed form: how long a stage idles in a step when all
// stages are equal and communication is free. The simulation must agree where
// it has the schedule; the others stand beside it in reports.
//
// p stages, m micro-batches, v chunks a stage; F, B, W are the times of one
// micro-batch through one whole stage: forward, whole backward, and the part
// of the backward that makes weight gradients.

#ifndef SIM_SCHEDULE_BUBBLE_H_
#define SIM_SCHEDULE_BUBBLE_H_

#include <cstdint>

#include "sim/base/units.h"
#include "sim/schedule/pipeline_schedule.h"

namespace sim {

// Idle time as a part of something; both count equal slices of time.
struct BubbleShare {
  std::int64_t idle = 0, whole = 1;
};

// Idle over ideal time (all work, no bubble): (p-1) / (v m). The bubble that
// papers quote; it may exceed 1. GPipe and 1F1B are alike in it.
// REQUIRES: a shape without zeros, here and below
// Source: Narayanan et al., SC 2021, sections 2.2.1 and 2.2.2.
BubbleShare BubbleOfIdeal(const PipelineShape& shape);

// Idle over total time: (p-1) / (v m + p-1). What a stage is seen to idle.
BubbleShare BubbleOfTotal(const PipelineShape& shape);

// GPipe and 1F1B: (p-1)(F+B).
Duration OneForwardOneBackwardBubble(std::uint32_t stages, Duration forward, Duration backward);

// Those below, where nothing else is said: source: deepseek-ai/DualPipe, README, "Pipeline bubbles and
// memory usage comparison".
// ZB1P, zero-bubble with the memory of 1F1B: (p-1)(F+B-2W).
Duration ZeroBubble1PBubble(std::uint32_t stages, Duration forward, Duration backward, Duration weight);

// ZB2P, zero-bubble with twice that memory, each stage by its own clock: (p-1)(F+B-3W).
// Source: Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, table 2.
Duration ZeroBubble2PBubble(std::uint32_t stages, Duration forward, Duration backward, Duration weight);

// DualPipe and DualPipeV (p = pieces of the model): (p/2-1)(FB+B-3W), where FB is one forward and one
// backward that hide each other's communication. REQUIRES: an even p
Duration DualPipeBubble(std::uint32_t stages, Duration overlapped, Duration backward, Duration weight);

// DualPipe feeds from both ends: two copies of the parameters, and one
// micro-batch more in flight than 1F1B's first stage.
inline constexpr std::uint32_t kDualPipeParameterCopies = 2;
constexpr std::uint32_t DualPipeInFlight(std::uint32_t stages) { return stages + 1; }

}  // namespace sim

#endif  // SIM_SCHEDULE_BUBBLE_H_
