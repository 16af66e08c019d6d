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

// How many pieces of size `piece` cover `whole`. Exact for whole numbers below
// 2^53; above, a piece more or less is below what a double can tell.
double Cover(double whole, double piece) {
  if (whole / piece > 1e15) return whole / piece;
  double count = static_cast<double>(static_cast<std::int64_t>(whole / piece));
  while (count * piece < whole) ++count;
  return count;
}

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

double VisibleKeys(const sim::AttentionShape& shape) {
  const double queries = static_cast<double>(shape.query_length);
  const double keys = static_cast<double>(shape.kv_length);
  if (!shape.causal && shape.window == 0) return keys;
  const double window = shape.window > 0 ? static_cast<double>(shape.window) : keys;
  if (!shape.causal) return std::min(window, keys);
  // Query i (from 1) sees min(first - 1 + i, window) keys, none if negative.
  const double first = keys - queries + 1;  // what the first query sees without a window
  const double cap = std::min(window, keys);
  const double low = std::max(first, 1.0);          // queries before see nothing
  const double growing = std::max(cap - low, 0.0);  // queries that see less than the cap
  const double seeing = std::min(queries, keys);
  const double ramp = std::min(growing, seeing);
  // low + (low+1) + ... over `ramp` queries, then `cap` for the rest.
  const double total = ramp * low + ramp * (ramp - 1) / 2 + (seeing - ramp) * cap;
  return total / queries;
}

double AttentionForwardFlops(const sim::AttentionShape& shape) {
  return 2 * static_cast<double>(shape.batch) * static_cast<double>(shape.query_heads) *
         static_cast<double>(shape.query_length) * VisibleKeys(shape) *
         static_cast<double>(sim::ForwardWidth(shape));
}

double AttentionSeconds(const AttentionModel& model, const sim::AttentionShape& shape, bool backward,
                        double bytes, double memory_efficiency, const Share& share) {
  CHECK(shape.batch >= 1 && shape.query_heads >= 1 && shape.query_length >= 1 && shape.kv_length >= 1);
  CHECK(shape.head_dim >= 1 && shape.window >= 0 && share.sms >= 1);
  constexpr double kBlock = 128;  // queries, and keys, of one block
  const AttentionModel::Pass& pass = backward ? model.backward : model.forward;
  const double blocks = static_cast<double>(shape.batch) * static_cast<double>(shape.query_heads) *
                        Cover(static_cast<double>(shape.query_length), kBlock);
  // Whole blocks of keys are computed where the mask cuts them: half a block
  // more at each edge, on average.
  const bool masked = shape.causal || shape.window > 0;
  double keys = VisibleKeys(shape);
  if (masked) keys += kBlock / 2 + (shape.window > 0 ? kBlock / 2 : 0);
  keys = std::min(keys, Cover(static_cast<double>(shape.kv_length), kBlock) * kBlock);
  const double rate = masked ? pass.causal_flops_per_s : pass.full_flops_per_s;
  const double sm_rate = rate / share.sms_of_whole_device;
  // The mean over the two contractions, or the five.
  const double width = backward ? static_cast<double>(sim::BackwardWidth(shape)) / 5
                                : static_cast<double>(sim::ForwardWidth(shape)) / 2;
  const double block_flops = (backward ? 2.5 : 1) * 4 * kBlock * (keys + pass.overhead_tokens) * width;
  const double compute = std::max(blocks / share.sms, 1.0) * block_flops / sm_rate;
  const double memory = bytes / (memory_efficiency * share.memory_bytes_per_s);
  return model.fixed_s + std::max(compute, memory);
}

}  // namespace hardware
