#include "scenarios/budget/save_storage.h"

#include <algorithm>

#include "sim/base/check.h"

namespace scenarios {

sim::Bytes SaveBytes(const models::TrainingState& state, const SaveContents& contents) {
  sim::Bytes bytes;
  if (contents.weights) bytes += state.weights;
  if (contents.master) bytes += state.master;
  if (contents.optimizer) bytes += state.optimizer;
  return bytes;
}

double Goodput(const Interruptions& i) {
  CHECK(i.interval_s > 0 && i.failure_s > 0);
  const double period = i.interval_s + i.stall_s;
  // A failure comes half a period after the last save on average.
  const double lost = (period / 2 + i.restart_s) / i.failure_s;
  return std::max(i.interval_s / period * (1 - lost), 0.0);
}

}  // namespace scenarios
