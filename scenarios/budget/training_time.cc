#include "scenarios/budget/training_time.h"

#include "scenarios/budget/round_up.h"
#include "sim/base/check.h"

namespace scenarios {

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
