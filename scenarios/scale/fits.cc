#include "scenarios/scale/fits.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "hardware/math.h"
#include "scenarios/scale/log_fit.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

constexpr double kClosest = 1e-9;  // relative; simulated times are whole picoseconds

// What a law is a sum of terms for: work over time, time over work, a step's time, or work over time and
// devices. Each is X to the power of `rate`, N to that of `devices`.
struct Form {
  double rate = 1, devices = 0;
};

Form FormOf(Law law, Scaling scaling) {
  switch (law) {
    case Law::kAmdahl:
    case Law::kUniversal:
      return {-1, 0};
    case Law::kTerms:
      return {-1, scaling == Scaling::kWeak ? 1.0 : 0.0};
    case Law::kGustafson:
      return {1, 0};
    case Law::kPerDecade:
      return {1, -1};
  }
  CHECK(false);
}

// Powers are 1, 0 or -1.
double Powered(double base, double power) { return power == 0 ? 1 : power > 0 ? base : 1 / base; }

std::vector<double> TermsAt(Law law, double n, double fewest) {
  switch (law) {
    case Law::kAmdahl:
      return {1, 1 / n};
    case Law::kGustafson:
      return {1, n};
    case Law::kUniversal:
      return {1, 1 / n, n - 1};
    case Law::kTerms:
      return {1, 1 / n, hardware::Log2(n), n};
    case Law::kPerDecade:
      return {1, hardware::Log2(n / fewest) / hardware::Log2(10)};
  }
  CHECK(false);
}

// A function of the coefficients, with its derivatives.
struct Derived {
  double value = 0;
  std::vector<double> gradient;
};

double Deviation(const Derived& derived, const std::vector<std::vector<double>>& covariance) {
  double variance = 0;
  for (std::size_t r = 0; r < derived.gradient.size(); ++r) {
    for (std::size_t c = 0; c < derived.gradient.size(); ++c) {
      variance += derived.gradient[r] * covariance[r][c] * derived.gradient[c];
    }
  }
  return std::sqrt(std::max(variance, 0.0));
}

// c[k] over the sum of the first two, which is what one device takes or does.
Derived Share(const std::vector<double>& c, std::size_t k) {
  const double sum = c[0] + c[1];
  Derived share{c[k] / sum, std::vector<double>(c.size(), 0)};
  for (std::size_t i = 0; i < 2; ++i) share.gradient[i] = -c[k] / (sum * sum);
  share.gradient[k] += 1 / sum;
  return share;
}

Derived Coefficient(const std::vector<double>& c, std::size_t k) {
  Derived one{c[k], std::vector<double>(c.size(), 0)};
  one.gradient[k] = 1;
  return one;
}

class Parameters {
 public:
  explicit Parameters(Fit* fit) : fit_(*fit), t_(StudentQuantile((1 + kConfidence) / 2, fit->degrees)) {}

  // Symmetric, cut to [least, most].
  void Add(const char* name, const std::string& unit, const Derived& derived, double least, double most,
           bool at_bound = false) {
    const double half = t_ * Deviation(derived, fit_.covariance);
    fit_.parameters.push_back({name, unit, derived.value, std::max(derived.value - half, least),
                               std::min(derived.value + half, most), at_bound});
  }

  // What one device takes or does, in the curve's quantity; symmetric in the logarithm, so never below zero.
  void AddOneDevice(const std::string& unit, bool is_time) {
    const std::vector<double>& c = fit_.coefficients;
    Derived logarithm{0, std::vector<double>(c.size(), 0)};
    for (std::size_t i = 0; i < 2; ++i) logarithm.gradient[i] = 1 / (c[0] + c[1]);
    const double half = t_ * Deviation(logarithm, fit_.covariance);
    const double value = is_time == (fit_.quantity == Quantity::kStepTime) ? c[0] + c[1] : 1 / (c[0] + c[1]);
    fit_.parameters.push_back({"one_device", unit, value, value * Exp(-half), value * Exp(half)});
  }

 private:
  Fit& fit_;
  const double t_;
};

std::string UnitOf(Quantity quantity) {
  constexpr const char* kUnits[] = {"s", "tokens/s", ""};
  return kUnits[static_cast<std::size_t>(quantity)];
}

// Of the terms of a step's time, where times are known only as the inverse of something.
std::string TimeUnit(const Curve& curve) {
  const bool weak = curve.scaling == Scaling::kWeak;
  if (curve.quantity == Quantity::kStepTime) return "s";
  if (curve.quantity == Quantity::kTokenRate) return weak ? "device s/token" : "s/token";
  return weak ? "1/MFU" : "1/(device MFU)";
}

