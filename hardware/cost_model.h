// CostModel: how long one kernel takes on one device. Called while a program is
// built, never while it runs.

#ifndef HARDWARE_COST_MODEL_H_
#define HARDWARE_COST_MODEL_H_

#include "sim/base/kernel.h"
#include "sim/base/units.h"
#include "sim/base/work_times.h"

namespace hardware {

// The slow-down table of one kernel.
using KernelTimes = sim::WorkTimes;

// No kernel is said to take longer: what would is refused before it is simulated.
inline constexpr sim::Duration kLongestKernel = sim::Duration::Milliseconds(100'000'000);  // 1e5 s

class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual KernelTimes TimeOf(const sim::Kernel& kernel) const = 0;
  // CPU time of the operation that launches it; zero where launches are free.
  virtual sim::Duration LaunchTimeOf(const sim::Kernel&) const { return {}; }
  // Of a further kernel that the same operation launches.
  virtual sim::Duration FurtherLaunch() const { return {}; }
};

}  // namespace hardware

#endif  // HARDWARE_COST_MODEL_H_
