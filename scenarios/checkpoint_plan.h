// CheckpointPlan: who writes which bytes of a save, and how many saves a host
// can hold. Known without simulating.
//
// What a tensor group holds of a stage is counted once: parameters that several
// ranks hold are shared out among them to the number, and so is, over data
// ranks, what they hold alike (Megatron-LM's fully parallel save, PyTorch's
// distributed checkpoint). So the sum over ranks is bytes-a-parameter times the
// parameters of the model, rows that pad its vocabulary included, whatever the
// layout is. A tied table that the last stage keeps a copy of is written once.
//
// Leaves out: files' headers, random states, the learning rate's schedule.

#ifndef SCENARIOS_CHECKPOINT_PLAN_H_
#define SCENARIOS_CHECKPOINT_PLAN_H_

#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/base/units.h"

namespace scenarios {

struct CheckpointPlan {
  std::int64_t bytes_per_parameter = 0;  // 14 with everything of BF16 training
  // By rank. A delta's are its own bytes.
  std::vector<sim::Bytes> rank_bytes;
  std::vector<sim::Bytes> gathered;  // CONSOLIDATED: what the rank's data group gathers first
  // What it reads back, whoever wrote it: what it holds, but for what the data ranks gather (restart.h).
  // A delta needs the whole save too.
  std::vector<sim::Bytes> restart_read;
  std::vector<std::int64_t> slots;  // saves that its node can hold, copied and not yet written; >= 1
  sim::Bytes total, largest_rank, largest_node;
  sim::Bytes staging_per_node;  // the bound: as given, or one save of the largest node
};

// REQUIRES: the scenario has a checkpoint
CheckpointPlan PlanCheckpoint(const Scenario& scenario);

}  // namespace scenarios

#endif  // SCENARIOS_CHECKPOINT_PLAN_H_
