// A budget for people, for scripts and for spreadsheets.

#ifndef SCENARIOS_OUTPUT_BUDGET_OUTPUT_H_
#define SCENARIOS_OUTPUT_BUDGET_OUTPUT_H_

#include <string>

#include "scenarios/budget/budget.h"

namespace scenarios {

// Aligned, at most 110 columns: every figure with its formula and what went in; last the assumptions.
std::string BudgetText(const Budget& budget);

// One document; figures in SI units without prefix, whole numbers where they are whole.
std::string BudgetJson(const Budget& budget);

// section,name,value,unit,formula,inputs; the assumptions as a section of their own.
std::string BudgetCsv(const Budget& budget);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_BUDGET_OUTPUT_H_
