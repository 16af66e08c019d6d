// Scaling figures that planners compute by hand: device-hours, cost, and
// efficiency against a named reference.

#ifndef SCENARIOS_SCALING_H_
#define SCENARIOS_SCALING_H_

#include <cstdint>

namespace scenarios {

// Devices times wall-clock hours: 8 devices for 19 hours are 152 device-hours.
constexpr double DeviceHours(std::int64_t devices, double wall_clock_hours) {
  return static_cast<double>(devices) * wall_clock_hours;
}

// What so many device-hours cost at a price for one.
constexpr double CostUsd(double device_hours, double usd_per_device_hour) {
  return device_hours * usd_per_device_hour;
}

// One measured or simulated run of the same work.
struct ScalePoint {
  std::int64_t devices = 1;
  double time = 0;  // any unit, the same for all points; > 0
};

// Strong-scaling efficiency against a reference: 1 when twice the devices take
// half the time. It has no meaning without the reference.
constexpr double StrongScalingEfficiency(ScalePoint reference, ScalePoint point) {
  return reference.time * static_cast<double>(reference.devices) /
         (point.time * static_cast<double>(point.devices));
}

// Weak scaling: the rate of one device at the reference, from the rate of one
// device at scale and their quotient ("linearity").
constexpr double ReferenceRate(double rate_at_scale, double linearity) { return rate_at_scale / linearity; }

// Time on `factor` times the devices when only `compute` is shared out and
// `communication` stays (Amdahl's law with communication as the serial part).
constexpr double TimeWithConstantCommunication(double compute, double communication, double factor) {
  return compute / factor + communication;
}

}  // namespace scenarios

#endif  // SCENARIOS_SCALING_H_
