// The flags and `--with` choices of `orrery budget`.

#ifndef TOOLS_BUDGET_FLAGS_H_
#define TOOLS_BUDGET_FLAGS_H_

#include <string>
#include <vector>

#include "scenarios/budget/bill.h"
#include "scenarios/budget/budget.h"
#include "tools/command_line.h"

namespace tools {

// What is given goes over what is there; what cannot be read or is out of range goes to `errors`, all of it.
void ReadFlags(const Arguments& given, scenarios::BudgetRequest* request, scenarios::BillChoices* bill,
               std::vector<std::string>* errors);

// What `--with` may choose, a line each.
std::string ChoicesText();

}  // namespace tools

#endif  // TOOLS_BUDGET_FLAGS_H_
