// What speaks against measurements, and against figures that were fitted to them: rows that no device could
// do, and fits that tell rows no better than a guess. A wrong unit is both, mostly.

#ifndef SCENARIOS_CALIBRATION_DOUBTS_H_
#define SCENARIOS_CALIBRATION_DOUBTS_H_

#include <string>
#include <vector>

#include "proto/text_reader.h"
#include "scenarios/calibration/collective_fit.h"
#include "scenarios/calibration/gemm_fit.h"

namespace scenarios {

// Rows more than so much faster than a bound are errors. Bounds are the data sheet's, which devices pass by
// some per cent at times: of 13,790 measured rows none is faster than 1.5 times as fast.
inline constexpr double kTooFast = 2;
// Fits that are off by more on the mean are no figures of a device.
inline constexpr double kHopelessError = 0.5;
// Half of the rows further off than this from what the device has, either way, are nearer to another unit.
inline constexpr double kAnotherUnit = 30;

// Products faster than the data sheet's peak, than its memory for what L2 cannot hold, or than any kernel.
// Told once, at the first line. Rows of other devices are not looked at.
void RefuseTooFast(const hardware::Device& device, const std::vector<MeasuredGemm>& rows,
                   proto::Diagnostics* diagnostics);

// Collectives faster than the links of their node.
void RefuseTooFast(const Calibration& calibration, proto::Diagnostics* diagnostics);

// Why fitted figures should not be written, a sentence each; empty: nothing speaks against them.
std::vector<std::string> DoubtsOf(const GemmCalibration& calibration);
std::vector<std::string> DoubtsOf(const Calibration& calibration);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_DOUBTS_H_
