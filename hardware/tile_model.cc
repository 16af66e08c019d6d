#include "hardware/tile_model.h"

#include <algorithm>

#include "hardware/math.h"
#include "sim/base/check.h"

namespace hardware {

namespace {

constexpr double kInstructionK = 64;   // k advances in steps of this
constexpr double kSmallestPart = 256;  // k is not cut into parts below this

struct Tile {
  double m, n;
  double GemmModel::*relative;  // null: the best tile
};

// What cuBLAS and CUTLASS offer on these devices.
constexpr Tile kTiles[] = {
    {256, 128, nullptr},
    {128, 256, nullptr},
    {128, 128, &GemmModel::relative_128x128},
    {128, 64, &GemmModel::relative_128x64},
    {64, 128, &GemmModel::relative_128x64},
    {256, 64, &GemmModel::relative_128x64},
    {64, 256, &GemmModel::relative_128x64},
    {64, 64, &GemmModel::relative_64x64},
};

double MatrixUnitSeconds(const GemmModel& model, const sim::GemmShape& shape, double derate,
                         const Share& share) {
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k), batch = static_cast<double>(shape.batch);
  const double sm_rate = model.efficiency * derate * model.peak_flops_per_s / share.sms_of_whole_device;
  double best = 0;
  for (const Tile& tile : kTiles) {
    const double relative = tile.relative == nullptr ? 1 : model.*tile.relative;
    const double tiles = batch * Cover(m, tile.m) * Cover(n, tile.n);
    for (const double parts : {1.0, 2.0, 4.0, 8.0}) {
      if (parts > 1 && k < parts * kSmallestPart) break;
      const double waves = Cover(tiles * parts, share.sms);
      const double depth = Cover(k, parts * kInstructionK) * kInstructionK + model.prologue_k;
      double seconds = waves * depth * 2 * tile.m * tile.n / (sm_rate * relative);
      if (parts > 1) {
        // Each part is written as FP32 and read again.
        seconds += model.split_fixed_s + 8 * parts * m * n * batch / share.memory_bytes_per_s;
      }
      if (best == 0 || seconds < best) best = seconds;
    }
  }
  return best;
}

}  // namespace

double GemmSeconds(const GemmModel& model, const sim::GemmShape& shape, double bytes, double derate,
                   const Share& share) {
  CHECK(shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && shape.batch >= 1);
  CHECK(model.kind != GemmModelKind::kNone && share.sms >= 1);
  const double l2_ratio = bytes <= share.l2_bytes ? model.l2_ratio : 1;
  const double memory =
      bytes / (model.memory_efficiency * l2_ratio * share.memory_bytes_per_s) + model.memory_fixed_s;
  double compute = 0;
  if (model.kind == GemmModelKind::kTiles) {
    compute = MatrixUnitSeconds(model, shape, derate, share);
  } else {
    const double flops = 2 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                         static_cast<double>(shape.k) * static_cast<double>(shape.batch);
    const double part = share.sms / share.sms_of_whole_device;
    compute = flops / (model.efficiency * derate * model.peak_flops_per_s * part);
  }
  // A roofline is the limit of a large p.
  const double both = model.kind == GemmModelKind::kTiles ? PowerMean(compute, memory, model.norm)
                                                          : std::max(compute, memory);
  return model.fixed_s + both;
}

}  // namespace hardware
