// Least squares by Levenberg and Marquardt, with derivatives by differences. The same input gives the same
// output: no random starts, a fixed bound on the steps.

#ifndef SCENARIOS_CALIBRATION_LEAST_SQUARES_H_
#define SCENARIOS_CALIBRATION_LEAST_SQUARES_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace scenarios {

// Fills `residuals` for `parameters`.
using ResidualFunction = std::function<void(std::span<const double> parameters, std::span<double> residuals)>;

struct LeastSquares {
  std::vector<double> parameters;
  double cost = 0;  // sum of the squares
};

// When to stop: after so many steps, or when one makes the cost smaller by less than this part of it.
struct Effort {
  int most_steps = 100;
  double small_gain = 1e-9;
};

// From `start` to a place where no step makes the sum of `count` squares smaller; parameters of a scale
// near 1. Source: Marquardt, "An algorithm for least-squares estimation of nonlinear parameters", SIAM 11(2),
// 1963.
LeastSquares Minimise(const ResidualFunction& residuals, std::size_t count, std::vector<double> start,
                      Effort effort = {});

// A residual whose square is like its own near zero, and like 2 `soft` times its size far away: rows that no
// fit meets pull by their distance, not by its square (a smooth form of Huber's loss). REQUIRES: soft > 0
double Softened(double residual, double soft);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_LEAST_SQUARES_H_
