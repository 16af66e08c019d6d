// A small reader of trace-event JSON, as strict as the strictest real one.

#ifndef TESTS_SCENARIOS_OUTPUT_TRACE_READER_H_
#define TESTS_SCENARIOS_OUTPUT_TRACE_READER_H_

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace scenarios {

// The text of a file, unpacked when it is gzip. Empty when there is none.
std::string ReadMaybeGz(const std::string& path);

// The events of one phase ("X", "s", ...), in file order.
std::vector<nlohmann::json> EventsOf(const nlohmann::json& trace, const std::string& phase);

// What a viewer would choke on, one sentence each; empty = fine. Slices of one
// track neither overlap nor nest, also when times are added as doubles or
// rounded to nanoseconds; tracks have names and an order; flows come in pairs
// that lie inside slices; counters are numbers.
std::vector<std::string> ProblemsOf(const nlohmann::json& trace);

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_OUTPUT_TRACE_READER_H_
