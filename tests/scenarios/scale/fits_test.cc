#include "scenarios/scale/fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/scenarios/scale/synthetic_curves.h"

namespace scenarios {
namespace {

using testing::HasSubstr;

TEST(FitLaw, RecoversEveryLawFromPointsWithoutNoise) {
  for (const Truth& truth : Truths()) {
    for (const Scaling scaling : {Scaling::kStrong, Scaling::kWeak}) {
      for (const Quantity quantity : {Quantity::kStepTime, Quantity::kTokenRate, Quantity::kMfu}) {
        const Curve curve = CurveOf(truth, scaling, quantity, {8, 16, 32, 64, 128, 256, 512, 1024});
        const auto fit = FitLaw(truth.law, curve);
        ASSERT_TRUE(fit.ok()) << ToText(truth.law) << ": " << fit.error().message;
        const std::vector<double> wanted = ParametersOf(truth);
        ASSERT_EQ(fit.value().parameters.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          const Parameter& p = fit.value().parameters[i];
          EXPECT_NEAR(p.value, wanted[i], 1e-7 * std::abs(wanted[i])) << ToText(truth.law) << ' ' << p.name;
          EXPECT_FALSE(p.at_bound);
        }
        EXPECT_LT(fit.value().spread, 1e-9);
        EXPECT_NEAR(fit.value().r_squared.value_or(0), 1, 1e-12);
      }
    }
  }
}

// Every other law leaves more, and of two that tell all the one with fewer parameters is preferred: the
// universal law without coherency is Amdahl's, and so are the terms without gamma and delta.
TEST(PreferredLaw, IsTheOneThatThePointsAreOf) {
  for (const Truth& truth : Truths()) {
    const Curve curve =
        CurveOf(truth, Scaling::kStrong, Quantity::kStepTime, {8, 16, 32, 64, 128, 256, 512, 1024});
    EXPECT_EQ(PreferredLaw(FitLaws(curve)), truth.law) << ToText(truth.law);
  }
}

// A time and its inverse are one curve; seconds and milliseconds as well.
TEST(FitLaw, DoesNotDependOnUnits) {
  Curve curve{.scaling = Scaling::kStrong,
              .points = {{8, 10.2}, {16, 5.4}, {32, 2.9}, {64, 1.8}, {128, 1.2}}};
  Curve milliseconds = curve, rate = curve;
  rate.quantity = Quantity::kTokenRate;
  for (CurvePoint& point : milliseconds.points) point.value *= 1000;
  for (CurvePoint& point : rate.points) point.value = 1e6 / point.value;
  for (const Law law : {Law::kAmdahl, Law::kGustafson, Law::kUniversal}) {
    const Fit a = FitLaw(law, curve).value(), b = FitLaw(law, milliseconds).value(),
              c = FitLaw(law, rate).value();
    for (std::size_t i = 1; i < a.parameters.size(); ++i) {  // shares
      EXPECT_NEAR(a.parameters[i].value, b.parameters[i].value, 1e-9);
      EXPECT_NEAR(a.parameters[i].value, c.parameters[i].value, 1e-9);
      EXPECT_NEAR(a.parameters[i].high, c.parameters[i].high, 1e-9);
    }
    EXPECT_NEAR(1000 * a.parameters[0].value, b.parameters[0].value, 1e-6 * b.parameters[0].value);
    EXPECT_NEAR(*a.aicc, *b.aicc, 1e-6);
    EXPECT_NEAR(*a.aicc, *c.aicc, 1e-6);
    const Prediction p = Predict(a, 512).value(), q = Predict(c, 512).value();
    EXPECT_NEAR(p.value, 1e6 / q.value, 1e-9 * p.value);
    EXPECT_NEAR(p.low, 1e6 / q.high, 1e-9 * p.low);
  }
}

// By the textbook's rule 9: from 8 to 8000 devices MFU falls by 5 points a decade, from 48 to 33 %.
TEST(FitLaw, OfTheTextbooksRuleNineGivesItsFivePoints) {
  const Curve curve{.scaling = Scaling::kWeak,
                    .quantity = Quantity::kMfu,
                    .points = {{8, 0.48}, {80, 0.43}, {800, 0.38}, {8000, 0.33}}};
  const Fit fit = FitLaw(Law::kPerDecade, curve).value();
  EXPECT_NEAR(fit.parameters[0].value, 0.48, 1e-12);
  EXPECT_NEAR(fit.parameters[1].value, -0.05, 1e-12);
  EXPECT_NEAR(Predict(fit, 80'000).value().value, 0.28, 1e-12);
}

// Two parameters and the spread are k = 3, of n = 5: n ln(S/n) + 2k + 2k(k+1)/(n-k-1) with the squares S of
// the residuals.
TEST(FitLaw, TellsAiccAsItsFormulaHasIt) {
  const Curve curve{.points = {{8, 10.2}, {16, 5.4}, {32, 2.9}, {64, 1.8}, {128, 1.2}}};
  const Fit fit = FitLaw(Law::kAmdahl, curve).value();
  double squares = 0;
  for (const double residual : fit.residuals) squares += std::log(1 + residual) * std::log(1 + residual);
  EXPECT_NEAR(fit.aicc.value(), 5 * std::log(squares / 5) + 6 + 24, 1e-9);
  EXPECT_NEAR(fit.spread, std::sqrt(squares / 3), 1e-12);
}

TEST(FitLaw, SaysWherePointsAreTooFewForAicc) {
  Curve curve{.points = {{8, 10.2}, {16, 5.4}, {32, 2.9}}};
  EXPECT_EQ(FitLaw(Law::kAmdahl, curve).value().no_aicc, "too few points for AICc: 5 are wanted");
  EXPECT_EQ(PreferredLaw(FitLaws(curve)), std::nullopt);
  EXPECT_EQ(FitLaw(Law::kUniversal, curve).error().message,
            "3 points for 3 parameters; at least 4 are wanted");
  curve.points.pop_back();
  EXPECT_EQ(FitLaw(Law::kAmdahl, curve).error().message, "2 points for 2 parameters; at least 3 are wanted");
}

TEST(FitLaw, RefusesWhatNoFitCanTell) {
  const Curve same{.points = {{8, 1}, {8, 1.1}, {8, 0.9}, {8, 1}}};
  EXPECT_EQ(FitLaw(Law::kAmdahl, same).error().message,
            "1 different numbers of devices for 2 parameters; as many are wanted");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    const Curve curve{.points = {{8, 1}, {16, bad}, {32, 0.9}, {64, 1}}};
    EXPECT_THAT(FitLaw(Law::kGustafson, curve).error().message,
                HasSubstr("a point on 16 devices is not above zero"));
  }
}

// A curve that speeds up by more than its devices has no serial share; the interval stays inside.
TEST(FitLaw, HoldsSharesToWhatTheyCanBe) {
  const Curve curve{.points = {{8, 10}, {16, 4.9}, {32, 2.4}, {64, 1.15}}};
  const Parameter serial = FitLaw(Law::kAmdahl, curve).value().parameters[1];
  EXPECT_EQ(serial.value, 0);
  EXPECT_TRUE(serial.at_bound);
  EXPECT_EQ(serial.low, 0);
  EXPECT_GT(serial.high, 0);
  EXPECT_LT(serial.high, 0.01);
}

TEST(Predict, WarnsBeyondThePointsAndWhereALineFallsToZero) {
  const Curve curve{
      .scaling = Scaling::kWeak, .quantity = Quantity::kMfu, .points = {{8, 0.5}, {80, 0.31}, {800, 0.1}}};
  const Fit fit = FitLaw(Law::kPerDecade, curve).value();
  EXPECT_FALSE(Predict(fit, 8).value().outside);
  EXPECT_FALSE(Predict(fit, 800).value().outside);
  EXPECT_TRUE(Predict(fit, 4).value().outside);
  EXPECT_TRUE(Predict(fit, 1000).value().outside);
  EXPECT_THAT(Predict(fit, 100'000).error().message,
              HasSubstr("per_decade falls to zero before 100000 devices"));
}

}  // namespace
}  // namespace scenarios
