// Scaling curves and their fits as a table, a document, a spreadsheet.

#ifndef SCENARIOS_OUTPUT_SCALE_OUTPUT_H_
#define SCENARIOS_OUTPUT_SCALE_OUTPUT_H_

#include <string>

#include "scenarios/scale/baseline.h"
#include "scenarios/scale/scale_report.h"

namespace scenarios {

// Aligned, at most 110 columns.
std::string ScaleText(const ScaleReport& report);
// Figures of fits have nine digits. `comparison`, where there is a baseline, may be null.
std::string ScaleJson(const ScaleReport& report, const BaselineComparison* comparison);
// A row a point. Of simulated ones what the table has; of measured ones their residuals by law.
std::string ScaleCsv(const ScaleReport& report);

// What moved, by how much, and why; a line that nothing did where that is so.
std::string ComparisonText(const BaselineComparison& comparison, const std::string& file);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_SCALE_OUTPUT_H_
