// When a host launches kernels: what a trace in the manner of PyTorch's profiler needs and a run without
// launches of its own does not have.

#ifndef SCENARIOS_OUTPUT_KINETO_LAUNCHES_H_
#define SCENARIOS_OUTPUT_KINETO_LAUNCHES_H_

#include <cstdint>
#include <vector>

namespace scenarios {

// In ns; from <= to.
struct LaunchTime {
  std::int64_t from = 0, to = 0;
};

// One launch a kernel, in the order of their starts, each over before its kernel starts, none beside another:
// just before the kernel, `length` long, or as long as there is time since the kernel before it started.
// Kernels that start together are launched one after another. `starts` ascend.
std::vector<LaunchTime> LaunchesBefore(const std::vector<std::int64_t>& starts, std::int64_t length);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_KINETO_LAUNCHES_H_
