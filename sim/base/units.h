// Quantities with their unit in the type: Duration, Time, Bytes, Flops and
// their rates. All are whole numbers, so that results do not depend on the
// compiler, the machine or the order of a sum.

#ifndef SIM_BASE_UNITS_H_
#define SIM_BASE_UNITS_H_

#include <cmath>
#include <compare>
#include <cstdint>

#include "sim/base/check.h"

namespace sim {

__extension__ using Wide = __int128;  // holds a product of two 64-bit numbers

// A count in formulas of real numbers; above 2^53 the nearest one.
inline double Number(Wide n) { return static_cast<double>(n); }

// A signed length of simulated time, in whole picoseconds. Spans 106 days.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration Picoseconds(std::int64_t n) { return Duration(n); }
  static constexpr Duration Nanoseconds(std::int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration Microseconds(std::int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration Milliseconds(std::int64_t n) { return Duration(n * 1'000'000'000); }
  static constexpr Duration Max() { return Duration(INT64_MAX); }

  // The one place where a double of a cost model becomes time. Rounds to the
  // nearest picosecond. REQUIRES: 0 <= seconds < 9e6
  static Duration FromSeconds(double seconds);

  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr auto operator<=>(const Duration&) const = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ps_ + b.ps_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ps_ - b.ps_); }
  friend constexpr Duration operator*(std::int64_t n, Duration d) { return Duration(n * d.ps_); }
  constexpr Duration& operator+=(Duration d) {
    ps_ += d.ps_;
    return *this;
  }

 private:
  explicit constexpr Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

inline Duration Duration::FromSeconds(double seconds) {
  CHECK(seconds >= 0 && seconds < 9e6);  // also catches NaN
  return Duration(std::llround(seconds * 1e12));
}

// An instant: the Duration since the simulation started. Instants do not add.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time Start() { return Time(); }
  static constexpr Time Never() { return Time(Duration::Max()); }
  constexpr Duration since_start() const { return since_start_; }
  constexpr auto operator<=>(const Time&) const = default;
  friend constexpr Time operator+(Time t, Duration d) { return Time(t.since_start_ + d); }
  friend constexpr Duration operator-(Time a, Time b) { return a.since_start_ - b.since_start_; }

 private:
  explicit constexpr Time(Duration d) : since_start_(d) {}
  Duration since_start_;
};

// A count of one kind of thing. Counts of different kinds do not mix.
template <class Tag>
class Count {
 public:
  constexpr Count() = default;
  explicit constexpr Count(std::int64_t n) : n_(n) {}
  constexpr std::int64_t count() const { return n_; }
  constexpr auto operator<=>(const Count&) const = default;
  friend constexpr Count operator+(Count a, Count b) { return Count(a.n_ + b.n_); }
  friend constexpr Count operator-(Count a, Count b) { return Count(a.n_ - b.n_); }
  friend constexpr Count operator*(std::int64_t k, Count a) { return Count(k * a.n_); }
  constexpr Count& operator+=(Count b) {
    n_ += b.n_;
    return *this;
  }

 private:
  std::int64_t n_ = 0;
};
using Bytes = Count<struct BytesTag>;
using Flops = Count<struct FlopsTag>;  // operations, not a rate; 9.2e18 at most

// A rate of bytes, in whole 10^-3 bytes per second, so that rate x time is
// exact: 10^-3 B/s x ps = 10^-15 B. At most 9.2e15 B/s.
class ByteRate {
 public:
  constexpr ByteRate() = default;
  static constexpr ByteRate MilliBytesPerSecond(std::int64_t n) { return ByteRate(n); }
  static constexpr ByteRate BytesPerSecond(std::int64_t n) { return ByteRate(n * 1000); }
  // Rounds down. REQUIRES: 0 <= gb_per_s <= 9e6
  static ByteRate GigabytesPerSecond(double gb_per_s) {
    CHECK(gb_per_s >= 0 && gb_per_s <= 9e6);
    return ByteRate(static_cast<std::int64_t>(gb_per_s * 1e12));
  }
  constexpr std::int64_t milli() const { return milli_; }
  constexpr double bytes_per_second() const { return static_cast<double>(milli_) * 1e-3; }
  constexpr auto operator<=>(const ByteRate&) const = default;

 private:
  explicit constexpr ByteRate(std::int64_t milli) : milli_(milli) {}
  std::int64_t milli_ = 0;
};

// How long `amount` takes at `rate`. Rounds up to a whole picosecond, so that
// nothing finishes before all of it has been done.
// REQUIRES: amount >= 0, rate > 0
constexpr Duration operator/(Bytes amount, ByteRate rate) {
  CHECK(amount.count() >= 0);
  CHECK(rate.milli() > 0);
  const Wide milli = rate.milli();
  const Wide femto_bytes = static_cast<Wide>(amount.count()) * 1'000'000'000'000'000;
  const Wide ps = (femto_bytes + milli - 1) / milli;
  CHECK(ps <= INT64_MAX);
  return Duration::Picoseconds(static_cast<std::int64_t>(ps));
}

namespace literals {
using Whole = unsigned long long;  // what the language gives a literal operator

constexpr std::int64_t Signed(Whole n) { return static_cast<std::int64_t>(n); }

constexpr Duration operator""_ps(Whole n) { return Duration::Picoseconds(Signed(n)); }
constexpr Duration operator""_ns(Whole n) { return Duration::Nanoseconds(Signed(n)); }
constexpr Duration operator""_us(Whole n) { return Duration::Microseconds(Signed(n)); }
constexpr Duration operator""_ms(Whole n) { return Duration::Milliseconds(Signed(n)); }
constexpr Bytes operator""_B(Whole n) { return Bytes(Signed(n)); }
constexpr Bytes operator""_KiB(Whole n) { return Bytes(Signed(n) << 10); }
constexpr Bytes operator""_MiB(Whole n) { return Bytes(Signed(n) << 20); }
constexpr Bytes operator""_GiB(Whole n) { return Bytes(Signed(n) << 30); }
constexpr ByteRate operator""_GB_per_s(Whole n) {
  return ByteRate::BytesPerSecond(Signed(n) * 1'000'000'000);
}
constexpr ByteRate operator""_Gbit_per_s(Whole n) {
  return ByteRate::BytesPerSecond(Signed(n) * 125'000'000);
}
}  // namespace literals

}  // namespace sim

#endif  // SIM_BASE_UNITS_H_
