// The roofline: the least time that work can take, by what it computes and what it moves.
//
// Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance
// model for multicore architectures", CACM 52(4), 2009; textbook, (27.17), 17.1.3, 17.8.1.

#ifndef HARDWARE_ROOFLINE_H_
#define HARDWARE_ROOFLINE_H_

#include "hardware/device.h"

namespace hardware {

// A part of a device's peak and of its memory's rate, which planners guess: 1 is the bound
// that no kernel beats.
struct Roof {
  double flops_per_s = 0;
  double bytes_per_s = 0;

  // FLOPs a byte from which on the peak is what limits.
  constexpr double ridge() const { return flops_per_s / bytes_per_s; }
  // Seconds at least.
  constexpr double time(double flops, double bytes) const {
    const double computing = flops / flops_per_s, moving = bytes / bytes_per_s;
    return computing > moving ? computing : moving;
  }
  // FLOP/s at most, at so many FLOPs a byte.
  constexpr double rate(double intensity) const {
    return intensity < ridge() ? intensity * bytes_per_s : flops_per_s;
  }
};

// REQUIRES: SupportsFormat(device, format)
inline Roof RoofOf(const Device& device, sim::NumberFormat format, double of_peak = 1, double of_memory = 1) {
  return {PeakFlopsPerSecond(device, format) * of_peak, device.memory_rate.bytes_per_second() * of_memory};
}

}  // namespace hardware

#endif  // HARDWARE_ROOFLINE_H_
