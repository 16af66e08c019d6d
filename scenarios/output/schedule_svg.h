// A played pipeline as an SVG picture: a row a stage, time to the right, idle time grey.

#ifndef SCENARIOS_OUTPUT_SCHEDULE_SVG_H_
#define SCENARIOS_OUTPUT_SCHEDULE_SVG_H_

#include <string>

#include "scenarios/output/output_file.h"
#include "sim/schedule/play_order.h"

namespace scenarios {

// Every step has its exact place, to a hundredth of a pixel, its colour by kind,
// and its label where that fits. REQUIRES: played.finished, played.length > 0
void WriteScheduleSvg(const sim::PipelineOrder& order, const sim::PlayedOrder& played,
                      const std::string& title, OutputFile* file);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_SCHEDULE_SVG_H_
