// Measured collectives (nccl_measured.csv) beside what Orrery gives for them.

#ifndef TESTS_NETWORK_CURVES_H_
#define TESTS_NETWORK_CURVES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/calibration/collective_fit.h"
#include "scenarios/calibration/measured_collective.h"

namespace network {

using Measured = scenarios::MeasuredCollective;

// Every row of the table, in its order.
std::vector<Measured> ReadMeasured();

// Why a row cannot be compared; nothing where it can.
std::optional<std::string> WhyNot(const Measured& row);

struct Compared {
  Measured row;
  double simulated = 0;  // seconds
  std::string way;       // "Ring LL"
  double error() const { return simulated / row.seconds - 1; }
};

// What can be compared, each row simulated on an idle fabric of its device's nodes, rail-optimised where
// there are several.
std::vector<Compared> Compare(const std::vector<Measured>& rows);

// Mean of the absolute errors, and the mean error.
struct Errors {
  std::size_t rows = 0;
  double mape = 0, bias = 0;
};
Errors ErrorsOf(const std::vector<const Compared*>& rows);

// The rows of aiconfigurator and Azure, which are nccl-tests of one node, device set by device set: those
// that share their figures are fitted together, each curve by a fit to all others of its set.
std::vector<scenarios::Calibration> Calibrate(const std::vector<Measured>& rows);

// docs/network.md.
std::string Document(const std::vector<Compared>& compared,
                     const std::vector<scenarios::Calibration>& calibrations,
                     const std::vector<Measured>& all);

}  // namespace network

#endif  // TESTS_NETWORK_CURVES_H_
