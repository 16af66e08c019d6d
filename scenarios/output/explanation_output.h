// An explanation for people, and as one document.

#ifndef SCENARIOS_OUTPUT_EXPLANATION_OUTPUT_H_
#define SCENARIOS_OUTPUT_EXPLANATION_OUTPUT_H_

#include <string>

#include "scenarios/explain/explanation.h"

namespace scenarios {

// At most 100 columns wide.
std::string ExplanationText(const Explanation& explanation);
// Causes, which add up, in whole picoseconds; other times in seconds.
std::string ExplanationJson(const Explanation& explanation);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_EXPLANATION_OUTPUT_H_
