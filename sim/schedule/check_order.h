// Whether a pipeline's order can run at all, found out before anything runs.

#ifndef SIM_SCHEDULE_CHECK_ORDER_H_
#define SIM_SCHEDULE_CHECK_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/schedule/pipeline_order.h"

namespace sim {

struct OrderMistake {
  std::uint32_t stage = 0;
  std::size_t step = 0;  // of the stage, from 0; its number of steps when one is missing
  std::string message;
};

// "stage 2, step 5 (F3): ...", steps counted from 0.
std::string ToText(const OrderMistake& mistake, const PipelineOrder& order);

// At most this many are reported.
inline constexpr std::size_t kMostOrderMistakes = 20;

// Nothing, if the order is legal:
//   - on every stage each part of each micro-batch passes each chunk once forward
//     and once backward, whole or as input and then weight gradient, in this order;
//   - two stages send and receive in the same order, for forwards and for gradients
//     apart: with a stream for each of these, whose transfers wait for the partner
//     in their order, they do not block each other;
//   - the stages do not wait for each other in a circle.
// Each of these is looked at only when the ones before it hold.
// REQUIRES: order.stages.size() == order.shape.stages, no count of the shape is 0
std::vector<OrderMistake> CheckOrder(const PipelineOrder& order);

}  // namespace sim

#endif  // SIM_SCHEDULE_CHECK_ORDER_H_
