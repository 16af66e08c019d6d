// Fits of sums of known terms, y = c1 f1 + c2 f2 + ..., to points whose *relative* errors are of one size:
// ln y has independent normal errors. So a time and its inverse, a rate, give the same fit, and points that
// differ a hundredfold count alike.
//
// It starts from weighted linear least squares (rows over y, QR) and goes on in the logarithms with
// Levenberg's and Marquardt's steps, held to c >= 0 where that is asked for. Nothing is random: the same
// input gives the same output.

#ifndef SCENARIOS_SCALE_LOG_FIT_H_
#define SCENARIOS_SCALE_LOG_FIT_H_

#include <cstddef>
#include <vector>

#include "sim/base/result.h"

namespace scenarios {

// One row a point, one column a term; all rows as long.
using Terms = std::vector<std::vector<double>>;

struct LinearFit {
  std::vector<double> coefficients;
  std::vector<std::vector<double>> covariance;  // of the coefficients
  double sum_of_squares = 0;                    // of the residuals
};

// Ordinary least squares by QR, with s^2 (X'X)^-1. Error: fewer rows than columns and one more, or columns
// that the rows do not tell apart.
sim::Result<LinearFit> FitLinear(const Terms& rows, const std::vector<double>& y);

struct LogFit {
  std::vector<double> coefficients;
  // s^2 (J'J)^-1 with J of the logarithms, at the minimum; also for coefficients at their bound, as if they
  // were free.
  std::vector<std::vector<double>> covariance;
  std::vector<double> residuals;  // ln y - ln f
  double sum_of_squares = 0;
  std::size_t degrees = 0;  // of freedom: points less terms; >= 1
  double variance() const { return sum_of_squares / static_cast<double>(degrees); }
};

// Error: as FitLinear, or where the fit is not positive at all points.
// REQUIRES: y > 0, finite; terms finite, and >= 0 where non_negative
sim::Result<LogFit> FitLogs(const Terms& rows, const std::vector<double>& y, bool non_negative);

// Natural logarithm and exponential that are the same on every machine, as hardware/math.h; the latter stays
// within 2^-800 ... 2^800.
double Ln(double x);
double Exp(double x);

// The t that a Student variable of so many degrees of freedom stays below with this probability.
// REQUIRES: 0 < probability < 1, degrees >= 1
double StudentQuantile(double probability, std::size_t degrees);

}  // namespace scenarios

#endif  // SCENARIOS_SCALE_LOG_FIT_H_
