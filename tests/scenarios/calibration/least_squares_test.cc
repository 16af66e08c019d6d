// Least squares where the answer is known in closed form.

#include "scenarios/calibration/least_squares.h"

#include <gtest/gtest.h>

namespace scenarios {
namespace {

// y = 2 + 3 x with errors that are orthogonal to 1 and to x: the line through them is that line, and the
// cost is their squares.
TEST(LeastSquares, ALineThroughPointsIsTheNormalEquations) {
  const std::vector<double> x = {0, 1, 2, 3}, error = {1, -1, -1, 1};
  const auto residuals = [&](std::span<const double> at, std::span<double> values) {
    for (std::size_t i = 0; i < x.size(); ++i) values[i] = at[0] + at[1] * x[i] - (2 + 3 * x[i] + error[i]);
  };
  const LeastSquares best = Minimise(residuals, 4, {10, -10});
  EXPECT_NEAR(best.parameters[0], 2, 1e-6);
  EXPECT_NEAR(best.parameters[1], 3, 1e-6);
  EXPECT_NEAR(best.cost, 4, 1e-9);
}

// Rosenbrock's valley: 10 (y - x^2) and 1 - x are zero at (1, 1) alone.
TEST(LeastSquares, FollowsACurvedValleyToItsEnd) {
  const auto residuals = [](std::span<const double> at, std::span<double> values) {
    values[0] = 10 * (at[1] - at[0] * at[0]);
    values[1] = 1 - at[0];
  };
  const LeastSquares best = Minimise(residuals, 2, {-1.2, 1});
  EXPECT_NEAR(best.parameters[0], 1, 1e-4);
  EXPECT_NEAR(best.parameters[1], 1, 1e-4);
}

TEST(LeastSquares, ParametersThatMoveNothingStayWhereTheyWere) {
  const auto residuals = [](std::span<const double> at, std::span<double> values) { values[0] = at[0] - 5; };
  const LeastSquares best = Minimise(residuals, 1, {1, 7});
  EXPECT_NEAR(best.parameters[0], 5, 1e-6);
  EXPECT_NEAR(best.parameters[1], 7, 1e-6);
}

TEST(LeastSquares, NoParametersAreTheirOwnBest) {
  const auto residuals = [](std::span<const double>, std::span<double> values) { values[0] = 3; };
  EXPECT_EQ(Minimise(residuals, 1, {}).cost, 9);
}

}  // namespace
}  // namespace scenarios
