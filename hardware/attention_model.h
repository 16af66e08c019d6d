// How long fused attention takes: a closed form of blocks, masks and waves.
//
//   t = fixed + max( core, bytes / achieved memory rate ) [ + way into a cache ]
//
//   A piece of work is a block of queries of one head (128, or 256 with the kernels of Blackwell), and an SM
//   does one after the other. A block costs, in pairs of a query and a key,
//     block * ( keys that it sees, in whole blocks, + overhead ) + queries that are there * query_tokens
//   and a pair costs 4 * head dimension FLOPs (2.5 times that backward) at an SM's rate.
//
//   masked    core = max( longest, sum / SMs + tail * longest * (1 - 1 / SMs) )
//   unmasked  core = waves * block,  waves = ceil( blocks / SMs )
//
// Blocks under a mask are of all lengths, and are dealt to SMs as these come free: the bound of list
// scheduling (Graham, 1969) is the masked form with a tail of 1, and kernels that begin with the longest end
// with short ones, a small tail. Blocks without a mask are equal, so that waves count.
//
// FlashAttention-3 packs the query heads of a group into one block, and so needs fewer of short sequences;
// FlashAttention-2 does for a single query; TensorRT-LLM's prefill never.
//
// Leaves out: clocks that fall in kernels of 10 ms and more; a last block of a head that is not full counts
// whole; the decode of one query split over its keys (split-KV), whose blocks are too few for the SMs here.
// Source: form and parameters fitted to kernel times that NVIDIA's aiconfigurator measured
// (github.com/ai-dynamo/aiconfigurator, vLLM and TensorRT-LLM collectors); docs/attention.md has the errors.

#ifndef HARDWARE_ATTENTION_MODEL_H_
#define HARDWARE_ATTENTION_MODEL_H_

#include <span>

#include "hardware/device.h"
#include "hardware/tile_model.h"
#include "sim/base/kernel.h"

namespace hardware {

// Keys that a query sees, on average over queries. Causal masks are aligned at
// the end, as in FlashAttention: the last query sees all keys.
// REQUIRES: lengths >= 1
double VisibleKeys(const sim::AttentionShape& shape);

// Multiply-adds count two; forward. Backward executes 2.5 times this
// (five products instead of two; Dao, "FlashAttention-2", 2023, section 4.1).
double AttentionForwardFlops(const sim::AttentionShape& shape);

// Seconds of one fused attention kernel by one model, `width` dimensions wide: the mean over the two
// contractions of the forward, or the five of the backward. The way into the cache is in it where the shape
// is paged. `bytes` is what it reads and writes at least.
// REQUIRES: all extents >= 1; not backward where paged
double AttentionSecondsAt(const AttentionModel& model, const sim::AttentionShape& shape, bool backward,
                          double width, double bytes, double memory_rate, const Share& share);

// The models of the shape's implementation on both sides of its width; null: none on that side. The same
// twice where one is exactly as wide.
struct AroundWidth {
  const AttentionModel* below = nullptr;
  const AttentionModel* above = nullptr;
};
AroundWidth ModelsAround(std::span<const AttentionModel> models, const sim::AttentionShape& shape,
                         bool backward);

// The same by the models of the shape's implementation: between two head dimensions the time is on the line
// between theirs, since products take as the width and the softmax takes the same; beyond them it goes with
// the width. `memory_efficiency` is a part of the share's memory rate.
// REQUIRES: a model of the implementation; all extents >= 1
double AttentionSeconds(std::span<const AttentionModel> models, const sim::AttentionShape& shape,
                        bool backward, double bytes, double memory_efficiency, const Share& share);

}  // namespace hardware

#endif  // HARDWARE_ATTENTION_MODEL_H_
