// How trace-event JSON spells times, numbers and names.

#ifndef SCENARIOS_OUTPUT_TRACE_TEXT_H_
#define SCENARIOS_OUTPUT_TRACE_TEXT_H_

#include <string>
#include <string_view>

#include "sim/base/units.h"

namespace scenarios {

// Microseconds with six decimals, which is picoseconds: "12.000001". Never
// through a double. REQUIRES: ps >= 0
std::string MicrosecondText(std::int64_t ps);

// Nanoseconds since the start, rounded down.
constexpr std::int64_t WholeNanoseconds(sim::Time time) { return time.since_start().ps() / 1000; }

// Whole nanoseconds as microseconds with three decimals, as PyTorch's profiler writes them: "12.001".
// REQUIRES: ns >= 0
std::string NanosecondsAsMicroseconds(std::int64_t ns);

// Nanoseconds with three decimals, which is picoseconds: "12000.001".
std::string NanosecondText(sim::Time time);

// Gigabytes (10^9) per second with three decimals, rounded down: "449.999".
std::string GigabyteText(sim::ByteRate rate);

// In double quotes, with what JSON forbids inside them escaped.
std::string Quoted(std::string_view text);

// The longest length of a slice [start, end) that every reader keeps apart
// from the next slice, which starts at `next`. Readers add start and length as
// binary doubles of microseconds (speedscope), or round each to nanoseconds
// first (Perfetto); either sum can pass `next` though end <= next.
// All in ps. REQUIRES: 0 <= start < end <= next. The result is at most
// end - start, one picosecond short of it at least when end == next
std::int64_t ReadableLength(std::int64_t start, std::int64_t end, std::int64_t next);

// Whether a reader of either kind sees [start, start + length) end by `next`.
bool EndsInTime(std::int64_t start, std::int64_t length, std::int64_t next);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_TRACE_TEXT_H_
