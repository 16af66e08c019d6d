#include "scenarios/output/trace_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/check.h"

namespace scenarios {
namespace {

constexpr std::int64_t kPerMicrosecond = 1'000'000;
constexpr std::int64_t kPerNanosecond = 1'000;

// `whole` point `fraction`, the fraction filled with zeros to `digits`.
std::string Decimal(std::int64_t whole, std::int64_t fraction, std::size_t digits) {
  std::string text = std::to_string(fraction);
  text.insert(0, digits - text.size(), '0');
  return std::to_string(whole) + "." + text;
}

// What a reader gets: the double nearest to the text.
double AsRead(std::int64_t ps) {
  const std::string text = MicrosecondText(ps);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  CHECK(error == std::errc() && end == text.data() + text.size());
  return value;
}

// Perfetto's nanoseconds.
std::int64_t RoundedNs(double microseconds) { return std::llround(microseconds * 1000.0); }

}  // namespace

std::string MicrosecondText(std::int64_t ps) {
  CHECK(ps >= 0);
  return Decimal(ps / kPerMicrosecond, ps % kPerMicrosecond, 6);
}

std::string NanosecondsAsMicroseconds(std::int64_t ns) {
  CHECK(ns >= 0);
  return Decimal(ns / 1000, ns % 1000, 3);
}

std::string NanosecondText(sim::Time time) {
  const std::int64_t ps = time.since_start().ps();
  CHECK(ps >= 0);
  return Decimal(ps / kPerNanosecond, ps % kPerNanosecond, 3);
}

std::string GigabyteText(sim::ByteRate rate) {
  constexpr std::int64_t kMilliPerMegabyte = 1'000'000'000;  // 10^-3 B/s in 1 MB/s
  const std::int64_t megabytes = rate.milli() / kMilliPerMegabyte;
  return Decimal(megabytes / 1000, megabytes % 1000, 3);
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

bool EndsInTime(std::int64_t start, std::int64_t length, std::int64_t next) {
  const double from = AsRead(start), duration = AsRead(length), limit = AsRead(next);
  return from + duration <= limit && RoundedNs(from) + RoundedNs(duration) <= RoundedNs(limit);
}

std::int64_t ReadableLength(std::int64_t start, std::int64_t end, std::int64_t next) {
  CHECK(0 <= start && start < end && end <= next);
  std::int64_t length = end - start;
  if (end == next) --length;
  if (EndsInTime(start, length, next)) return length;
  // Whole nanoseconds between the rounded ends fit a reader that rounds.
  const std::int64_t room = (RoundedNs(AsRead(next)) - RoundedNs(AsRead(start))) * kPerNanosecond;
  length = std::min(length, std::max(room, std::int64_t{0}));
  // Beyond 2^53 ps (2.5 hours) a double holds no single picosecond any more.
  for (std::int64_t step = 1; length > 0 && !EndsInTime(start, length, next); step *= 2) {
    length = std::max(length - step, std::int64_t{0});
  }
  return length;
}

}  // namespace scenarios
