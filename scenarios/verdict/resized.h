// A job on another number of devices: data ranks follow, the groups of the layout stay.

#ifndef SCENARIOS_VERDICT_RESIZED_H_
#define SCENARIOS_VERDICT_RESIZED_H_

#include <cstdint>

#include "scenarios/scenario.h"
#include "scenarios/verdict/reload.h"
#include "sim/base/result.h"

namespace scenarios {

// Weak scaling: `batch` is that of the scenario's devices, and grows with them. Error: to no whole number.
sim::Result<std::int64_t> GrownBatch(const Scenario& scenario, std::int64_t batch, std::int64_t devices);

// With so many devices and sequences a step, and `changes` besides. Tensor, context and pipeline groups are
// those of `scenario`; data ranks and accumulation are set to what follows, as a file may state them.
// Error: what does not divide, or what the loader says first.
sim::Result<Scenario> Resized(const Scenario& scenario, std::int64_t devices, std::int64_t batch,
                              const Changes& changes, const Reload& reload);

}  // namespace scenarios

#endif  // SCENARIOS_VERDICT_RESIZED_H_
