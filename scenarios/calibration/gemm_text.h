// What a calibration of matrix products gives users: tables, a device's file, residuals.

#ifndef SCENARIOS_CALIBRATION_GEMM_TEXT_H_
#define SCENARIOS_CALIBRATION_GEMM_TEXT_H_

#include <functional>
#include <string>
#include <vector>

#include "scenarios/calibration/collective_fit.h"
#include "scenarios/calibration/fitted_text.h"
#include "scenarios/calibration/gemm_fit.h"

namespace scenarios {

// The regions of shapes that errors are told by.
struct GemmRegion {
  const char* name;
  bool (*has)(const sim::GemmShape& shape);
};
inline constexpr GemmRegion kGemmRegions[] = {
    {"all", [](const sim::GemmShape&) { return true; }},
    {"m,n,k >= 1024", [](const sim::GemmShape& s) { return s.m >= 1024 && s.n >= 1024 && s.k >= 1024; }},
    {"m <= 64", [](const sim::GemmShape& s) { return s.m <= 64; }}};

// Errors of the rows of a region by one of their times; rows without that time are left out.
ErrorsOfRows GemmErrors(const std::vector<CalibratedGemm>& rows, const GemmRegion& region,
                        double CalibratedGemm::*time);

// Errors of the device's figures, of fitted ones and of fits without a row's n and k, by format; and the
// figures beside each other.
std::string GemmCalibrationText(const hardware::Device& device, const GemmCalibration& calibration);

// A row each: what was measured, and the three times. CSV.
std::string GemmResidualsCsv(const GemmCalibration& calibration);

// A device that differs from `device` in its fitted products, as textproto. Formats that had the figures of
// a fitted one, and no rows of their own, follow it.
std::string FittedGemmText(const FittedDevice& fitted, const hardware::Device& device,
                           const GemmCalibration& calibration);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_GEMM_TEXT_H_
