// Which variables of an environment NCCL looks at for a collective, and which move nothing here.

#ifndef SIM_COLLECTIVE_NCCL_HEED_H_
#define SIM_COLLECTIVE_NCCL_HEED_H_

#include <optional>
#include <string>
#include <string_view>

#include "sim/collective/nccl_tuner.h"

namespace sim {

// Of logs, and of which interface is taken: they change neither choice nor cost.
bool IsHarmlessVariable(std::string_view name);

// Why a variable that is taken moves no time whatever it says: it is harmless, or only counts channels.
// Nothing where it may move some.
std::optional<std::string> WhyMovesNoTime(std::string_view name);

// Whether NCCL looks at a variable at all when it does `kind` in such a group, whatever the rest of the
// environment says: lists of this function, NVLS and PAT where it has them, the threshold of sends.
// REQUIRES: a variable that SetVariable takes
bool Heeds(const NcclSetup& setup, const NcclGroup& group, CollectiveKind kind, std::string_view name,
           std::string_view value);

}  // namespace sim

#endif  // SIM_COLLECTIVE_NCCL_HEED_H_
