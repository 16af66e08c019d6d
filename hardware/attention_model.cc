#include "hardware/attention_model.h"

#include <algorithm>

#include "hardware/math.h"
#include "sim/base/check.h"

namespace hardware {

namespace {

double Real(std::int64_t n) { return static_cast<double>(n); }

// Query heads that share a block: they read the same keys.
double HeadsOfBlock(const sim::AttentionShape& shape) {
  const bool packs = shape.implementation == sim::AttentionKind::kFlash3 ||
                     (shape.implementation == sim::AttentionKind::kFlash2 && shape.query_length == 1);
  return packs ? Real(shape.query_heads) / Real(std::max<std::int64_t>(shape.kv_heads, 1)) : 1;
}

// Keys of one step of a block's loop.
double KeyBlock(sim::AttentionKind kind) { return kind == sim::AttentionKind::kFlash2 ? 64 : 128; }

bool IsMasked(const sim::AttentionShape& shape) { return shape.causal || shape.window > 0; }

// The blocks of a kernel. Of keys: what a block's queries see together.
struct Blocks {
  double count = 0;
  double mean_keys = 0, most_keys = 0;
  double mean_queries = 0, most_queries = 0;  // that are there
};

Blocks BlocksOf(const sim::AttentionShape& shape, double block) {
  const double shared = HeadsOfBlock(shape);
  const double queries = Real(shape.query_length) * shared;
  const double heads = Real(shape.batch) * Real(shape.query_heads) / shared;
  Blocks blocks;
  blocks.count = heads * Cover(queries, block);
  blocks.mean_queries = heads * queries / blocks.count;
  blocks.most_queries = std::min(block, queries);
  const double step = KeyBlock(shape.implementation);
  const double all = Cover(Real(shape.kv_length), step) * step;
  blocks.mean_keys = blocks.most_keys = all;
  if (!IsMasked(shape)) return blocks;
  // The last query of a block sees so many more keys than its middle one, and with a window the first sees
  // so many more at the other end.
  const double edge = (std::max(block / shared, 1.0) - 1) / 2;
  const double both = shape.window > 0 ? 2 * edge : edge;
  blocks.mean_keys = std::min(VisibleKeys(shape) + both, all);
  if (shape.window > 0) blocks.most_keys = std::min(Real(shape.window) + both, all);
  return blocks;
}

// Pairs of a query and a key, overheads included, that the busiest SM works off.
double PairsOfSm(const Blocks& blocks, const AttentionModel::Pass& pass, double block, bool masked,
                 double sms) {
  const auto pairs = [&](double keys, double queries) {
    return block * (keys + pass.overhead_tokens) + queries * pass.query_tokens;
  };
  const double mean = pairs(blocks.mean_keys, blocks.mean_queries);
  const double longest = pairs(blocks.most_keys, blocks.most_queries);
  if (!masked) return std::max(longest, Cover(blocks.count, sms) * mean);
  return std::max(longest, blocks.count / sms * mean + pass.tail * longest * (1 - 1 / sms));
}

double WidthOf(const sim::AttentionShape& shape, bool backward) {
  return backward ? Real(sim::BackwardWidth(shape)) / 5 : Real(sim::ForwardWidth(shape)) / 2;
}

}  // namespace

double VisibleKeys(const sim::AttentionShape& shape) {
  const double queries = Real(shape.query_length);
  const double keys = Real(shape.kv_length);
  if (!shape.causal && shape.window == 0) return keys;
  const double window = shape.window > 0 ? Real(shape.window) : keys;
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
  return 2 * Real(shape.batch) * Real(shape.query_heads) * Real(shape.query_length) * VisibleKeys(shape) *
         Real(sim::ForwardWidth(shape));
}

double AttentionSecondsAt(const AttentionModel& model, const sim::AttentionShape& shape, bool backward,
                          double width, double bytes, double memory_rate, const Share& share) {
  CHECK(shape.batch >= 1 && shape.query_heads >= 1 && shape.query_length >= 1 && shape.kv_length >= 1);
  CHECK(shape.head_dim >= 1 && shape.window >= 0 && share.sms >= 1 && !(backward && shape.paged));
  const AttentionModel::Pass& pass = backward ? model.backward : model.forward;
  const bool masked = IsMasked(shape);
  const double block = Real(model.block_queries);
  const double pairs = PairsOfSm(BlocksOf(shape, block), pass, block, masked, share.sms);
  const double rate = masked ? pass.causal_flops_per_s : pass.full_flops_per_s;
  const double compute = pairs * (backward ? 10 : 4) * width / (rate / share.sms_of_whole_device);
  double seconds = model.fixed_s + std::max(compute, bytes / memory_rate);
  if (shape.paged) {
    const double tokens = Real(shape.batch) * Real(shape.query_length);
    const double cached = 2 * tokens * Real(shape.kv_heads) * Real(sim::ForwardWidth(shape));
    seconds += tokens * model.cache_token_s + cached / model.cache_bytes_per_s;
  }
  return seconds;
}

AroundWidth ModelsAround(std::span<const AttentionModel> models, const sim::AttentionShape& shape,
                         bool backward) {
  const double width = WidthOf(shape, backward);
  AroundWidth around;
  for (const AttentionModel& model : models) {
    if (model.implementation != shape.implementation) continue;
    const double own = Real(model.head_dim);
    if (own <= width && (around.below == nullptr || model.head_dim > around.below->head_dim)) {
      around.below = &model;
    }
    if (own >= width && (around.above == nullptr || model.head_dim < around.above->head_dim)) {
      around.above = &model;
    }
  }
  return around;
}

double AttentionSeconds(std::span<const AttentionModel> models, const sim::AttentionShape& shape,
                        bool backward, double bytes, double memory_efficiency, const Share& share) {
  const double width = WidthOf(shape, backward);
  const auto [below, above] = ModelsAround(models, shape, backward);
  CHECK(below != nullptr || above != nullptr);
  const double memory_rate = memory_efficiency * share.memory_bytes_per_s;
  const auto at = [&](const AttentionModel& model, double its_width) {
    return AttentionSecondsAt(model, shape, backward, its_width, bytes, memory_rate, share);
  };
  if (below == nullptr || above == nullptr || below == above) {
    return at(above != nullptr ? *above : *below, width);
  }
  const double low = Real(below->head_dim), high = Real(above->head_dim);
  const double part = (width - low) / (high - low);
  return (1 - part) * at(*below, low) + part * at(*above, high);
}

}  // namespace hardware
