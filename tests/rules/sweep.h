// One simulated point of a sweep: a shipped scenario with some fields changed.

#ifndef TESTS_RULES_SWEEP_H_
#define TESTS_RULES_SWEEP_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/report.h"

namespace rules {

// Pairs of path and value, as "--set path=value" on the command line.
using Sets = std::vector<std::pair<std::string, std::string>>;
Sets operator+(Sets a, const Sets& b);

// A mistake in the fields ends the test with its message.
scenarios::Report Simulate(const std::string& scenario, const Sets& sets);
// The errors that refuse these fields; empty where they are legal.
std::string RefusalOf(const std::string& scenario, const Sets& sets);

// Parts of the step of the rank that idles least, in seconds.
double SecondsOf(const scenarios::Report& report, const std::string& cause);
// What it waits for: every kind of communication, without bubbles.
double WaitingOf(const scenarios::Report& report);
double ShareWaiting(const scenarios::Report& report);
// Bytes of the fullest stage.
double MemoryOf(const scenarios::Report& report);
double MemoryOf(const scenarios::Report& report, const std::string& part);

// Figures for a table.
std::string Number(double value, int decimals = 0);
std::string Count(std::int64_t value);               // 4096 -> "4,096"
std::string Percent(double part, int decimals = 1);  // 0.123 -> "12.3 %"
std::string Milliseconds(double seconds, int decimals = 1);
char Answer(bool holds);  // 'y' or 'n'

}  // namespace rules

#endif  // TESTS_RULES_SWEEP_H_
