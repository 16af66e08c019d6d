// What a command without a scenario is told of NCCL, in the words of one.

#ifndef SCENARIOS_NCCL_SETUP_H_
#define SCENARIOS_NCCL_SETUP_H_

#include <string>
#include <vector>

#include "proto/text_reader.h"
#include "sim/collective/nccl_tuner.h"

namespace scenarios {

// One thing that was said of NCCL: its version, or a variable of its environment.
struct NcclSetting {
  std::string place;        // "--set 1: nccl.environment[0]"
  std::string name, value;  // "version", or the variable's
};

// nccl.version=2.29, nccl.environment=NCCL_ALGO=Tree, nccl.environment=["NCCL_ALGO=Tree", "NCCL_PROTO=LL"]:
// the fields of a scenario's `nccl`, by the same rules, and with the same warnings of what moves no time.
// Says in `settings` what was given. Returns whether there were no errors.
bool SetNccl(const std::vector<proto::Override>& overrides, sim::NcclSetup* setup,
             proto::Diagnostics* diagnostics, std::vector<NcclSetting>* settings = nullptr);

}  // namespace scenarios

#endif  // SCENARIOS_NCCL_SETUP_H_
