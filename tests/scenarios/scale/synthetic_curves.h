// Curves whose laws are known.

#ifndef TESTS_SCENARIOS_SCALE_SYNTHETIC_CURVES_H_
#define TESTS_SCENARIOS_SCALE_SYNTHETIC_CURVES_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "scenarios/scale/fits.h"

namespace scenarios {

// A law with its parameters, as fits.h has them but for the first, which is 1.
struct Truth {
  Law law;
  std::vector<double> p;
};

inline std::vector<Truth> Truths() {
  return {{Law::kAmdahl, {0.01}},
          {Law::kGustafson, {0.2}},
          {Law::kUniversal, {0.01, 2e-5}},
          {Law::kTerms, {1, 60, 0.3, 0.01}},
          {Law::kPerDecade, {0.5, -0.05}}};
}

// Work in a second.
inline double WorkOf(const Truth& truth, Scaling scaling, double n) {
  const std::vector<double>& p = truth.p;
  switch (truth.law) {
    case Law::kAmdahl:
      return 1 / (p[0] + (1 - p[0]) / n);
    case Law::kGustafson:
      return p[0] + (1 - p[0]) * n;
    case Law::kUniversal:
      return n / (1 + p[0] * (n - 1) + p[1] * n * (n - 1));
    case Law::kTerms:
      return (scaling == Scaling::kWeak ? n : 1) / (p[0] + p[1] / n + p[2] * std::log2(n) + p[3] * n);
    case Law::kPerDecade:
      return n * (p[0] + p[1] * std::log10(n / 8));
  }
  return 0;
}

// The smallest number of devices is 8.
inline Curve CurveOf(const Truth& truth, Scaling scaling, Quantity quantity,
                     const std::vector<std::int64_t>& devices) {
  Curve curve{.scaling = scaling, .quantity = quantity, .points = {}};
  for (const std::int64_t count : devices) {
    const auto n = static_cast<double>(count);
    const double work = WorkOf(truth, scaling, n);
    curve.points.push_back({count, quantity == Quantity::kTokenRate ? work
                                   : quantity == Quantity::kMfu     ? work / n
                                   : scaling == Scaling::kWeak      ? n / work
                                                                    : 1 / work});
  }
  return curve;
}

// What a fit's parameters are then. Laws with shares have one device's time or rate first: of one step, 1.
inline std::vector<double> ParametersOf(const Truth& truth) {
  std::vector<double> wanted = truth.p;
  if (truth.law != Law::kTerms && truth.law != Law::kPerDecade) wanted.insert(wanted.begin(), 1);
  return wanted;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_SCALE_SYNTHETIC_CURVES_H_
