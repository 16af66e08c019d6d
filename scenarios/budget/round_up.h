// Whole servers, cores, devices, steps: as many as cover a fraction.

#ifndef SCENARIOS_BUDGET_ROUND_UP_H_
#define SCENARIOS_BUDGET_ROUND_UP_H_

#include <cmath>
#include <cstdint>

#include "sim/base/check.h"

namespace scenarios {

// REQUIRES: count is from 0 to 9e18
inline std::int64_t RoundUp(double count) {
  CHECK(count >= 0 && count < 9e18);
  return static_cast<std::int64_t>(std::ceil(count));
}

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_ROUND_UP_H_
