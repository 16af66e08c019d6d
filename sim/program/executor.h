// Simulate: plays a program on its links and gives the timeline.

#ifndef SIM_PROGRAM_EXECUTOR_H_
#define SIM_PROGRAM_EXECUTOR_H_

#include <cstdint>
#include <functional>

#include "sim/base/result.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

// How far a simulation is.
struct SimulationProgress {
  std::uint64_t tasks_ended = 0, tasks = 0;
  Time now;
};

struct SimulateOptions {
  bool log_rates = false;  // fill Timeline::rates
  // Asked before the first wakeup and then now and then, whether to go on; its
  // answers and its time have no effect on what happens until then. Empty: always.
  std::function<bool(const SimulationProgress&)> go_on = {};
};

// So many wakeups lie between two questions.
inline constexpr std::uint64_t kWakeupsBetweenQuestions = 1 << 16;

// Streams run in order; a task starts when it heads its stream and all it waits
// for has ended. Work on a compute stream runs at the speed of its slow-down
// table. Communications that sit on its rank take SMs from their arrival (a
// waiting NCCL kernel spins), and some of the memory's rate while their bytes
// flow (one without flows: from its arrival). When what is taken changes, what is left of the work is
// stretched by its time then / its time before, rounded up to a picosecond.
//
// A run that was told to stop gives what it has: Timeline::stopped.
//
// Fails when the program cannot finish: the error names the communications that
// some ranks wait in, the ranks that are missing, and what those wait for.
Result<Timeline> Simulate(const Program& program, const SimulateOptions& options = {});

}  // namespace sim

#endif  // SIM_PROGRAM_EXECUTOR_H_
