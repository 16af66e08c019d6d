// Laws of scaling fitted to a curve. With X(N) the work that N devices do in a second (RateOf) and T(N) the
// time of a step:
//
//   Amdahl        X = X1 / (s + (1-s)/N)                    s: serial share, 0 ... 1
//   Gustafson     X = X1 (s + (1-s) N)                      s: serial share, 0 ... 1
//   universal     X = X1 N / (1 + c (N-1) + k N (N-1))      c: contention, 0 ... 1; k: coherency, >= 0
//   terms         T = alpha + beta/N + gamma log2 N + delta N, none below 0
//   per decade    X/N = u + d log10(N / smallest N)         MFU and what it loses when N grows tenfold
//
// Sources: Amdahl, AFIPS 1967; Gustafson, CACM 31(5), 1988; Gunther, "Guerrilla capacity planning", 2007
// (universal scalability law); the last is rule 9 of the textbook's 17.9.5.
//
// Error model of all of them: relative errors of the points are independent, normal in the logarithm, and of
// one size (log_fit.h), so that AICc compares them, whatever the quantity is. A simulated curve has no
// noise: there the residuals, and the intervals that follow, are what the law leaves untold.

#ifndef SCENARIOS_SCALE_FITS_H_
#define SCENARIOS_SCALE_FITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scale/curve.h"
#include "sim/base/result.h"

namespace scenarios {

enum class Law : std::uint8_t { kAmdahl, kGustafson, kUniversal, kTerms, kPerDecade };
inline constexpr Law kLaws[] = {Law::kAmdahl, Law::kGustafson, Law::kUniversal, Law::kTerms, Law::kPerDecade};
const char* ToText(Law law);     // "amdahl"; stable
const char* FormulaOf(Law law);  // one line

inline constexpr double kConfidence = 0.95;

struct Parameter {
  std::string name;  // "serial_share"
  std::string unit;  // "s"; empty for a share
  double value = 0;
  double low = 0, high = 0;  // that hold the truth with kConfidence, by Student's t; cut to what is allowed
  bool at_bound = false;     // no value inside would fit better
  double half() const { return (high - low) / 2; }
};

struct Fit {
  Law law = Law::kAmdahl;
  Quantity quantity = Quantity::kStepTime;
  Scaling scaling = Scaling::kStrong;
  std::vector<Parameter> parameters;
  std::size_t points = 0, degrees = 0;
  double spread = 0;                // standard deviation of the relative errors; 0.01 is 1 %
  std::optional<double> r_squared;  // of the logarithms of the curve's quantity, 0 where their mean says
                                    // more; none where all are equal
  // Corrected information criterion (Hurvich and Tsai, Biometrika 76(2), 1989), with the spread as one more
  // parameter; smaller is better. Fits closer than 1e-9 count as that close. None where there are not
  // enough points, which `no_aicc` tells.
  std::optional<double> aicc;
  std::string no_aicc;
  std::vector<double> residuals;  // a point: value over the law's, less 1

  // For predictions.
  std::vector<double> coefficients;
  std::vector<std::vector<double>> covariance;
  std::int64_t fewest = 1, most = 1;  // devices of the points
};

// Error: what is wrong with the points for this law: not finite or not above zero, too few, too few numbers
// of devices, collinear.
sim::Result<Fit> FitLaw(Law law, const Curve& curve);

// A law and its fit, or why there is none.
struct LawFit {
  Law law;
  sim::Result<Fit> fit;
};

// All laws, in their order.
std::vector<LawFit> FitLaws(const Curve& curve);

// The law of the smallest AICc; of those within 1e-6 of it the one with fewest parameters, then the first.
// Nothing where none has an AICc.
std::optional<Law> PreferredLaw(const std::vector<LawFit>& fits);

struct Prediction {
  std::int64_t devices = 1;
  double value = 0;          // of the curve's quantity
  double low = 0, high = 0;  // that hold a new point with kConfidence
  bool outside = false;      // beyond the points that the fit has seen
};

// Error: the law gives nothing above zero there.
sim::Result<Prediction> Predict(const Fit& fit, std::int64_t devices);

}  // namespace scenarios

#endif  // SCENARIOS_SCALE_FITS_H_
