#include "scenarios/scale/log_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace scenarios {
namespace {

// NIST, Statistical Reference Datasets, "Norris" (linear, 36 observations), with its certified values.
TEST(LinearFit, OfNorrisIsAsNistCertifiesIt) {
  const std::vector<double> y = {0.1,   338.8, 118.1, 888.0, 9.2,   228.1, 668.5, 998.5, 449.1,
                                 778.9, 559.2, 0.3,   0.1,   778.1, 668.8, 339.3, 448.9, 10.8,
                                 557.7, 228.3, 998.0, 888.8, 119.6, 0.3,   0.6,   557.6, 339.3,
                                 888.0, 998.5, 778.9, 10.2,  117.6, 228.9, 668.4, 449.2, 0.2};
  const std::vector<double> x = {0.2,   337.4, 118.2, 884.6, 10.1,  226.5, 666.3, 996.3, 448.6,
                                 777.0, 558.2, 0.4,   0.6,   775.5, 666.9, 338.0, 447.5, 11.6,
                                 556.0, 228.1, 995.8, 887.6, 120.2, 0.3,   0.3,   556.8, 339.1,
                                 887.2, 999.0, 779.0, 11.1,  118.3, 229.2, 669.1, 448.9, 0.5};
  Terms rows;
  for (const double one : x) rows.push_back({1, one});
  const auto fit = FitLinear(rows, y);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit.value().coefficients[0], -0.262323073774029, 1e-11);
  EXPECT_NEAR(fit.value().coefficients[1], 1.00211681802045, 1e-13);
  EXPECT_NEAR(std::sqrt(fit.value().covariance[0][0]), 0.232818234301152, 1e-11);
  EXPECT_NEAR(std::sqrt(fit.value().covariance[1][1]), 0.429796848199937e-3, 1e-14);
  EXPECT_NEAR(std::sqrt(fit.value().sum_of_squares / 34), 0.884796396144373, 1e-11);
}

// Of one term ln c is the mean of ln y - ln f, and its variance s^2 / n: here 0, ln 2 and ln 4 around ln 2.
TEST(LogFit, OfOneTermIsTheGeometricMean) {
  const auto fit = FitLogs({{1}, {10}, {100}}, {3, 60, 1200}, true);
  ASSERT_TRUE(fit.ok());
  const double ln2 = std::log(2);
  EXPECT_NEAR(fit.value().coefficients[0], 6, 1e-12);
  EXPECT_EQ(fit.value().degrees, 2u);
  EXPECT_NEAR(fit.value().sum_of_squares, 2 * ln2 * ln2, 1e-12);
  EXPECT_NEAR(fit.value().covariance[0][0], 36 * ln2 * ln2 / 3, 1e-11);
}

// At the minimum of the squares of the logarithms no step to any side is smaller.
TEST(LogFit, EndsWhereNoNeighbourIsBetter) {
  const Terms rows = {{1, 1}, {1, 0.5}, {1, 0.25}, {1, 0.125}, {1, 0.0625}};
  const std::vector<double> y = {10.7, 5.2, 3.4, 2.2, 1.5};
  const auto fit = FitLogs(rows, y, true);
  ASSERT_TRUE(fit.ok());
  const auto squares = [&](double a, double b) {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double r = std::log(y[i] / (a * rows[i][0] + b * rows[i][1]));
      sum += r * r;
    }
    return sum;
  };
  const double a = fit.value().coefficients[0], b = fit.value().coefficients[1];
  EXPECT_NEAR(squares(a, b), fit.value().sum_of_squares, 1e-12);
  for (const double step : {-1e-3, 1e-3}) {
    EXPECT_GT(squares(a + step, b), fit.value().sum_of_squares);
    EXPECT_GT(squares(a, b + step), fit.value().sum_of_squares);
    EXPECT_GT(squares(a + step, b - step), fit.value().sum_of_squares);
  }
}

// 5/N - 0.1 fits these points exactly; with no term below zero it is c/N, c their geometric mean.
TEST(LogFit, KeepsTermsFromGoingBelowZero) {
  const Terms rows = {{1, 1}, {1, 0.5}, {1, 0.25}};
  const std::vector<double> y = {4.9, 2.4, 1.15};
  const auto fit = FitLogs(rows, y, true);
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit.value().coefficients[0], 0);
  EXPECT_NEAR(fit.value().coefficients[1], std::cbrt(4.9 * 4.8 * 4.6), 1e-9);
  const auto free = FitLogs(rows, y, false);
  ASSERT_TRUE(free.ok());
  EXPECT_NEAR(free.value().coefficients[0], -0.1, 1e-9);
}

TEST(LogFit, RefusesTooFewPointsAndCollinearTerms) {
  EXPECT_EQ(FitLogs({{1, 1}, {1, 2}}, {1, 2}, true).error().message,
            "2 points for 2 parameters; at least 3 are wanted");
  EXPECT_NE(FitLogs({{1, 2}, {1, 2}, {1, 2}}, {1, 2, 3}, true).error().message.find("collinear"),
            std::string::npos);
  EXPECT_NE(FitLinear({{1, 0}, {1, 0}, {1, 0}}, {1, 2, 3}).error().message.find("collinear"),
            std::string::npos);
}

// Any table of Student's t, two-sided 95 %.
TEST(StudentQuantile, IsThatOfTables) {
  EXPECT_NEAR(StudentQuantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 10), 2.228, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 30), 2.042, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.5, 7), 0, 1e-12);
}

}  // namespace
}  // namespace scenarios
