// Scaling curves: how long a step takes, or how fast training goes, on more and more devices.

#ifndef SCENARIOS_SCALE_CURVE_H_
#define SCENARIOS_SCALE_CURVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/text_reader.h"

namespace scenarios {

// What stays as devices are added: the step's batch (strong), or each device's part of it (weak).
enum class Scaling : std::uint8_t { kStrong, kWeak };
const char* ToText(Scaling scaling);  // "strong"

// What the points of a curve are.
enum class Quantity : std::uint8_t { kStepTime, kTokenRate, kMfu };
const char* ToText(Quantity quantity);  // "step_time_s", "tokens_per_s", "mfu"

struct CurvePoint {
  std::int64_t devices = 1;
  double value = 0;  // of the curve's quantity; > 0, finite
};

// Several points may have the same number of devices: repeated measurements.
struct Curve {
  std::string name;  // may be empty
  Scaling scaling = Scaling::kStrong;
  Quantity quantity = Quantity::kStepTime;
  bool measured = true;             // else simulated: the same again to the last bit
  std::vector<CurvePoint> points;   // in any order
  std::optional<double> first_mfu;  // MFU of the first point, where the quantity is another and FLOPs a
                                    // token are the same at all points; else none
};

// Work in a second, over all devices: any unit, the same for all points of a curve. A step is the unit of
// strong scaling, what a device does in a step that of weak scaling.
double RateOf(const Curve& curve, const CurvePoint& point);

// Curves from a table with columns `devices`, one of `step_time_s`, `tokens_per_s` and `mfu` (a part of one),
// and perhaps `name`: rows of one name are one curve, in the order of their first rows. Other columns are
// passed over. Nothing where anything is wrong; all of it is told.
std::vector<Curve> ReadCurves(const std::string& file, std::string_view text, Scaling scaling,
                              proto::Diagnostics* diagnostics);

}  // namespace scenarios

#endif  // SCENARIOS_SCALE_CURVE_H_
