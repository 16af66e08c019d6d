// Plays a pipeline with free communication and equal stages: when each step
// would run if only the order and what steps need of each other held it up.

#ifndef SIM_SCHEDULE_PLAY_ORDER_H_
#define SIM_SCHEDULE_PLAY_ORDER_H_

#include <cstddef>
#include <vector>

#include "sim/base/units.h"
#include "sim/schedule/pipeline_order.h"

namespace sim {

struct StepSpan {
  Duration start, end;  // since the step began
};

struct PlayedOrder {
  std::vector<std::vector<StepSpan>> spans;  // by stage and step; shorter where a stage came to a stop
  std::vector<Duration> work;                // by stage
  Duration length;                           // until the last step ended
  bool finished = false;                     // false: the stages wait for each other for ever

  // REQUIRES: finished
  Duration Idle(std::size_t stage) const { return length - work[stage]; }
  // From the stage's first step to its last one only.
  Duration IdleWithin(std::size_t stage) const;
};

// REQUIRES: every step lies within order.shape
PlayedOrder PlayOrder(const PipelineOrder& order, const PassTimes& times);

// Of the stage that idles most: over the whole step, or within each stage's own
// first and last step (PipelineSchedule::bypasses_optimizer). REQUIRES: finished
Duration BubbleOf(const PlayedOrder& played, bool bypasses_optimizer);

}  // namespace sim

#endif  // SIM_SCHEDULE_PLAY_ORDER_H_
