// How long a matrix product takes on a GPU's matrix units: a closed form of tiles, waves and bytes.
//
//   t = fixed + ( T_tc^p + T_mem^p )^(1/p)
//   T_tc  = min over tiles (bm, bn) and parts s of k of
//           waves * ( k/s rounded up to 64, + prologue ) * 2 bm bn / rate of one SM
//           waves = ceil( batch * ceil(m/bm) * ceil(n/bn) * s / SMs )
//           (s > 1 also pays a kernel that adds the parts, and their FP32 bytes)
//   T_mem = bytes / achieved memory rate + latency
//
// One tile more than a wave holds costs a whole wave: that is why 132 SMs run
// 133 tiles no faster than 264, and why taking SMs away hurts in steps.
//
// Leaves out: clocks that fall under power limits (in the fitted efficiency),
// libraries' imperfect choice of tiles, stream-k.
// Source: form and parameters fitted to measured kernel times of NVIDIA's
// aiconfigurator (github.com/ai-dynamo/aiconfigurator, TensorRT-LLM collectors).

#ifndef HARDWARE_TILE_MODEL_H_
#define HARDWARE_TILE_MODEL_H_

#include <cstdint>

#include "hardware/device.h"
#include "sim/base/kernel.h"

namespace hardware {

// What a kernel may use of the device.
struct Share {
  std::int32_t sms = 0;            // >= 1
  double memory_bytes_per_s = 0;   // > 0, the data sheet's rate or what is left of it
  double sms_of_whole_device = 0;  // one SM's rate is the device's over this
  double l2_bytes = 0;
};

// Seconds. `bytes` is what the product reads and writes at least.
// REQUIRES: m, n, k, batch >= 1; model.kind is not kNone
double GemmSeconds(const GemmModel& model, const sim::GemmShape& shape, double bytes, double derate,
                   const Share& share);

}  // namespace hardware

#endif  // HARDWARE_TILE_MODEL_H_
