#include "scenarios/calibration/attention_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hardware/attention_model.h"
#include "hardware/math.h"
#include "scenarios/calibration/four_digits.h"
#include "scenarios/calibration/least_squares.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

using hardware::AttentionModel;

constexpr double kSoftAttention =
    0.15;                       // residual, in logarithms to base 2, from which rows pull by the distance
constexpr double kHold = 0.02;  // residual for a figure twice or half as large: keeps what rows say little of
constexpr double kWidest = 8;   // doublings

double* FigureOf(AttentionFigure figure, AttentionModel* model) {
  switch (figure) {
    case AttentionFigure::kRate:
    case AttentionFigure::kCausalRate:
      return &model->forward.causal_flops_per_s;
    case AttentionFigure::kFullRate:
      return &model->forward.full_flops_per_s;
    case AttentionFigure::kOverhead:
      return &model->forward.overhead_tokens;
    case AttentionFigure::kQuery:
      return &model->forward.query_tokens;
    case AttentionFigure::kTail:
      return &model->forward.tail;
    case AttentionFigure::kBackwardRate:
      return &model->backward.full_flops_per_s;
    case AttentionFigure::kBackwardOverhead:
      return &model->backward.overhead_tokens;
    case AttentionFigure::kFixed:
      return &model->fixed_s;
    case AttentionFigure::kCacheToken:
      return &model->cache_token_s;
    case AttentionFigure::kCacheRate:
      return &model->cache_bytes_per_s;
  }
  CHECK(false);
}

// What a file's unit is of a figure of the model.
double UnitOfFigure(AttentionFigure figure) {
  switch (figure) {
    case AttentionFigure::kRate:
    case AttentionFigure::kCausalRate:
    case AttentionFigure::kFullRate:
    case AttentionFigure::kBackwardRate:
      return 1e12;
    case AttentionFigure::kFixed:
      return 1e-6;
    case AttentionFigure::kCacheToken:
      return 1e-9;
    case AttentionFigure::kCacheRate:
      return 1e9;
    default:
      return 1;
  }
}

void Set(AttentionFigure figure, double value, AttentionModel* model) {
  *FigureOf(figure, model) = figure == AttentionFigure::kTail ? std::min(value, 1.0) : value;
  if (figure == AttentionFigure::kRate) model->forward.full_flops_per_s = value;
}

double BytesOf(const sim::AttentionShape& shape) {
  const double width = static_cast<double>(sim::ForwardWidth(shape));
  const double queries = static_cast<double>(shape.query_length) * static_cast<double>(shape.query_heads);
  const double keys = static_cast<double>(shape.kv_length) * static_cast<double>(shape.kv_heads);
  return 2 * static_cast<double>(shape.batch) * width * (queries + keys);
}

}  // namespace

AttentionModel PagedStart(const hardware::Device& device, sim::AttentionKind implementation,
                          std::int64_t head_dim) {
  AttentionModel model{.implementation = implementation, .head_dim = head_dim};
  const double peak = hardware::PeakFlopsPerSecond(device, sim::NumberFormat::kBf16);
  model.forward = {.causal_flops_per_s = peak / 2,
                   .full_flops_per_s = peak / 2,
                   .overhead_tokens = 100,
                   .query_tokens = 100,
                   .tail = 0.4};
  model.fixed_s = 8e-6;
  // TensorRT-LLM's kernels of Blackwell work on two tiles of 128 queries at a time, up to heads of 128.
  const bool trt = implementation == sim::AttentionKind::kTrtLlm;
  model.block_queries = trt && device.capability >= 100 && head_dim <= 128 ? 256 : head_dim > 256 ? 64 : 128;
  model.cache_token_s = trt ? 0 : 1e-9;
  model.cache_bytes_per_s = device.memory_rate.bytes_per_second() / 3;
  return model;
}

std::vector<AttentionFigure> PagedFigures(sim::AttentionKind implementation) {
  using enum AttentionFigure;
  std::vector<AttentionFigure> figures = {kRate, kOverhead, kQuery, kTail, kFixed, kCacheRate};
  if (implementation != sim::AttentionKind::kTrtLlm) figures.push_back(kCacheToken);
  return figures;
}

double SecondsOf(const hardware::Device& device, const AttentionModel& model, const AttentionPoint& point) {
  const double rate = device.memory_rate.bytes_per_second();
  const hardware::Share share = {.sms = device.sms,
                                 .memory_bytes_per_s = rate,
                                 .sms_of_whole_device = static_cast<double>(device.sms),
                                 .l2_bytes = static_cast<double>(device.l2.count())};
  const double efficiency =
      device.memory_bound.efficiency[static_cast<std::size_t>(sim::MemoryClass::kElementwise)];
  const double seconds = hardware::AttentionSeconds({&model, 1}, point.shape, point.backward,
                                                    BytesOf(point.shape), efficiency, share);
  return std::max(seconds, device.minimum_kernel_s);
}

AttentionModel FitAttention(const hardware::Device& device, const AttentionModel& start,
                            const std::vector<AttentionFigure>& moved,
                            std::span<const AttentionPoint> points) {
  AttentionModel first = start;
  const auto at = [&](std::span<const double> doublings) {
    AttentionModel model = first;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const double factor = hardware::Exp2(std::clamp(doublings[i], -kWidest, kWidest));
      Set(moved[i], *FigureOf(moved[i], &first) * factor, &model);
    }
    return model;
  };
  const ResidualFunction residuals = [&](std::span<const double> doublings, std::span<double> values) {
    const AttentionModel model = at(doublings);
    for (std::size_t i = 0; i < points.size(); ++i) {
      values[i] =
          Softened(hardware::Log2(SecondsOf(device, model, points[i]) / points[i].seconds), kSoftAttention);
    }
    for (std::size_t i = 0; i < moved.size(); ++i) values[points.size() + i] = kHold * doublings[i];
  };
  const LeastSquares best =
      Minimise(residuals, points.size() + moved.size(), std::vector<double>(moved.size(), 0));
  AttentionModel model = at(best.parameters);
  for (const AttentionFigure figure : moved) {
    const double unit = UnitOfFigure(figure);
    Set(figure, FourDigits(*FigureOf(figure, &model) / unit) * unit, &model);
  }
  return model;
}

std::string PagedText(const AttentionModel& model) {
  char text[512];
  std::snprintf(text, sizeof text,
                "paged_attention {\n  implementations: %s\n  head_dim: %d\n  tflops: %.4g\n"
                "  overhead_tokens: %.4g\n  query_tokens: %.4g\n  tail: %.4g\n  block_queries: %d\n"
                "  fixed_us: %.4g\n  cache_token_ns: %.4g\n  cache_gb_per_s: %.4g\n}\n",
                hardware::ToText(model.implementation), static_cast<int>(model.head_dim),
                model.forward.causal_flops_per_s / 1e12, model.forward.overhead_tokens,
                model.forward.query_tokens, model.forward.tail, static_cast<int>(model.block_queries),
                model.fixed_s * 1e6, model.cache_token_s * 1e9, model.cache_bytes_per_s / 1e9);
  return text;
}

}  // namespace scenarios
