#include "hardware/math.h"

#include <cmath>
#include <cstdint>

#include "sim/base/check.h"

namespace hardware {

namespace {
constexpr double kLn2 = 0.69314718055994530942;
constexpr double kSqrtHalf = 0.70710678118654752440;
}  // namespace

double Log2(double x) {
  CHECK(x > 0 && x < HUGE_VAL);
  // frexp only moves bits: x = mantissa * 2^exponent. The mantissa is brought
  // to sqrt(1/2) ... sqrt(2), where the series below converges fastest.
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 (s + s^3/3 + s^5/5 + ...) with s = (m-1)/(m+1), |s| < 0.172: the
  // first term left out is below 0.172^27/27 = 1e-22.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent + 2 * s * sum / kLn2;
}

double Exp2(double y) {
  CHECK(y > -1000 && y < 1000);
  const int whole = static_cast<int>(y + (y < 0 ? -0.5 : 0.5));
  // e^z by its Taylor series, |z| < 0.347: the first term left out is below
  // 0.347^16/16! = 2e-21.
  const double z = (y - whole) * kLn2;
  double sum = 1;
  for (int k = 15; k >= 1; --k) sum = 1 + sum * z / k;
  return std::ldexp(sum, whole);
}

double Pow(double x, double p) {
  CHECK(x >= 0 && p > 0);
  if (x == 0) return 0;
  return Exp2(p * Log2(x));
}

double Cover(double whole, double piece) {
  CHECK(whole >= 0 && piece > 0);
  if (whole / piece > 1e15) return whole / piece;
  double count = static_cast<double>(static_cast<std::int64_t>(whole / piece));
  while (count * piece < whole) ++count;
  return count;
}

double PowerMean(double a, double b, double p) {
  CHECK(a >= 0 && b >= 0 && p >= 1);
  const double large = a > b ? a : b;
  const double small = a > b ? b : a;
  const double ratio = large == 0 ? 0 : small / large;
  if (ratio == 0) return large;
  const double exponent = p * Log2(ratio);  // <= 0
  if (exponent < -60) return large;         // 1 + 2^-60 is 1
  return large * Pow(1 + Exp2(exponent), 1 / p);
}

}  // namespace hardware
