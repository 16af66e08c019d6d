// What a run that was told to stop has to say: how far it came, and the steps
// that it finished.

#ifndef SCENARIOS_OUTPUT_INTERRUPTION_H_
#define SCENARIOS_OUTPUT_INTERRUPTION_H_

#include <string>

#include "scenarios/run.h"

namespace scenarios {

// "interrupted after 1,234 of 5,678 tasks, at 1.234 s of simulated time", and a line a step.
std::string InterruptionText(const Interruption& interruption);

// The same as one JSON document; its key "interrupted" no report has.
std::string InterruptionJson(const Interruption& interruption);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_INTERRUPTION_H_
