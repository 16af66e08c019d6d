#include "scenarios/output/bill_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "scenarios/output/figure_table.h"
#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

Figures FiguresOf(const Bill& bill) { return {bill.lines, bill.assumptions, bill.warnings}; }

}  // namespace

std::string BillText(const Bill& bill) {
  char days[40];
  std::snprintf(days, sizeof days, "%.4g", bill.clock.wall_s() / 86400);
  return "bill of materials: " + CountText(bill.working) + ' ' + bill.device + " at work for " + days +
         " days\n" + FiguresText(FiguresOf(bill));
}

std::string BillJson(const Bill& bill) {
  return FiguresJson(FiguresOf(bill), {{"schema_version", 1}, {"device", bill.device}});
}

std::string BillCsv(const Bill& bill) { return FiguresCsv(FiguresOf(bill)); }

}  // namespace scenarios
