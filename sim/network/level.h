// Level: how far progressive filling has come, as an exact rational.

#ifndef SIM_NETWORK_LEVEL_H_
#define SIM_NETWORK_LEVEL_H_

#include <compare>
#include <cstdint>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace sim {

// A rate per unit of share, in 10^-3 B/s: numerator / denominator, not reduced.
// A link's level is what it has left, in 10^-3 B/s times the weight denominator
// (below 2^95), over the sum of weight * share of its unfrozen flows (below
// 2^96). Cross products would need 191 bits.
struct Level {
  Wide numerator = 0;    // >= 0
  Wide denominator = 1;  // > 0

  // Compares by the continued fractions: whole parts first; if they are equal,
  // the remainders, upside down. Euclid's algorithm, so it ends.
  static constexpr std::strong_ordering CompareByEuclid(Level a, Level b) {
    while (true) {
      const Wide whole_a = a.numerator / a.denominator, rest_a = a.numerator % a.denominator;
      const Wide whole_b = b.numerator / b.denominator, rest_b = b.numerator % b.denominator;
      if (whole_a != whole_b)
        return whole_a < whole_b ? std::strong_ordering::less : std::strong_ordering::greater;
      if (rest_a == 0 || rest_b == 0) return (rest_a != 0) <=> (rest_b != 0);
      // rest_a / denominator_a < rest_b / denominator_b  if and only if
      // denominator_b / rest_b < denominator_a / rest_a
      const Level next_a = {b.denominator, rest_b}, next_b = {a.denominator, rest_a};
      a = next_a;
      b = next_b;
    }
  }

  friend constexpr std::strong_ordering operator<=>(const Level& a, const Level& b) {
    // What nearly always holds, and then the products fit in 127 bits.
    if (((a.numerator | b.numerator) >> 80) == 0 && ((a.denominator | b.denominator) >> 47) == 0) {
      const Wide left = a.numerator * b.denominator, right = b.numerator * a.denominator;
      if (left == right) return std::strong_ordering::equal;
      return left < right ? std::strong_ordering::less : std::strong_ordering::greater;
    }
    return CompareByEuclid(a, b);
  }
  friend constexpr bool operator==(const Level& a, const Level& b) { return (a <=> b) == 0; }
};

// The fastest a flow can be, limit or not.
inline constexpr ByteRate kFastest = ByteRate::MilliBytesPerSecond(INT64_MAX);

// What a flow with `share` gets at `level`: floor(share * level). The product
// is below 2^32 * 2^95. REQUIRES: the result <= kFastest
constexpr ByteRate RateAt(const Level& level, std::uint32_t share) {
  const Wide rate = level.numerator * share / level.denominator;
  CHECK(rate <= kFastest.milli());
  return ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(rate));
}

}  // namespace sim

#endif  // SIM_NETWORK_LEVEL_H_
