// A bill of materials for people, for scripts and for spreadsheets; as budget_output.h writes budgets.

#ifndef SCENARIOS_OUTPUT_BILL_OUTPUT_H_
#define SCENARIOS_OUTPUT_BILL_OUTPUT_H_

#include <string>

#include "scenarios/budget/bill.h"

namespace scenarios {

// Aligned, at most 110 columns: every figure with its formula and what went in; last the assumptions. What
// has no figure is "unknown" here, null in the document and empty in the table.
std::string BillText(const Bill& bill);
std::string BillJson(const Bill& bill);
std::string BillCsv(const Bill& bill);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_BILL_OUTPUT_H_
