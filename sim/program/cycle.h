// FindCycle: tasks of one script that wait for each other.

#ifndef SIM_PROGRAM_CYCLE_H_
#define SIM_PROGRAM_CYCLE_H_

#include <optional>

#include "sim/base/result.h"
#include "sim/program/program.h"

namespace sim {

// Names up to eight of the tasks, if there are any; of the script's first player. A rendezvous that cannot
// happen is no cycle: Simulate finds that.
std::optional<Error> FindCycle(const Program& program, const Script& script);

}  // namespace sim

#endif  // SIM_PROGRAM_CYCLE_H_
