// Measured matrix products as they are: a device whose products of exactly these shapes take these times.

#ifndef SCENARIOS_CALIBRATION_MEASURED_POINTS_H_
#define SCENARIOS_CALIBRATION_MEASURED_POINTS_H_

#include <string>
#include <vector>

#include "hardware/device.h"
#include "scenarios/calibration/fitted_text.h"
#include "scenarios/calibration/measured_gemm.h"

namespace scenarios {

// The rows of this device that its file may have. A product that is there twice, in a format that the device
// does not have, or larger than the file can say, is an error at its line.
std::vector<MeasuredGemm> PointsOf(const hardware::Device& device, const std::vector<MeasuredGemm>& rows,
                                   proto::Diagnostics* diagnostics);

// A line a format: how many products, and how far off the device's own figures are, on constant data.
std::string PointsText(const hardware::Device& device, const std::vector<MeasuredGemm>& points);

// The device that differs in its measured products, as textproto.
std::string MeasuredDeviceText(const FittedDevice& measured, const std::vector<MeasuredGemm>& points);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_MEASURED_POINTS_H_
