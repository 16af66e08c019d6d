#include "scenarios/calibration/four_digits.h"

#include <cmath>

namespace scenarios {

double FourDigits(double value) {
  if (!(value > 0)) return 0;
  double scale = 1;
  for (; value * scale < 1000; scale *= 10) {
  }
  for (; value * scale >= 10'000; scale /= 10) {
  }
  return std::round(value * scale) / scale;
}

}  // namespace scenarios
