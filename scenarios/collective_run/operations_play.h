// What ranks issue, played: each stream in order, each operation when all its members are there.

#ifndef SCENARIOS_COLLECTIVE_RUN_OPERATIONS_PLAY_H_
#define SCENARIOS_COLLECTIVE_RUN_OPERATIONS_PLAY_H_

#include <functional>
#include <vector>

#include "scenarios/collective_run/lower_bound.h"
#include "scenarios/collective_run/operations_check.h"
#include "sim/base/result.h"
#include "sim/program/executor.h"

namespace scenarios {

struct PlayedOperation {
  CollectiveJob job;
  std::uint32_t turn = 0;  // among its group's
  std::uint32_t line = 0;  // of its first member
  sim::Time arrived;       // the first of its members
  sim::Time begin, end;    // when all were there, and when it ended
  LowerBound bound;
  std::optional<CollectiveWay> way;  // none where nothing is sent

  sim::Duration time() const { return end - begin; }
};

struct PlayedOperations {
  std::vector<PlayedOperation> operations;  // as they began, then in order of lines
  sim::Program program;
  sim::Timeline timeline;
  bool stopped = false;  // go_on said so; nothing else is filled
};

// Error: what cannot be lowered; what would end beyond the clock's range.
// REQUIRES: `check` is of `list`, and found no deadlock
sim::Result<PlayedOperations> PlayOperations(const Cluster& cluster, const OperationList& list,
                                             const OperationsCheck& check,
                                             const std::function<bool()>& go_on = {});

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_OPERATIONS_PLAY_H_
