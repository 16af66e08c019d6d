// What budgets and bills are made of: figures with their formulas, and what stands for what nobody chose.

#ifndef SCENARIOS_BUDGET_BUDGET_LINE_H_
#define SCENARIOS_BUDGET_BUDGET_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenarios {

// One choice, and who made it.
struct Assumption {
  std::string name;    // as on the command line: "utilisation"
  std::string value;   // "0.4"
  std::string source;  // "given", or why this value
};

struct BudgetLine {
  std::string section;  // "parameters", "memory of a device", ...
  std::string name;     // "total"
  double value = 0;
  std::optional<std::int64_t> exact;  // the value where it is a whole number that fits
  std::string unit;                   // "GB", "FLOP", ""
  std::string formula;                // its name and place: "(27.4)", "6 P D"
  std::string inputs;                 // "P 6,738,415,616; D 1.348e11"
  bool known = true;                  // false: no figure, and `formula` says what is missing
};

// REQUIRES: there is such a line
const BudgetLine& LineOf(const std::vector<BudgetLine>& lines, const std::string& section,
                         const std::string& name);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_BUDGET_LINE_H_