// Of work over time and devices: MFU where that is known.
std::string PerDeviceUnit(const Curve& curve) {
  if (curve.quantity == Quantity::kMfu || curve.first_mfu) return "MFU";
  return curve.quantity == Quantity::kTokenRate ? "tokens/s/device"
         : curve.scaling == Scaling::kStrong    ? "steps/s/device"
                                                : "steps/s";
}

void Describe(const Curve& curve, Fit* fit) {
  constexpr double kAny = 1e308;
  Parameters parameters(fit);
  const std::vector<double>& c = fit->coefficients;
  const auto coefficient = [&](const char* name, std::size_t k, const std::string& unit, double least) {
    parameters.Add(name, unit, Coefficient(c, k), least, kAny, least == 0 && c[k] == 0);
  };
  switch (fit->law) {
    case Law::kAmdahl:
    case Law::kGustafson:
      parameters.AddOneDevice(UnitOf(curve.quantity), fit->law == Law::kAmdahl);
      return parameters.Add("serial_share", "", Share(c, 0), 0, 1, c[0] == 0 || c[1] == 0);
    case Law::kUniversal:
      parameters.AddOneDevice(UnitOf(curve.quantity), true);
      parameters.Add("contention", "", Share(c, 0), 0, 1, c[0] == 0 || c[1] == 0);
      return parameters.Add("coherency", "", Share(c, 2), 0, kAny, c[2] == 0);
    case Law::kTerms: {
      constexpr const char* kNames[] = {"alpha", "beta", "gamma", "delta"};
      for (std::size_t k = 0; k < 4; ++k) coefficient(kNames[k], k, TimeUnit(curve), 0);
      return;
    }
    case Law::kPerDecade:
      coefficient("smallest", 0, PerDeviceUnit(curve), -kAny);
      return coefficient("per_decade", 1, PerDeviceUnit(curve), -kAny);
  }
}

// Coefficients and covariance times a constant and its square.
void Scale(double by, Fit* fit) {
  for (double& c : fit->coefficients) c *= by;
  for (auto& row : fit->covariance) {
    for (double& v : row) v *= by * by;
  }
}

// Of points, and terms of a law.
std::optional<sim::Error> WrongWith(const Curve& curve, std::size_t terms) {
  std::set<std::int64_t> counts;
  for (const CurvePoint& point : curve.points) {
    if (!(point.value > 0) || !std::isfinite(point.value) || point.devices < 1) {
      return sim::Error{"a point on " + std::to_string(point.devices) +
                        " devices is not above zero and finite; such points cannot be fitted"};
    }
    counts.insert(point.devices);
  }
  if (curve.points.size() <= terms) {
    return sim::Error{std::to_string(curve.points.size()) + " points for " + std::to_string(terms) +
                      " parameters; at least " + std::to_string(terms + 1) + " are wanted"};
  }
  if (counts.size() < terms) {
    return sim::Error{std::to_string(counts.size()) + " different numbers of devices for " +
                      std::to_string(terms) + " parameters; as many are wanted"};
  }
  return std::nullopt;
}

void Judge(const Curve& curve, const LogFit& found, Fit* fit) {
  const auto n = static_cast<double>(curve.points.size());
  double mean = 0, total = 0;
  for (const CurvePoint& point : curve.points) mean += Ln(point.value / curve.points.front().value) / n;
  for (const CurvePoint& point : curve.points) {
    const double off = Ln(point.value / curve.points.front().value) - mean;
    total += off * off;
  }
  if (total > 0) fit->r_squared = std::max(1 - found.sum_of_squares / total, 0.0);
  const auto k = static_cast<double>(found.coefficients.size() + 1);  // and the spread
  if (n - k - 1 <= 0) {
    fit->no_aicc =
        "too few points for AICc: " + std::to_string(found.coefficients.size() + 3) + " are wanted";
    return;
  }
  const double variance = std::max(found.sum_of_squares / n, kClosest * kClosest);
  fit->aicc = n * Ln(variance) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

}  // namespace

const char* ToText(Law law) {
  constexpr const char* kNames[] = {"amdahl", "gustafson", "universal", "terms", "per_decade"};
  return kNames[static_cast<std::size_t>(law)];
}

const char* FormulaOf(Law law) {
  constexpr const char* kFormulas[] = {
      "X = X1 / (s + (1-s)/N)", "X = X1 (s + (1-s) N)", "X = X1 N / (1 + c (N-1) + k N (N-1))",
      "T = alpha + beta/N + gamma log2 N + delta N", "X/N = u + d log10(N / smallest N)"};
  return kFormulas[static_cast<std::size_t>(law)];
}

