// A plan for people and for scripts.

#ifndef SCENARIOS_OUTPUT_PLAN_OUTPUT_H_
#define SCENARIOS_OUTPUT_PLAN_OUTPUT_H_

#include <string>

#include "scenarios/plan/plan.h"

namespace scenarios {

// For each device the ten steps, and the layouts that were played beside what they take by hand, and what
// would have to give; for several devices a table of them first. `bill`: with the bill of materials.
std::string PlanText(const Plan& plan, bool bill = false);

// One document; figures in SI units without prefix.
std::string PlanJson(const Plan& plan);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_PLAN_OUTPUT_H_
