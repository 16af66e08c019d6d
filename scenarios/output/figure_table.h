// Figures with their formulas and assumptions as a table, a document, a spreadsheet: what budgets and bills
// share. Internal to this folder.

#ifndef SCENARIOS_OUTPUT_FIGURE_TABLE_H_
#define SCENARIOS_OUTPUT_FIGURE_TABLE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scenarios/budget/budget_line.h"

namespace scenarios {

struct Figures {
  const std::vector<BudgetLine>& lines;
  const std::vector<Assumption>& assumptions;
  const std::vector<std::string>& warnings;
};

// The rows of such a table, and its parts as JSON. A line that is long goes on below; a sentence likewise.
std::string FigureLine(const BudgetLine& line);
std::string AssumptionsText(const std::vector<Assumption>& assumptions);
std::string Sentence(const std::string& text, std::size_t indent);
nlohmann::ordered_json LinesJson(const std::vector<BudgetLine>& lines);
nlohmann::ordered_json AssumptionsJson(const std::vector<Assumption>& assumptions);

// Aligned, at most 110 columns, a blank line before each section; last the assumptions.
std::string FiguresText(const Figures& figures);
// `before` is an object with what comes first; a figure that is not known is null.
std::string FiguresJson(const Figures& figures, const nlohmann::ordered_json& before);
// section,name,value,unit,formula,inputs; the assumptions as a section of their own.
std::string FiguresCsv(const Figures& figures);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_FIGURE_TABLE_H_
