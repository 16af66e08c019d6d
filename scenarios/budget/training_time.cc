#include "scenarios/budget/training_time.h"

#include <cmath>

#include "sim/base/check.h"

namespace scenarios {
namespace {

std::int64_t RoundUp(double count) {
  CHECK(count >= 0 && count < 9e18);
  return static_cast<std::int64_t>(std::ceil(count));
}

}  // namespace

std::int64_t DevicesFor(double flops, double peak, double utilisation, double seconds) {
  return RoundUp(flops / (peak * utilisation * seconds));
}

double UtilisationWith(double measured, const Contained& c, const Losses& l) {
  double waiting = 0;
  if (!c.communication) waiting += l.communication;
  if (!c.bubble) waiting += l.bubble;
  if (!c.data) waiting += l.data;
  if (!c.checkpoints) waiting += l.checkpoints;
  CHECK(waiting >= 0 && waiting <= 1);
  return measured * (c.kernels ? 1 : l.kernels) * (c.recomputation ? 1 : l.recomputation) * (1 - waiting);
}

std::int64_t StepsFor(double tokens, double tokens_per_step) { return RoundUp(tokens / tokens_per_step); }

}  // namespace scenarios
