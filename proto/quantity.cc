#include "proto/quantity.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace proto {
namespace {

// One unit as a fraction of the result's own step (10^-3 B/s, ps, B).
struct Unit {
  std::string_view name;
  sim::Wide numerator;
};

// `digits` without point, with `decimals` of them after it.
struct Decimal {
  sim::Wide digits = 0;
  int decimals = 0;
};

std::optional<Decimal> ReadDecimal(std::string_view text, std::size_t* at) {
  constexpr int kMostDigits = 24;
  Decimal number;
  int read = 0;
  bool point = false;
  for (; *at < text.size(); ++*at) {
    const char c = text[*at];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      if (++read > kMostDigits) return std::nullopt;
      number.digits = number.digits * 10 + (c - '0');
      if (point) ++number.decimals;
    } else {
      break;
    }
  }
  if (read == 0) return std::nullopt;
  while (number.decimals > 0 && number.digits % 10 == 0) {
    number.digits /= 10;
    --number.decimals;
  }
  return number;
}

sim::Error Refuse(std::string_view text, const std::string& what) {
  return {'"' + std::string(text.substr(0, 40)) + "\" " + what};
}

// The number times the unit, in whole steps.
sim::Result<std::int64_t> ReadQuantity(std::string_view text, std::span<const Unit> units,
                                       const std::string& example, const std::string& step) {
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  const std::optional<Decimal> number = ReadDecimal(text, &at);
  if (!number) return Refuse(text, "does not start with a plain number; wanted one like " + example);
  while (at < text.size() && text[at] == ' ') ++at;
  std::string_view name = text.substr(at);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  if (name.empty()) return Refuse(text, "has no unit; wanted one like " + example);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    constexpr sim::Wide kMost = sim::Wide{1} << 126;
    if (unit.numerator != 0 && number->digits > kMost / unit.numerator) return Refuse(text, "is too large");
    sim::Wide value = number->digits * unit.numerator;
    for (int i = 0; i < number->decimals; ++i) {
      if (value % 10 != 0) return Refuse(text, "is finer than " + step + ", the least that is kept");
      value /= 10;
    }
    if (value > INT64_MAX) return Refuse(text, "is too large");
    return static_cast<std::int64_t>(value);
  }
  return Refuse(text, "has an unknown unit; wanted one like " + example);
}

constexpr sim::Wide kKilo = 1000, kMega = kKilo * 1000, kGiga = kMega * 1000, kTera = kGiga * 1000,
                    kPeta = kTera * 1000;
constexpr sim::Wide kKibi = 1024, kMebi = kKibi * 1024, kGibi = kMebi * 1024, kTebi = kGibi * 1024,
                    kPebi = kTebi * 1024;

constexpr Unit kByteUnits[] = {
    {"B", 1},      {"kB", kKilo},  {"KB", kKilo},  {"MB", kMega},  {"GB", kGiga},  {"TB", kTera},
    {"PB", kPeta}, {"KiB", kKibi}, {"MiB", kMebi}, {"GiB", kGibi}, {"TiB", kTebi}, {"PiB", kPebi},
};

// In 10^-3 B/s: a byte is 1000 of them, a bit 125.
constexpr sim::Wide kByte = 1000, kBit = 125;
constexpr Unit kRateUnits[] = {
    {"B/s", kByte},          {"kB/s", kKilo* kByte},  {"KB/s", kKilo* kByte},  {"MB/s", kMega* kByte},
    {"GB/s", kGiga* kByte},  {"TB/s", kTera* kByte},  {"PB/s", kPeta* kByte},  {"KiB/s", kKibi* kByte},
    {"MiB/s", kMebi* kByte}, {"GiB/s", kGibi* kByte}, {"TiB/s", kTebi* kByte}, {"b/s", kBit},
    {"kb/s", kKilo* kBit},   {"Kb/s", kKilo* kBit},   {"Mb/s", kMega* kBit},   {"Gb/s", kGiga* kBit},
    {"Tb/s", kTera* kBit},   {"bit/s", kBit},         {"kbit/s", kKilo* kBit}, {"Mbit/s", kMega* kBit},
    {"Gbit/s", kGiga* kBit}, {"Tbit/s", kTera* kBit}, {"bps", kBit},           {"kbps", kKilo* kBit},
    {"Kbps", kKilo* kBit},   {"Mbps", kMega* kBit},   {"Gbps", kGiga* kBit},   {"Tbps", kTera* kBit},
    {"MBps", kMega* kByte},  {"GBps", kGiga* kByte},  {"TBps", kTera* kByte},
};

constexpr Unit kTimeUnits[] = {
    {"ps", 1},    {"ns", kKilo},       {"us", kMega},       {"ms", kGiga},
    {"s", kTera}, {"min", 60 * kTera}, {"h", 3600 * kTera},
};

}  // namespace

sim::Result<sim::ByteRate> ParseByteRate(std::string_view text) {
  const auto milli =
      ReadQuantity(text, kRateUnits, "\"50 GB/s\" (bytes) or \"400 Gb/s\" (bits)", "10^-3 B/s");
  if (!milli.ok()) return milli.error();
  return sim::ByteRate::MilliBytesPerSecond(milli.value());
}

sim::Result<sim::Duration> ParseDuration(std::string_view text) {
  const auto ps = ReadQuantity(text, kTimeUnits, "\"500 ns\"", "1 ps");
  if (!ps.ok()) return ps.error();
  return sim::Duration::Picoseconds(ps.value());
}

sim::Result<sim::Bytes> ParseBytes(std::string_view text) {
  const auto bytes = ReadQuantity(text, kByteUnits, "\"80 GB\" or \"80 GiB\"", "1 B");
  if (!bytes.ok()) return bytes.error();
  return sim::Bytes(bytes.value());
}

}  // namespace proto
