#include "scenarios/budget/budget.h"

#include <algorithm>

#include "scenarios/budget/budget_parts.h"
#include "sim/base/check.h"

namespace scenarios {

const BudgetLine& Budget::line(const std::string& section, const std::string& name) const {
  const auto at = std::find_if(lines.begin(), lines.end(),
                               [&](const BudgetLine& l) { return l.section == section && l.name == name; });
  CHECK(at != lines.end());
  return *at;
}

void Section::Add(const char* what, double value, const char* unit, const char* formula, std::string inputs) {
  budget_->lines.push_back({name_, what, value, std::nullopt, unit, formula, std::move(inputs)});
}

void Section::AddCount(const char* what, std::int64_t value, const char* formula, std::string inputs) {
  budget_->lines.push_back({name_, what, static_cast<double>(value), value, "", formula, std::move(inputs)});
}

void Section::AddBytes(const char* what, sim::Bytes bytes, const char* formula, std::string inputs) {
  budget_->lines.push_back(
      {name_, what, static_cast<double>(bytes.count()), bytes.count(), "B", formula, std::move(inputs)});
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
