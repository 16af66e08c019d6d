// A quick estimate from a half-known model: every figure between the least and the most that the usual
// choices of what is not known give. By 6PD, so without attention's square and without logits apart.
//
// Source: textbook, 17.2.5, 17.5.3 and the quick way of 17.9.4; models/sketch.h.

#ifndef SCENARIOS_BUDGET_BUDGET_SKETCH_H_
#define SCENARIOS_BUDGET_BUDGET_SKETCH_H_

#include "models/sketch.h"
#include "scenarios/budget/budget.h"

namespace scenarios {

// Of `request` the device, tokens, devices or days, utilisation and price are looked at; its model is not.
// Fails where both devices and days are given, shapes are beyond what is budgeted, or a group of experts is
// smaller than what a token visits.
BudgetResult MakeSketchBudget(const models::Sketch& sketch, const BudgetRequest& request);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_BUDGET_SKETCH_H_
