// A played pipeline as text: a line a stage, time to the right.

#ifndef SIM_SCHEDULE_DRAW_ORDER_H_
#define SIM_SCHEDULE_DRAW_ORDER_H_

#include <cstddef>
#include <string>

#include "sim/schedule/play_order.h"

namespace sim {

struct DrawnOrder {
  std::string text;       // lines; '.' is idle
  bool to_scale = false;  // every step has its exact width; otherwise each column
                          // shows what runs at its middle, and shorter steps may be missing
};

// What a column or label says: F forward, B backward, I input gradient, W weight
// gradient, in lower case for odd chunks, with the micro-batch's number where
// there is room; '&' is a forward joined to a backward.
// REQUIRES: played.finished, played.length > 0, columns >= 40
DrawnOrder DrawOrder(const PipelineOrder& order, const PlayedOrder& played, std::size_t columns);

// "F3", "b3" in an odd chunk, "F3-1" of a part, "F3&b1" joined to the next step.
std::string LabelOf(const PipelineOrder& order, std::size_t stage, std::size_t step);

}  // namespace sim

#endif  // SIM_SCHEDULE_DRAW_ORDER_H_
