// Which collectives a rank takes part in, how NCCL does them, and what would be faster on this fabric.
// For the report of one run: it lowers each collective by all of its algorithms once more.

#ifndef SCENARIOS_COLLECTIVE_USE_H_
#define SCENARIOS_COLLECTIVE_USE_H_

#include <vector>

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "scenarios/step_builder.h"

namespace scenarios {

// By time, the most first; then by what they are. Those alone that NCCL has a choice for: no sends and
// receives, thus no all-to-alls. None where collectives go transfer by transfer.
// REQUIRES: the program is this scenario's; the rank is played in it
std::vector<CollectiveReport> CollectivesOf(const Scenario& scenario, const StepProgram& steps,
                                            sim::Rank rank);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_USE_H_
