#include "scenarios/calibration/least_squares.h"

#include <Eigen/Dense>
#include <cmath>
#include <utility>

#include "sim/base/check.h"

namespace scenarios {
namespace {

constexpr double kDifference = 1e-5;  // of a parameter, for its derivative
constexpr double kMostDamping = 1e10;

double Squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

struct Linear {
  Eigen::MatrixXd normal;    // J^T J
  Eigen::VectorXd gradient;  // J^T r
};

Linear Linearise(const ResidualFunction& residuals, const std::vector<double>& at,
                 const std::vector<double>& there) {
  const auto n = static_cast<Eigen::Index>(at.size());
  const auto m = static_cast<Eigen::Index>(there.size());
  Eigen::MatrixXd jacobian(m, n);
  std::vector<double> moved = at, beside(there.size());
  for (Eigen::Index p = 0; p < n; ++p) {
    const auto i = static_cast<std::size_t>(p);
    moved[i] = at[i] + kDifference;
    residuals(moved, beside);
    moved[i] = at[i];
    for (Eigen::Index r = 0; r < m; ++r) {
      const auto k = static_cast<std::size_t>(r);
      jacobian(r, p) = (beside[k] - there[k]) / kDifference;
    }
  }
  const Eigen::Map<const Eigen::VectorXd> values(there.data(), m);
  return {jacobian.transpose() * jacobian, jacobian.transpose() * values};
}

}  // namespace

LeastSquares Minimise(const ResidualFunction& residuals, std::size_t count, std::vector<double> start,
                      Effort effort) {
  LeastSquares best{std::move(start), 0};
  std::vector<double> values(count), tried(count);
  residuals(best.parameters, values);
  best.cost = Squares(values);
  double damping = 1e-3;
  for (int step = 0; step < effort.most_steps && damping < kMostDamping && !best.parameters.empty(); ++step) {
    const Linear linear = Linearise(residuals, best.parameters, values);
    // Ever shorter steps, until one is an improvement.
    double gain = 0;
    for (; damping < kMostDamping; damping *= 10) {
      Eigen::MatrixXd damped = linear.normal;
      damped.diagonal() += damping * (linear.normal.diagonal().array() + 1e-12).matrix();
      const Eigen::VectorXd move = damped.ldlt().solve(-linear.gradient);
      std::vector<double> next = best.parameters;
      for (std::size_t i = 0; i < next.size(); ++i) next[i] += move[static_cast<Eigen::Index>(i)];
      residuals(next, tried);
      const double cost = Squares(tried);
      if (!(cost < best.cost)) continue;
      gain = best.cost - cost;
      best = {std::move(next), cost};
      values = tried;
      damping /= 10;
      break;
    }
    if (gain <= effort.small_gain * best.cost) break;
  }
  return best;
}

double Softened(double residual, double soft) {
  const double part = residual / soft;
  const double size = soft * std::sqrt(2 * (std::sqrt(1 + part * part) - 1));
  return residual < 0 ? -size : size;
}

}  // namespace scenarios
