// A job whose layout is not yet chosen, and the scenario that a choice makes of it.

#ifndef SCENARIOS_PLAN_PLAN_JOB_H_
#define SCENARIOS_PLAN_PLAN_JOB_H_

#include <cstdint>
#include <optional>
#include <string>

#include "hardware/device.h"
#include "models/model.h"
#include "scenarios/plan/layout_choice.h"
#include "scenarios/scenario.h"
#include "sim/base/result.h"

namespace scenarios {

struct PlanJob {
  models::Model model;
  std::string model_name;  // as a scenario file names it: of the catalogue, or a path
  hardware::Device device;
  std::string device_name;
  std::string topology;  // empty: UsualTopology
  std::int64_t sequence_length = 4096;
  std::int64_t global_batch = 1;  // sequences of a step
  bool batch_may_grow = true;     // to what divides; else it is as it is
  double safety = 0;              // part of a device's memory that is kept free
  std::optional<double> usd_per_device_hour;

  sim::Bytes memory() const;  // usable, less what is kept free
};

// Devices, sequences and micro-batches that suit a layout; see ShapeFor.
struct JobShape {
  std::int64_t devices = 1, data = 1;
  std::int64_t global_batch = 1, micro_batches = 1;
};

// The fewest devices, `least` or more, in whole groups of the layout and, beyond one node, whole nodes, and
// the batch or, where it may grow, the next more that they divide, at most a quarter more; where it may not,
// the next more devices that divide it, at most twice as many. Where those devices are above `most`, the most
// that are not, but nine tenths of `least`. Nothing where there are none, as where even
// `least` are more data ranks than there are sequences.
std::optional<JobShape> ShapeFor(const PlanJob& job, const LayoutChoice& layout, std::int64_t least,
                                 std::int64_t most);

// A part of the job that is as it for every rank in it: `data` of its data ranks, with as many micro-batches.
// Whether so many of its data ranks are whole groups of experts, and fill nodes.
bool IsSlice(const PlanJob& job, const LayoutChoice& layout, std::int64_t data);
JobShape SliceOf(const JobShape& whole, std::int64_t group, std::int64_t data);

// The nodes' rails, or where those are too few or none a network that only the NICs limit.
std::string UsualTopology(const hardware::Device& device, std::int64_t devices);

// The file. `name` is for its field.
std::string ScenarioText(const PlanJob& job, const LayoutChoice& layout, const JobShape& shape,
                         const std::string& name);

// The same, read; its warnings are dropped. Fails with what the reader found first.
sim::Result<Scenario> ScenarioOf(const PlanJob& job, const LayoutChoice& layout, const JobShape& shape);

}  // namespace scenarios

#endif  // SCENARIOS_PLAN_PLAN_JOB_H_
