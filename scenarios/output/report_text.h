// A report for people: aligned, units spelled out, at most 100 columns wide.

#ifndef SCENARIOS_OUTPUT_REPORT_TEXT_H_
#define SCENARIOS_OUTPUT_REPORT_TEXT_H_

#include <string>

#include "scenarios/report.h"

namespace scenarios {

std::string ReportText(const Report& report);

// "1.234 s", "56.7 ms", "890 us", "12 ns", "3 ps"; three significant digits or more.
std::string TimeText(sim::Duration time);
// The same of a figure that may be beyond the clock's range: "1.2e+09 s".
std::string SecondsText(double seconds);
// Binary units, spelled out: "37.1 GiB", "512 B".
std::string BytesText(sim::Bytes bytes);
// Decimal, with separators: 6,738,415,616.
std::string CountText(std::int64_t count);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_REPORT_TEXT_H_
