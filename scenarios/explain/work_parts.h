// Work parts: what each piece of work of a program consists of, and how it depends on figures of the device.

#ifndef SCENARIOS_EXPLAIN_WORK_PARTS_H_
#define SCENARIOS_EXPLAIN_WORK_PARTS_H_

#include <array>
#include <vector>

#include "scenarios/compare/kernel_classes.h"
#include "scenarios/explain/parameter.h"
#include "scenarios/step_builder.h"
#include "sim/base/result.h"

namespace scenarios {

// Of one piece of work, alone on its device.
struct WorkParts {
  sim::Duration alone;
  std::array<sim::Duration, kKernelClasses.size()> by_class;  // add up to `alone`
  // By how much it takes longer, for the parameter's logarithm one more; of kTensorRate, kMemoryRate and
  // kKernelStart. In seconds; rates make it shorter.
  std::array<double, 3> slope_s{};
  // The same of WorkTimes::memory, what it takes longer at half of the memory's rate; kKernelStart's is not
  // known.
  std::array<double, 3> memory_slope_s{};
  bool kernels =
      false;  // false: work that is no kernel of the cost model (a host's, mostly): no parts, no slopes
};

// By row of the program's scripts; of rows that are no work, nothing. The job is built once more, with a cost
// model that writes these parts where the slow-down tables stand.
sim::Result<std::vector<WorkParts>> WorkPartsOf(const Scenario& scenario, const StepProgram& steps);

}  // namespace scenarios

#endif  // SCENARIOS_EXPLAIN_WORK_PARTS_H_
