// --set of what says nothing of the collectives that are asked for.

#ifndef TOOLS_IDLE_SETTINGS_H_
#define TOOLS_IDLE_SETTINGS_H_

#include <string>
#include <vector>

#include "tools/collective_request.h"

namespace tools {

// All collectives of a command: what is measured, and what runs beside it. One whose sizes NCCL does in part
// is NCCL's.
std::vector<scenarios::CollectiveJob> JobsOf(const CollectiveRequest& request);

// A line for each setting of `named` that has no effect on any of the jobs: variables of NCCL that it does
// not look at for them, or that has none of them to do; figures of the device that no collective has.
void RefuseIdleSettings(const NamedCluster& named, const std::vector<scenarios::CollectiveJob>& jobs,
                        std::vector<std::string>* errors);

}  // namespace tools

#endif  // TOOLS_IDLE_SETTINGS_H_
