#include "scenarios/scale/log_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <optional>

#include "hardware/math.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kLn2 = 0.693147180559945309417;
constexpr double kDistinct = 1e-9;  // of singular values, of columns scaled to length 1
constexpr int kMostSteps = 200;

MatrixXd MatrixOf(const Terms& rows) {
  MatrixXd matrix(static_cast<Index>(rows.size()), static_cast<Index>(rows.front().size()));
  for (Index r = 0; r < matrix.rows(); ++r) {
    for (Index c = 0; c < matrix.cols(); ++c) {
      matrix(r, c) = rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
    }
  }
  return matrix;
}

std::vector<double> ListOf(const VectorXd& vector) { return {vector.data(), vector.data() + vector.size()}; }

// (X'X)^-1 by singular values of X with its columns scaled to length 1; nothing where they are collinear.
std::optional<MatrixXd> InverseOfNormal(const MatrixXd& x) {
  const VectorXd length = x.colwise().norm();
  if (!(length.minCoeff() > 0)) return std::nullopt;
  const VectorXd shrink = length.cwiseInverse();
  const Eigen::JacobiSVD<MatrixXd> svd(x * shrink.asDiagonal(), Eigen::ComputeThinU | Eigen::ComputeThinV);
  const VectorXd& singular = svd.singularValues();
  if (!(singular.minCoeff() > kDistinct * singular.maxCoeff())) return std::nullopt;
  const MatrixXd half = shrink.asDiagonal() * svd.matrixV() * singular.cwiseInverse().asDiagonal();
  return half * half.transpose();
}

std::vector<std::vector<double>> CovarianceOf(const MatrixXd& inverse, double variance) {
  std::vector<std::vector<double>> covariance(static_cast<std::size_t>(inverse.rows()));
  for (Index r = 0; r < inverse.rows(); ++r) {
    for (Index c = 0; c < inverse.cols(); ++c) {
      covariance[static_cast<std::size_t>(r)].push_back(variance * inverse(r, c));
    }
  }
  return covariance;
}

std::optional<sim::Error> TooFew(const Terms& rows) {
  const std::size_t terms = rows.empty() ? 0 : rows.front().size();
  if (rows.size() > terms && terms > 0) return std::nullopt;
  return sim::Error{std::to_string(rows.size()) + " points for " + std::to_string(terms) +
                    " parameters; at least " + std::to_string(terms + 1) + " are wanted"};
}

sim::Error Collinear() {
  return sim::Error{
      "collinear: the numbers of devices do not tell the parameters apart; other ones are wanted"};
}

// Columns of `x` that `in` names.
MatrixXd Chosen(const MatrixXd& x, const std::vector<Index>& in) {
  MatrixXd chosen(x.rows(), static_cast<Index>(in.size()));
  for (std::size_t i = 0; i < in.size(); ++i) chosen.col(static_cast<Index>(i)) = x.col(in[i]);
  return chosen;
}

// Of relative residuals. Where coefficients may not be negative, the most negative one becomes zero until
// none is: not quite the constrained minimum, but a place to begin.
VectorXd Start(const MatrixXd& x, const VectorXd& y, bool non_negative) {
  const MatrixXd relative = y.cwiseInverse().asDiagonal() * x;
  std::vector<Index> in;
  for (Index c = 0; c < x.cols(); ++c) in.push_back(c);
  for (;;) {
    const VectorXd some = Chosen(relative, in).colPivHouseholderQr().solve(VectorXd::Ones(x.rows()));
    Index least = 0;
    const double smallest = some.minCoeff(&least);
    if (!non_negative || smallest >= 0 || in.size() == 1) {
      VectorXd all = VectorXd::Zero(x.cols());
      for (std::size_t i = 0; i < in.size(); ++i) all[in[i]] = some[static_cast<Index>(i)];
      return all;
    }
    in.erase(in.begin() + least);
  }
}

// ln y - ln f; nothing where f is not positive.
std::optional<VectorXd> Residuals(const MatrixXd& x, const VectorXd& y, const VectorXd& c) {
  const VectorXd f = x * c;
  VectorXd r(y.size());
  for (Index i = 0; i < y.size(); ++i) {
    if (!(f[i] > 0) || !std::isfinite(f[i])) return std::nullopt;
    r[i] = Ln(y[i] / f[i]);
  }
  return r;
}

