// Figures of collectives fitted to measured ones: least squares of the logarithm of simulated over measured,
// outliers weighed less, for each of NCCL's algorithms and protocols by itself. Which one a row was done by
// is NCCL's own choice (sim/collective/nccl_tuner.h), so no figure decides which rows it is fitted to.

#ifndef SCENARIOS_CALIBRATION_COLLECTIVE_FIT_H_
#define SCENARIOS_CALIBRATION_COLLECTIVE_FIT_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "scenarios/calibration/collective_point.h"
#include "scenarios/calibration/measured_collective.h"
#include "sim/base/result.h"

namespace scenarios {

// Fewer points of an algorithm and protocol leave its figures as they are.
inline constexpr std::size_t kFewestPoints = 8;
// So do points of fewer sizes: of one size no fit tells a latency from a rate.
inline constexpr std::size_t kFewestSizes = 2;

struct WayFit {
  sim::Algorithm algorithm = sim::Algorithm::kRing;
  sim::Protocol protocol = sim::Protocol::kSimple;
  Figures start{}, fitted{};  // `fitted` as it would be written: four digits
  std::size_t points = 0, sizes = 0;
  bool enough() const { return points >= kFewestPoints && sizes >= kFewestSizes; }
};

// Moves, by the points' weights, the figures of `start` that are above zero and that points depend on. Points
// further off than 11 % count by their distance, not by its square. What
// the points say little of stays near where it was: moving a figure by half counts as much as 1 % on one
// point.
Figures FitWay(const Figures& start, std::span<const CollectivePoint* const> points);

struct CalibratedRow {
  MeasuredCollective row;
  CollectivePoint point;
  double shipped_s = 0, fitted_s = 0;
  double held_out_s = 0;  // by a fit without any row of its curve; 0: no such fit
};

struct Calibration {
  std::vector<WayFit> ways;  // that have rows, in the order of the device's figures
  std::vector<CalibratedRow> rows;
  std::vector<std::string> left_out;  // why rows are not among them, a line each
  std::vector<std::string> notes;     // versions of NCCL that are not known, and what they are taken as
};

// The device that a row's name means, where its figures are fitted together with the others; else null.
using DeviceFinder = std::function<const hardware::Device*(const std::string& name)>;

// `first` has the figures to begin with, which all devices that `find` gives share; their nodes are their
// own. Error: no algorithm and protocol has kFewestPoints and kFewestSizes.
sim::Result<Calibration> CalibrateCollectives(const hardware::Device& first, const DeviceFinder& find,
                                              const std::vector<MeasuredCollective>& rows);

// A curve: all rows of a device, collective, number of ranks and source, whatever their version and type.
// They are left out together, since runs of one machine differ by less than models do.
std::string CurveOf(const MeasuredCollective& row);

// Fills `held_out_s`: curve by curve, by a fit to all others.
void HoldOut(Calibration* calibration);

// Of simulated over measured - 1.
struct ErrorsOfRows {
  std::size_t rows = 0;
  double mape = 0, bias = 0, p95 = 0;  // p95: of the absolute ones
};
ErrorsOfRows ErrorsOfAll(std::vector<double> errors);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_COLLECTIVE_FIT_H_
