#include "scenarios/budget/budget_line.h"

#include <algorithm>

#include "scenarios/budget/section.h"
#include "sim/base/check.h"

namespace scenarios {

const BudgetLine& LineOf(const std::vector<BudgetLine>& lines, const std::string& section,
                         const std::string& name) {
  const auto at = std::find_if(lines.begin(), lines.end(),
                               [&](const BudgetLine& l) { return l.section == section && l.name == name; });
  CHECK(at != lines.end());
  return *at;
}

void Section::Add(const char* what, double value, const char* unit, const char* formula, std::string inputs) {
  lines_->push_back({name_, what, value, std::nullopt, unit, formula, std::move(inputs)});
}

void Section::AddCount(const char* what, std::int64_t value, const char* formula, std::string inputs) {
  lines_->push_back({name_, what, static_cast<double>(value), value, "", formula, std::move(inputs)});
}

void Section::AddBytes(const char* what, sim::Bytes bytes, const char* formula, std::string inputs) {
  lines_->push_back(
      {name_, what, static_cast<double>(bytes.count()), bytes.count(), "B", formula, std::move(inputs)});
}

void Section::AddUnknown(const char* what, const char* unit, std::string missing) {
  lines_->push_back({name_, what, 0, std::nullopt, unit, std::move(missing), "", false});
}

}  // namespace scenarios
