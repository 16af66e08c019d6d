#include "scenarios/output/budget_output.h"

#include <nlohmann/json.hpp>

#include "scenarios/output/figure_table.h"

namespace scenarios {
namespace {

Figures FiguresOf(const Budget& budget) { return {budget.lines, budget.assumptions, budget.warnings}; }

}  // namespace

std::string BudgetText(const Budget& budget) {
  return budget.model + " on " + budget.device +
         (budget.fits ? ": fits\n" : ": does not fit into a device's memory\n") +
         FiguresText(FiguresOf(budget));
}

std::string BudgetJson(const Budget& budget) {
  return FiguresJson(
      FiguresOf(budget),
      {{"schema_version", 1}, {"model", budget.model}, {"device", budget.device}, {"fits", budget.fits}});
}

std::string BudgetCsv(const Budget& budget) { return FiguresCsv(FiguresOf(budget)); }

}  // namespace scenarios
