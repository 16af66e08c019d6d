// The sections of a budget, a function each. Internal to this folder.

#ifndef SCENARIOS_BUDGET_BUDGET_PARTS_H_
#define SCENARIOS_BUDGET_BUDGET_PARTS_H_

#include "scenarios/budget/budget.h"
#include "scenarios/budget/plan_request.h"
#include "scenarios/budget/section.h"

namespace scenarios {

// Of the fullest stage.
sim::Bytes MemoryOfDevice(const Chosen& c);

void AddParameters(const Chosen& c, Budget* budget);
void AddFlops(const Chosen& c, Budget* budget);
void AddMemory(const Chosen& c, Budget* budget);
void AddTraffic(const Chosen& c, Budget* budget);
void AddTime(const Chosen& c, Budget* budget);
void AddSaves(const Chosen& c, Budget* budget);
void AddData(const Chosen& c, Budget* budget);
void AddCases(const Chosen& c, Budget* budget);
void AddServing(const Chosen& c, Budget* budget);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_BUDGET_PARTS_H_
