// What a calibration of collectives gives users: tables, a device's file, residuals.

#ifndef SCENARIOS_CALIBRATION_FITTED_TEXT_H_
#define SCENARIOS_CALIBRATION_FITTED_TEXT_H_

#include <string>
#include <vector>

#include "scenarios/calibration/collective_fit.h"

namespace scenarios {

// Figures beside the fitted ones, and the errors of both and of fits without each curve by device and
// collective, from 1 MiB and below.
std::string CalibrationText(const hardware::Device& first, const Calibration& calibration);

// A row each: what was measured, by which algorithm and protocol, and the three times. CSV.
std::string ResidualsCsv(const Calibration& calibration);

struct FittedDevice {
  std::string name;                // of the device that is written
  std::string derived_from;        // as its file will say
  std::vector<std::string> files;  // that the rows are from
};

// A device that differs from `as_written` in its fitted collectives, as textproto. `as_written` is the first
// device of the calibration, read with latencies of PCIe and NICs of 0, so that its steps between nodes are
// those of its file.
std::string FittedDeviceText(const FittedDevice& fitted, const hardware::Device& as_written,
                             const Calibration& calibration);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_FITTED_TEXT_H_
