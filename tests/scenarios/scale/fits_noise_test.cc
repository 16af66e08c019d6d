// Whether 95 % intervals hold the truth in 95 of 100 noisy curves.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/scenarios/scale/synthetic_curves.h"

namespace scenarios {
namespace {

constexpr int kCurves = 1000;

// Normal numbers of our own: those of the library may differ from library to library.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : bits_(seed) {}
  double Next() {
    const double u = (static_cast<double>(bits_() >> 11) + 0.5) / 9007199254740992.0;
    const double v = static_cast<double>(bits_() >> 11) / 9007199254740992.0;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
  }

 private:
  std::mt19937_64 bits_;
};

// Of so many curves each share may be off 0.95 by three of its own deviations, sqrt(0.95 0.05 / 1000) = 0.7
// %.
void ExpectNinetyFive(int held, const std::string& what) {
  EXPECT_GE(held, 0.93 * kCurves) << what;
  EXPECT_LE(held, 0.97 * kCurves) << what;
}

class NoisyCurves : public testing::TestWithParam<std::size_t> {};

TEST_P(NoisyCurves, HaveTheTruthInTheirIntervalsAtTheStatedRate) {
  const Truth truth = Truths()[GetParam()];
  const std::vector<std::int64_t> devices = {8, 16, 32, 64, 128, 256, 512, 1024, 2048};
  const Curve exact = CurveOf(truth, Scaling::kStrong, Quantity::kStepTime, devices);
  const double beyond = 1 / WorkOf(truth, Scaling::kStrong, 4096);
  const std::vector<double> wanted = ParametersOf(truth);
  std::vector<int> held(wanted.size(), 0);
  int next = 0;
  Noise noise(2024 + GetParam());
  for (int i = 0; i < kCurves; ++i) {
    Curve curve = exact;
    for (CurvePoint& point : curve.points) point.value *= std::exp(0.01 * noise.Next());
    const Fit fit = FitLaw(truth.law, curve).value();
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      held[k] += fit.parameters[k].low <= wanted[k] && wanted[k] <= fit.parameters[k].high;
    }
    // A new point on twice as many devices.
    const Prediction p = Predict(fit, 4096).value();
    const double seen = beyond * std::exp(0.01 * noise.Next());
    next += p.low <= seen && seen <= p.high;
  }
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    ExpectNinetyFive(held[k], std::string(ToText(truth.law)) + " parameter " + std::to_string(k));
  }
  ExpectNinetyFive(next, std::string(ToText(truth.law)) + " prediction");
}

INSTANTIATE_TEST_SUITE_P(AllLaws, NoisyCurves, testing::Range<std::size_t>(0, 5));

}  // namespace
}  // namespace scenarios
