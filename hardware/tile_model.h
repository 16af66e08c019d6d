// How long a matrix product takes on a GPU's matrix units: a closed form of tiles, waves and bytes.
//
//   t = fixed + ( T_tc^p + T_mem^p )^(1/p)
//   T_tc  = min over tiles (bm, bn) and parts s of k of the 4-norm of
//           waves * ( k/s rounded up to 64, + prologue ) * step  and  T_cold
//           (s > 1 also pays a kernel that adds the parts, and their FP32 bytes),
//           times 1 + loss * T_tc / (T_tc + 2 ms): clocks fall while power is drawn
//   waves = tiles / SMs rounded up, or as it is where tiles need not wait for a wave
//   step  = what one k of a tile takes an SM: the 4-norm of multiplying and of
//           loading bm + bn numbers from L2
//   T_cold = depth in k * cold bytes of a tile / what an SM draws from memory, for as many
//           tiles as an SM has; tiles in a row or column find their operand cold once
//   T_mem = bytes / achieved memory rate
//
// Operands that the kernel before left in L2 are warm: the first and the result in
// one part of L2, the second (weights, in a forward pass) in a smaller one. How
// much of x is there is 1 / (1 + (x / that part)^4).
//
// One tile more than a wave holds costs a whole wave where waves do not overlap:
// that is why 108 SMs run 109 tiles no faster than 216.
//
// Leaves out: clocks by the data's bits (Device::random_data_derate), libraries'
// imperfect choice of tiles, operands read again for each wave (no device's fit gained
// by it), layouts of operands, shapes that do not align to 16 bytes.
// Source: parameters are fitted to kernel times of NVIDIA's aiconfigurator
// (github.com/ai-dynamo/aiconfigurator, TensorRT-LLM collectors): docs/kernels.md.

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

// A product and the bytes of one number of its operands, scales included.
struct GemmWork {
  sim::GemmShape shape;
  double first_width = 0;   // [m,k]
  double second_width = 0;  // [k,n]
  double result_width = 0;  // [m,n]
  double more_bytes = 0;    // that its epilogue moves

  // Read and written at least.
  double bytes() const;
};

// Of a kernel that is a product: one that also adds to its result, reads a bias, or has experts of several
// sizes says so in `bytes`, beyond the product's own.
GemmWork WorkOf(const sim::Kernel& kernel);

// In a format, its scales included; what is narrower than 16 bits is written in 16.
GemmWork WorkOfProduct(const sim::GemmShape& shape, sim::NumberFormat format);

// What a product's time is made of.
struct GemmTiming {
  double seconds = 0;
  // Its start, what SMs take and what the memory takes; the latter two overlap.
  double start_s = 0, compute_s = 0, memory_s = 0;
  // What SMs would take if they only multiplied, and if they only loaded.
  double multiply_s = 0, load_s = 0;
  // The tile that is fastest, into how many parts it cuts k, and how many waves of the share's SMs all
  // tiles are, in fractions. Zero: a model without tiles, or one row by a kernel of its own.
  std::int32_t tile_m = 0, tile_n = 0, parts = 0;
  double waves = 0;
};

// REQUIRES: m, n, k, batch >= 1; model.kind is not kNone
GemmTiming TimingOf(const GemmModel& model, const GemmWork& work, double derate, const Share& share);

// Its seconds.
double GemmSeconds(const GemmModel& model, const GemmWork& work, double derate, const Share& share);

// What the cast takes that the measured operation includes; 0 where it includes none.
double MeasuredCastSeconds(const GemmModel& model, const GemmWork& work, const Share& share);

}  // namespace hardware

#endif  // HARDWARE_TILE_MODEL_H_
