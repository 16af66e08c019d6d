// How well the times of a step's kernels are known: how many of them, and how much of their time, is by
// measurement, by a fit, beyond one.

#ifndef SCENARIOS_KERNEL_USE_H_
#define SCENARIOS_KERNEL_USE_H_

#include <vector>

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "sim/base/index.h"

namespace scenarios {

// Of one rank in one step, each alone on its device, from the best known on (hardware::KernelBasis); only
// what occurs. Together they take what its compute stream works, but for what runs slower beside
// communication. Leaves out: casts of weights into eight bits after the first of a step, and of shares.
std::vector<KernelReport> KernelsOf(const Scenario& scenario, sim::Rank rank);

}  // namespace scenarios

#endif  // SCENARIOS_KERNEL_USE_H_
