// A pipeline's order as a text that people write:
//
//   # two stages, three micro-batches
//   F0 F1 B0 F2 B1 B2
//   F0 B0 F1 B1 F2 B2
//
// A line a stage, in the syntax of ToText (pipeline_schedule.h). Counts of
// micro-batches, chunks and parts are those that the steps show. A line
// "placement: loop", "vee" or "both-ends" before the stages says where chunks
// sit (Placement); it is loop without one. '#' begins a comment.

#ifndef SIM_SCHEDULE_ORDER_TEXT_H_
#define SIM_SCHEDULE_ORDER_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule/pipeline_order.h"

namespace sim {

struct ParsedOrder {
  PipelineOrder order;              // legal by CheckOrder, if there are no errors
  std::vector<std::string> errors;  // "file:line:column: ...", lines and columns from 1
};

// `file` is only what errors call it.
ParsedOrder ParseOrder(std::string_view text, std::string_view file);

// What ParseOrder reads back as the same order, without comments.
std::string ToText(const PipelineOrder& order);

std::string_view ToText(Placement placement);

}  // namespace sim

#endif  // SIM_SCHEDULE_ORDER_TEXT_H_