sim::Result<Fit> FitLaw(Law law, const Curve& curve) {
  const std::size_t terms = TermsAt(law, 1, 1).size();
  if (const auto wrong = WrongWith(curve, terms)) return *wrong;
  Fit fit{.law = law, .quantity = curve.quantity, .scaling = curve.scaling};
  const auto [fewest, most] =
      std::minmax_element(curve.points.begin(), curve.points.end(),
                          [](const CurvePoint& a, const CurvePoint& b) { return a.devices < b.devices; });
  fit.fewest = fewest->devices;
  fit.most = most->devices;
  fit.points = curve.points.size();

  // In units of the first point, so that no figure is far from one.
  const Form form = FormOf(law, curve.scaling);
  const double unit = Powered(RateOf(curve, curve.points.front()), form.rate);
  Terms rows;
  std::vector<double> y;
  for (const CurvePoint& point : curve.points) {
    const auto n = static_cast<double>(point.devices);
    rows.push_back(TermsAt(law, n, static_cast<double>(fit.fewest)));
    y.push_back(Powered(RateOf(curve, point), form.rate) / unit * Powered(n, form.devices));
  }
  const auto found = FitLogs(rows, y, law != Law::kPerDecade);
  if (!found.ok()) return found.error();
  const LogFit& logs = found.value();
  fit.coefficients = logs.coefficients;
  fit.covariance = logs.covariance;
  fit.degrees = logs.degrees;
  fit.spread = std::sqrt(logs.variance());
  // A rate that is too high is a time that is too short.
  const double sign = (curve.quantity == Quantity::kStepTime ? -1 : 1) * form.rate;
  for (const double residual : logs.residuals) fit.residuals.push_back(Exp(sign * residual) - 1);
  Judge(curve, logs, &fit);
  Scale(unit, &fit);
  if (law == Law::kPerDecade && curve.first_mfu) {
    // In MFU while it is described.
    const CurvePoint& first = curve.points.front();
    const double mfu = *curve.first_mfu * static_cast<double>(first.devices) / RateOf(curve, first);
    Scale(mfu, &fit);
    Describe(curve, &fit);
    Scale(1 / mfu, &fit);
  } else {
    Describe(curve, &fit);
  }
  for (const Parameter& p : fit.parameters) {
    if (!std::isfinite(p.value) || !std::isfinite(p.low) || !std::isfinite(p.high)) {
      return sim::Error{p.name + " is beyond what can be computed; figures in other units are wanted"};
    }
  }
  return fit;
}

std::vector<LawFit> FitLaws(const Curve& curve) {
  std::vector<LawFit> fits;
  for (const Law law : kLaws) fits.push_back({law, FitLaw(law, curve)});
  return fits;
}

std::optional<Law> PreferredLaw(const std::vector<LawFit>& fits) {
  constexpr double kAlike = 1e-6;
  const Fit* best = nullptr;
  for (const LawFit& one : fits) {
    if (!one.fit.ok() || !one.fit.value().aicc) continue;
    const Fit& fit = one.fit.value();
    const double gain = best == nullptr ? 1 : *best->aicc - *fit.aicc;
    const bool simpler = best != nullptr && fit.coefficients.size() < best->coefficients.size();
    if (gain > kAlike || (gain > -kAlike && simpler)) best = &fit;
  }
  if (best == nullptr) return std::nullopt;
  return best->law;
}

sim::Result<Prediction> Predict(const Fit& fit, std::int64_t devices) {
  CHECK(devices >= 1);
  const auto n = static_cast<double>(devices);
  const std::vector<double> terms = TermsAt(fit.law, n, static_cast<double>(fit.fewest));
  double sum = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) sum += fit.coefficients[k] * terms[k];
  if (!(sum > 0) || !std::isfinite(sum)) {
    return sim::Error{std::string(ToText(fit.law)) + " falls to zero before " + std::to_string(devices) +
                      " devices"};
  }
  const Form form = FormOf(fit.law, fit.scaling);
  // sum = X^rate N^devices.
  const double rate = Powered(sum / Powered(n, form.devices), form.rate);
  Curve curve{.scaling = fit.scaling, .quantity = fit.quantity};
  Prediction prediction{.devices = devices, .outside = devices < fit.fewest || devices > fit.most};
  prediction.value = fit.quantity == Quantity::kTokenRate ? rate
                     : fit.quantity == Quantity::kMfu     ? rate / n
                                                          : RateOf(curve, {devices, 1}) / rate;
  Derived logarithm{0, terms};
  for (double& derivative : logarithm.gradient) derivative /= sum;
  const double of_law = Deviation(logarithm, fit.covariance);
  const double half = StudentQuantile((1 + kConfidence) / 2, fit.degrees) *
                      std::sqrt(of_law * of_law + fit.spread * fit.spread);
  prediction.low = prediction.value * Exp(-half);
  prediction.high = prediction.value * Exp(half);
  return prediction;
}

}  // namespace scenarios
