// The part of a report that is about saving the state.

#ifndef SCENARIOS_OUTPUT_CHECKPOINT_TEXT_H_
#define SCENARIOS_OUTPUT_CHECKPOINT_TEXT_H_

#include <string>

#include "scenarios/report.h"

namespace scenarios {

// A few lines; empty where nothing is saved.
std::string CheckpointText(const Report& report);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_CHECKPOINT_TEXT_H_
