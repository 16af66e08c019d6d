// Figures of matrix products fitted to measured ones, for each number format of a device by itself:
// least squares of the logarithm of modelled over measured, softened so that rows far off count by their
// distance and not its square.

#ifndef SCENARIOS_CALIBRATION_GEMM_FIT_H_
#define SCENARIOS_CALIBRATION_GEMM_FIT_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "hardware/tile_model.h"
#include "scenarios/calibration/measured_gemm.h"
#include "sim/base/result.h"

namespace scenarios {

// A format with fewer rows, or fewer pairs of n and k, is left as it is: its rows are compared, not fitted
// to.
inline constexpr std::size_t kFewestGemms = 60;
inline constexpr std::size_t kFewestGroups = 10;
// Pairs of n and k, in order, are dealt to as many parts; each is left out once.
inline constexpr std::size_t kGemmFolds = 5;

// A figure as its file has it.
struct GemmFigure {
  const char* key;  // "prologue_k"
  double hardware::GemmModel::*member;
  double unit;       // of the key, in the member's: 1e-6 for us
  double low, high;  // between which it is looked for, in the key's unit
};
std::span<const GemmFigure> GemmFigures();
// Whether a figure is within a hundredth of the ends of what it is looked for between.
bool IsAtBound(const GemmFigure& figure, const hardware::GemmModel& model);

struct GemmPoint {
  hardware::GemmWork work;
  double seconds = 0;
};

// What the measured operation takes: the product, and the cast that it includes.
double MeasuredSeconds(const hardware::GemmModel& model, const hardware::GemmWork& work,
                       const hardware::Share& share);

struct CalibratedGemm {
  MeasuredGemm row;
  double shipped_s = 0;   // by the figures that the device has; 0: it has none
  double fitted_s = 0;    // by the fitted ones; 0: there are none
  double held_out_s = 0;  // by a fit without the rows of its n and k; 0: not asked for
};

struct FormatFit {
  sim::NumberFormat format = sim::NumberFormat::kBf16;
  hardware::GemmModel shipped, fitted;  // `fitted` as it would be written: four digits
  std::size_t groups = 0;               // pairs of n and k
  std::vector<CalibratedGemm> rows;
  bool enough() const { return rows.size() >= kFewestGemms && groups >= kFewestGroups; }
  // Whether a fit of this format moves a figure.
  bool moves(const GemmFigure& figure) const;
};

struct GemmCalibration {
  std::vector<FormatFit> formats;     // in the order of sim::NumberFormat
  std::vector<std::string> left_out;  // why rows are not among them, a line each
  std::vector<std::string> notes;     // what is odd about those that are, a line each
};

// Whether a row's name means the device; no name does.
bool IsOfDevice(const hardware::Device& device, const std::string& name);

// Rows of other devices, and in formats that the device does not have, are left out. A format with too few
// rows is not fitted, but compared with the figures that the device has. Error: nothing is left to compare;
// the message says why.
sim::Result<GemmCalibration> CalibrateGemms(const hardware::Device& device,
                                            const std::vector<MeasuredGemm>& rows);

// The same without a fit: the device's own figures stand for fitted ones.
GemmCalibration ShippedGemms(const hardware::Device& device, const std::vector<MeasuredGemm>& rows);

// Fills `held_out_s`: fits begin where `fitted` is.
void HoldOutGroups(const hardware::Device& device, GemmCalibration* calibration);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_GEMM_FIT_H_
