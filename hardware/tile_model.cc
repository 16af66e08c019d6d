#include "hardware/tile_model.h"

#include <algorithm>
#include <cmath>

#include "hardware/math.h"
#include "sim/base/check.h"

namespace hardware {

namespace {

constexpr double kInstructionK = 64;   // k advances in steps of this
constexpr double kSmallestPart = 256;  // k is not cut into parts below this
constexpr double kLongKernel = 2e-3;   // seconds: a kernel of them pays half of the loss of long ones

struct Tile {
  double m, n;
  double GemmModel::*relative;  // null: the best tile
};

// What cuBLAS and CUTLASS offer on these devices; the narrow ones with one side in turn.
constexpr Tile kTiles[] = {
    {256, 128, nullptr},
    {128, 256, nullptr},
    {128, 128, &GemmModel::relative_128x128},
    {128, 64, &GemmModel::relative_128x64},
    {64, 128, &GemmModel::relative_128x64},
    {256, 64, &GemmModel::relative_128x64},
    {64, 256, &GemmModel::relative_128x64},
    {64, 64, &GemmModel::relative_128x64},
    {32, 128, &GemmModel::relative_128x64},
    {128, 32, &GemmModel::relative_128x64},
};

// (a^4 + b^4)^(1/4).
double FourNorm(double a, double b) {
  const double large = std::max(a, b);
  if (large == 0) return 0;
  const double ratio = std::min(a, b) / large;
  return large * std::sqrt(std::sqrt(1 + ratio * ratio * ratio * ratio));
}

// How much of `bytes` a cache that has room for `room` still has: all of few, none of many.
double Kept(double bytes, double room) {
  if (room <= 0) return 0;
  const double square = bytes / room * (bytes / room);
  return 1 / (1 + square * square);
}

struct Extents {
  explicit Extents(const sim::GemmShape& shape)
      : m(static_cast<double>(shape.m)),
        n(static_cast<double>(shape.n)),
        k(static_cast<double>(shape.k)),
        batch(static_cast<double>(shape.batch)) {}
  double m, n, k, batch;
};

// What L2 does for a product.
struct Caching {
  double first_kept, second_kept;  // parts of the operands that it has at the start
  double memory_bytes;             // that the memory moves, in bytes of its own rate
};

Caching CachingOf(const GemmModel& model, const GemmWork& work, const Share& share) {
  const Extents e(work.shape);
  const double first = e.batch * work.first_width * e.m * e.k;
  const double second = e.batch * work.second_width * e.k * e.n;
  const double beside = first + e.batch * work.result_width * e.m * e.n + work.more_bytes;
  Caching c{.first_kept = Kept(beside, model.l2_first_part * share.l2_bytes),
            .second_kept = Kept(second, model.l2_second_part * share.l2_bytes),
            .memory_bytes = 0};
  const auto moved = [&](double kept) { return 1 - kept + kept / model.l2_ratio; };
  c.memory_bytes = beside * moved(c.first_kept) + second * moved(c.second_kept);
  return c;
}

// What one k of a tile takes, and how many tiles there are.
struct TileWork {
  double down = 0, across = 0;  // tiles of one product
  double step = 0;              // seconds for one k on an SM, operands in L2
  double multiply = 0;          // of it, without loads
  double load = 0;              // and loads alone
  double cold = 0;              // seconds for one k of what is cold, of an SM
};

TileWork WorkOfTile(const Tile& tile, const GemmModel& model, const GemmWork& work, const Caching& caching,
                    double derate, const Share& share) {
  const Extents e(work.shape);
  const double relative = tile.relative == nullptr ? 1 : model.*tile.relative;
  const double sm_rate = model.efficiency * derate * model.peak_flops_per_s / share.sms_of_whole_device;
  const double sm_memory_rate =
      model.sm_memory_ratio * model.memory_efficiency * share.memory_bytes_per_s / share.sms_of_whole_device;
  const double first = std::min(tile.m, e.m) * work.first_width;  // bytes for one k
  const double second = std::min(tile.n, e.n) * work.second_width;
  const double cold_first = first * (1 - caching.first_kept);
  const double cold_second = second * (1 - caching.second_kept);
  TileWork t{.down = Cover(e.m, tile.m), .across = Cover(e.n, tile.n)};
  t.multiply = 2 * tile.m * tile.n / (sm_rate * relative);
  t.load = (first + second) / model.l2_sm_bytes_per_s;
  t.step = FourNorm(t.multiply, t.load);
  // Tiles beside each other read the same, and one of them finds it cold.
  t.cold = (cold_first / t.across + cold_second / t.down) / sm_memory_rate;
  return t;
}

// By tiles, k in `parts`: all, and what only multiplying and only loading would take.
struct TiledTime {
  double seconds, multiply_s, load_s;
};
TiledTime TimeOfTiles(const TileWork& tile, double parts, const GemmModel& model, const Extents& e,
                      const Share& share) {
  const double tiles = e.batch * tile.down * tile.across * parts;
  const double waves = (1 - model.wave_overlap) * Cover(tiles, share.sms) +
                       model.wave_overlap * std::max(tiles / share.sms, 1.0);
  const double depth = Cover(e.k, parts * kInstructionK) * kInstructionK + model.prologue_k;
  const double cold = depth * tile.cold * std::max(tiles / share.sms, 1.0);
  TiledTime time{FourNorm(waves * depth * tile.step, cold), waves * depth * tile.multiply,
                 std::max(waves * depth * tile.load, cold)};
  if (parts == 1) return time;
  // Each part is written as FP32 and read again.
  time.seconds = time.seconds + model.split_fixed_s +
                 8 * parts * e.m * e.n * e.batch / (model.l2_ratio * share.memory_bytes_per_s);
  return time;
}

// The fastest way, and what it takes.
struct TileChoice {
  TiledTime time = {};
  const Tile* tile = nullptr;  // null: one row by a kernel of its own
  double parts = 1;
};

TileChoice FastestTile(const GemmModel& model, const GemmWork& work, const Caching& caching, double derate,
                       const Share& share) {
  const Extents e(work.shape);
  TileChoice best;
  if (work.shape.m == 1) best.time.seconds = best.time.load_s = e.k * model.row_k_s;
  for (const Tile& tile : kTiles) {
    const TileWork one = WorkOfTile(tile, model, work, caching, derate, share);
    for (double parts = 1; parts <= model.most_parts; parts *= 2) {
      if (parts > 1 && e.k < parts * kSmallestPart) break;
      const TiledTime time = TimeOfTiles(one, parts, model, e, share);
      if (best.time.seconds == 0 || time.seconds < best.time.seconds) best = {time, &tile, parts};
    }
  }
  const double loss = 1 + model.long_kernel_loss * best.time.seconds / (best.time.seconds + kLongKernel);
  best.time = {best.time.seconds * loss, best.time.multiply_s * loss, best.time.load_s};
  return best;
}

}  // namespace

double GemmWork::bytes() const {
  const Extents e(shape);
  return e.batch * (first_width * e.m * e.k + second_width * e.k * e.n + result_width * e.m * e.n) +
         more_bytes;
}

GemmWork WorkOfProduct(const sim::GemmShape& shape, sim::NumberFormat format) {
  const double width = static_cast<double>(sim::ByteWidth(format));
  GemmWork work{
      .shape = shape, .first_width = width, .second_width = width, .result_width = std::max(width, 2.0)};
  if (format == sim::NumberFormat::kNvFp4) work.first_width = work.second_width = 0.5 + 1.0 / 16;
  if (format == sim::NumberFormat::kInt8Weights) work.first_width = 2;
  if (format == sim::NumberFormat::kInt4Weights) {
    work.first_width = 2;
    work.second_width = 0.5;
  }
  return work;
}

GemmWork WorkOf(const sim::Kernel& kernel) {
  GemmWork work = WorkOfProduct(kernel.gemm, kernel.format);
  const double bytes = static_cast<double>(std::max<std::int64_t>(kernel.bytes.count(), 0));
  work.more_bytes = std::max(bytes - work.bytes(), 0.0);
  return work;
}

GemmTiming TimingOf(const GemmModel& model, const GemmWork& work, double derate, const Share& share) {
  const sim::GemmShape& shape = work.shape;
  CHECK(shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && shape.batch >= 1);
  CHECK(model.kind != GemmModelKind::kNone && share.sms >= 1);
  const double memory_rate = model.memory_efficiency * share.memory_bytes_per_s;
  const Extents e(shape);
  GemmTiming timing{.start_s = model.fixed_s};
  if (model.kind == GemmModelKind::kRoofline) {
    const double part = share.sms / share.sms_of_whole_device;
    timing.compute_s =
        2 * e.m * e.n * e.k * e.batch / (model.efficiency * derate * model.peak_flops_per_s * part);
    timing.multiply_s = timing.compute_s;
    timing.memory_s = work.bytes() / memory_rate;
    timing.seconds = timing.start_s + std::max(timing.compute_s, timing.memory_s);
    return timing;
  }
  const Caching caching = CachingOf(model, work, share);
  const TileChoice choice = FastestTile(model, work, caching, derate, share);
  timing.compute_s = choice.time.seconds;
  timing.multiply_s = choice.time.multiply_s;
  timing.load_s = choice.time.load_s;
  timing.memory_s = caching.memory_bytes / memory_rate;
  timing.seconds = timing.start_s + PowerMean(timing.compute_s, timing.memory_s, model.norm);
  if (choice.tile == nullptr) return timing;
  timing.tile_m = static_cast<std::int32_t>(choice.tile->m);
  timing.tile_n = static_cast<std::int32_t>(choice.tile->n);
  timing.parts = static_cast<std::int32_t>(choice.parts);
  timing.waves = e.batch * Cover(e.m, choice.tile->m) * Cover(e.n, choice.tile->n) * choice.parts / share.sms;
  return timing;
}

double GemmSeconds(const GemmModel& model, const GemmWork& work, double derate, const Share& share) {
  return TimingOf(model, work, derate, share).seconds;
}

double MeasuredCastSeconds(const GemmModel& model, const GemmWork& work, const Share& share) {
  if (model.cast_fixed_s == 0 && model.cast_bytes == 0) return 0;
  const Extents e(work.shape);
  const double numbers = e.batch * e.m * e.k;
  // 16 bits are read and eight written.
  const double kept = Kept(3 * numbers, model.l2_first_part * share.l2_bytes);
  return model.cast_fixed_s +
         model.cast_bytes * numbers * (1 - kept + kept / model.l2_ratio) / share.memory_bytes_per_s;
}

}  // namespace hardware
