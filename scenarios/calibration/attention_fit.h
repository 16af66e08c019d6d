// Figures of fused attention fitted to measured kernels: least squares of the logarithm of modelled over
// measured, softened so that a row that took twice as long as its neighbours does not pull as four do.

#ifndef SCENARIOS_CALIBRATION_ATTENTION_FIT_H_
#define SCENARIOS_CALIBRATION_ATTENTION_FIT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hardware/device.h"

namespace scenarios {

// A kernel and how long it took.
struct AttentionPoint {
  sim::AttentionShape shape;
  bool backward = false;
  double seconds = 0;  // > 0
};

// What of a model a fit may move. Figures that are 0 at its start stay 0.
enum class AttentionFigure : std::uint8_t {
  kRate,  // of the forward, masked and not alike
  kCausalRate,
  kFullRate,
  kOverhead,
  kQuery,
  kTail,          // stays below 1
  kBackwardRate,  // without mask
  kBackwardOverhead,
  kFixed,
  kCacheToken,
  kCacheRate,
};

// The model that a paged fit begins with, all of its figures above 0 and of the order of what devices have.
hardware::AttentionModel PagedStart(const hardware::Device& device, sim::AttentionKind implementation,
                                    std::int64_t head_dim);

// The figures that a paged fit moves: with a cost for each token in the cache where vLLM's kernels put it
// there one by one, without for TensorRT-LLM's, whose rows show none.
std::vector<AttentionFigure> PagedFigures(sim::AttentionKind implementation);

// `start` with `moved` at the least squares over `points`, to four digits as files have them.
// REQUIRES: points are of the model's implementation and width
hardware::AttentionModel FitAttention(const hardware::Device& device, const hardware::AttentionModel& start,
                                      const std::vector<AttentionFigure>& moved,
                                      std::span<const AttentionPoint> points);

// Seconds of a point's kernel by one model, whatever its width; no bytes of a kernel are fewer than those of
// its queries, keys, values and outputs.
double SecondsOf(const hardware::Device& device, const hardware::AttentionModel& model,
                 const AttentionPoint& point);

// The figures as a group `paged_attention` of a device's file has them.
std::string PagedText(const hardware::AttentionModel& model);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_ATTENTION_FIT_H_
