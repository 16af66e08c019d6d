// What a scenario's kernels cost: its device's times, and its host's where launches are not free.

#ifndef SCENARIOS_KERNEL_COSTS_H_
#define SCENARIOS_KERNEL_COSTS_H_

#include "hardware/device_cost_model.h"
#include "scenarios/scenario.h"

namespace scenarios {

// Operations of the framework for each that launches a kernel: views, allocations and autograd's own are the
// host's alone. Fitted: with it vTrain's 30 steps of small GPTs on one node of A100 (docs/validation.md) come
// out with the least error, whose host takes 45 us an operation.
inline constexpr double kOperationsPerKernel = 1.45;
inline constexpr const char* kOperationsPerKernelSource =
    "operations of the framework for each that launches a kernel; fitted to vTrain's 30 measured steps of "
    "small "
    "GPTs on one node of A100 (docs/validation.md), and assumed of other frameworks and hosts";

// What the host takes for one kernel or communication of an eager step.
inline sim::Duration EagerLaunchOf(const hardware::Device& device) {
  return sim::Duration::FromSeconds(device.host.eager_operation_s * kOperationsPerKernel);
}

inline hardware::DeviceCostModel CostModelOf(const Scenario& scenario) {
  hardware::CostOptions options;
  if (scenario.training.launches != Launches::kCudaGraphs) options.launch = EagerLaunchOf(scenario.device);
  return hardware::DeviceCostModel(scenario.device, options);
}

// What a communication takes the host to launch.
inline sim::Duration LaunchOperationOf(const Scenario& scenario) {
  return scenario.training.launches == Launches::kCudaGraphs ? sim::Duration()
                                                             : EagerLaunchOf(scenario.device);
}

}  // namespace scenarios

#endif  // SCENARIOS_KERNEL_COSTS_H_
