// A comparison of jobs for people, and as one document.

#ifndef SCENARIOS_OUTPUT_COMPARISON_OUTPUT_H_
#define SCENARIOS_OUTPUT_COMPARISON_OUTPUT_H_

#include <string>

#include "scenarios/compare/comparison.h"

namespace scenarios {

// A row a job, what their steps are spent on, then a waterfall a variant; at most 100 columns where names of
// jobs are short.
std::string ComparisonText(const Comparison& comparison);
// Rates and costs with saves in them. Times in seconds; those of waterfalls, which add up, in picoseconds.
std::string ComparisonJson(const Comparison& comparison);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_COMPARISON_OUTPUT_H_
