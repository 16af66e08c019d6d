#include "scenarios/budget/budget.h"

#include "scenarios/budget/budget_parts.h"

namespace scenarios {

const BudgetLine& Budget::line(const std::string& section, const std::string& name) const {
  return LineOf(lines, section, name);
}

BudgetResult MakeBudget(const BudgetRequest& request) {
  BudgetResult result;
  const Chosen chosen = Choose(request, &result.errors);
  if (!result.errors.empty()) return result;
  Budget budget{.model = chosen.model.name, .device = chosen.device.name, .assumptions = chosen.assumptions};
  AddParameters(chosen, &budget);
  AddFlops(chosen, &budget);
  AddMemory(chosen, &budget);
  AddTraffic(chosen, &budget);
  AddTime(chosen, &budget);
  AddCases(chosen, &budget);
  AddSaves(chosen, &budget);
  AddData(chosen, &budget);
  AddServing(chosen, &budget);
  result.budget = std::move(budget);
  return result;
}

}  // namespace scenarios