// One damped step from `c`, kept to what is allowed. Coefficients at their bound that would leave it stay.
VectorXd Step(const MatrixXd& j, const VectorXd& r, const VectorXd& c, bool non_negative, double damping) {
  const VectorXd downhill = j.transpose() * r;
  std::vector<Index> in;
  for (Index k = 0; k < c.size(); ++k) {
    if (!non_negative || c[k] > 0 || downhill[k] > 0) in.push_back(k);
  }
  if (in.empty()) return c;
  const MatrixXd some = Chosen(j, in);
  MatrixXd damped(some.rows() + some.cols(), some.cols());
  VectorXd right = VectorXd::Zero(damped.rows());
  damped << some, (std::sqrt(damping) * some.colwise().norm()).asDiagonal().toDenseMatrix();
  right.head(r.size()) = r;
  const VectorXd move = damped.colPivHouseholderQr().solve(right);
  VectorXd next = c;
  for (std::size_t i = 0; i < in.size(); ++i) next[in[i]] += move[static_cast<Index>(i)];
  if (non_negative) next = next.cwiseMax(0);
  return next;
}

struct Minimum {
  VectorXd c, r;
};

Minimum Descend(const MatrixXd& x, const VectorXd& y, Minimum at, bool non_negative) {
  double damping = 1e-6;
  for (int step = 0; step < kMostSteps && damping < 1e12; ++step) {
    const MatrixXd j = (x * at.c).cwiseInverse().asDiagonal() * x;
    const VectorXd next = Step(j, at.r, at.c, non_negative, damping);
    const auto r = Residuals(x, y, next);
    const double before = at.r.squaredNorm();
    if (!r || !(r->squaredNorm() < before)) {
      damping *= 10;
      continue;
    }
    at = {next, *r};
    damping = std::max(damping / 10, 1e-12);
  }
  return at;
}

// The last digits: near the minimum the squares no longer tell two places apart, the steps still do.
Minimum Polish(const MatrixXd& x, const VectorXd& y, Minimum at, bool non_negative) {
  constexpr int kSteps = 10;
  constexpr double kAlike = 1 + 1e-9;
  for (int step = 0; step < kSteps; ++step) {
    const MatrixXd j = (x * at.c).cwiseInverse().asDiagonal() * x;
    const VectorXd next = Step(j, at.r, at.c, non_negative, 0);
    const auto r = Residuals(x, y, next);
    if (!r || !(r->squaredNorm() <= at.r.squaredNorm() * kAlike)) break;
    at = {next, *r};
  }
  return at;
}

}  // namespace

double Ln(double x) { return kLn2 * hardware::Log2(x); }
double Exp(double x) {
  constexpr double kMost = 800;  // so that a figure times it is finite
  return hardware::Exp2(std::clamp(x / kLn2, -kMost, kMost));
}

double StudentQuantile(double probability, std::size_t degrees) {
  CHECK(probability > 0 && probability < 1 && degrees >= 1);
  return boost::math::quantile(boost::math::students_t(static_cast<double>(degrees)), probability);
}

sim::Result<LinearFit> FitLinear(const Terms& rows, const std::vector<double>& y) {
  CHECK(rows.size() == y.size());
  if (const auto few = TooFew(rows)) return *few;
  const MatrixXd x = MatrixOf(rows);
  const auto inverse = InverseOfNormal(x);
  if (!inverse) return Collinear();
  const Eigen::Map<const VectorXd> right(y.data(), static_cast<Index>(y.size()));
  const VectorXd c = x.colPivHouseholderQr().solve(right);
  const double squares = (right - x * c).squaredNorm();
  const auto degrees = static_cast<double>(rows.size() - rows.front().size());
  return LinearFit{ListOf(c), CovarianceOf(*inverse, squares / degrees), squares};
}

sim::Result<LogFit> FitLogs(const Terms& rows, const std::vector<double>& y, bool non_negative) {
  CHECK(rows.size() == y.size());
  if (const auto few = TooFew(rows)) return *few;
  const MatrixXd x = MatrixOf(rows);
  const Eigen::Map<const VectorXd> values(y.data(), static_cast<Index>(y.size()));
  const VectorXd start = Start(x, values, non_negative);
  const auto r = Residuals(x, values, start);
  if (!r) return sim::Error{"the fit falls to zero between the points"};
  const Minimum at = Polish(x, values, Descend(x, values, {start, *r}, non_negative), non_negative);
  const auto inverse = InverseOfNormal((x * at.c).cwiseInverse().asDiagonal() * x);
  if (!inverse) return Collinear();
  LogFit fit;
  fit.coefficients = ListOf(at.c);
  fit.residuals = ListOf(at.r);
  fit.sum_of_squares = at.r.squaredNorm();
  fit.degrees = rows.size() - rows.front().size();
  fit.covariance = CovarianceOf(*inverse, fit.variance());
  return fit;
}

}  // namespace scenarios
