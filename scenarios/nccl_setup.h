// What a command without a scenario is told of NCCL, in the words of one.

#ifndef SCENARIOS_NCCL_SETUP_H_
#define SCENARIOS_NCCL_SETUP_H_

#include <vector>

#include "proto/text_reader.h"
#include "sim/collective/nccl_tuner.h"

namespace scenarios {

// nccl.version=2.29, nccl.environment=NCCL_ALGO=Tree, nccl.environment=["NCCL_ALGO=Tree", "NCCL_PROTO=LL"]:
// the fields of a scenario's `nccl`, by the same rules. Returns whether there were no errors.
bool SetNccl(const std::vector<proto::Override>& overrides, sim::NcclSetup* setup,
             proto::Diagnostics* diagnostics);

}  // namespace scenarios

#endif  // SCENARIOS_NCCL_SETUP_H_
