// A report for programs: one JSON document, snake_case, every key always there
// (null where there is no value), numbers as numbers. Times are seconds, sizes
// bytes. Keys are only ever added while schema_version stays the same.

#ifndef SCENARIOS_OUTPUT_REPORT_JSON_H_
#define SCENARIOS_OUTPUT_REPORT_JSON_H_

#include <string>

#include "scenarios/report.h"

namespace scenarios {

inline constexpr int kReportSchemaVersion = 1;

std::string ReportJson(const Report& report);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_REPORT_JSON_H_
