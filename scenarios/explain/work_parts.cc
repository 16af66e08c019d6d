#include "scenarios/explain/work_parts.h"

#include <algorithm>
#include <utility>

#include "scenarios/kernel_costs.h"

namespace scenarios {
namespace {

using sim::Duration;

// Small enough for a slope, large enough that a kernel's picoseconds show it.
constexpr double kStep = 1e-3;

// Where parts stand in a slow-down table, each added to the one before, since tables do not fall.
enum Slot : std::size_t {
  kProducts,
  kAttention,
  kTensor,
  kMemory,
  kStart,
  kTensorAtHalf,
  kMemoryAtHalf,
  kSlots
};
static_assert(kSlots <= std::tuple_size_v<decltype(sim::WorkTimes::beside)>);

Duration Positive(Duration time) { return std::max(time, Duration()); }

// The times that the job has, and beside them what they consist of.
class Dissector final : public hardware::CostModel {
 public:
  explicit Dissector(const Scenario& scenario)
      : cost_(CostModelOf(scenario)),
        tensor_(WithParameter(scenario.device, Parameter::kTensorRate, 1 + kStep)),
        memory_(WithParameter(scenario.device, Parameter::kMemoryRate, 1 + kStep)),
        start_(WithParameter(scenario.device, Parameter::kKernelStart, 1 + kStep)) {}

  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const hardware::KernelTimes as_it_is = cost_.TimeOf(kernel), faster_memory = memory_.TimeOf(kernel),
                                faster_tensor = tensor_.TimeOf(kernel);
    const Duration alone = as_it_is.alone;
    const KernelClass kernel_class = ClassOf(kernel);
    std::array<Duration, kSlots> parts{};
    if (kernel_class == KernelClass::kProducts) parts[kProducts] = alone;
    if (kernel_class == KernelClass::kAttention) parts[kAttention] = alone;
    parts[kTensor] = Positive(alone - faster_tensor.alone);
    parts[kMemory] = Positive(alone - faster_memory.alone);
    parts[kStart] = Positive(start_.TimeOf(kernel).alone - alone);
    parts[kTensorAtHalf] = Positive(as_it_is.memory - faster_tensor.memory);
    parts[kMemoryAtHalf] = Positive(as_it_is.memory - faster_memory.memory);
    hardware::KernelTimes times;
    times.alone = alone;
    Duration sum = alone;
    for (std::size_t slot = 0; slot < times.beside.size(); ++slot) {
      if (slot < kSlots) sum += parts[slot];
      times.beside[slot] = sum;
    }
    return times;
  }
  Duration LaunchTimeOf(const sim::Kernel& kernel) const override { return cost_.LaunchTimeOf(kernel); }
  Duration FurtherLaunch() const override { return cost_.FurtherLaunch(); }

 private:
  const hardware::DeviceCostModel cost_, tensor_, memory_, start_;
};

WorkParts Read(const sim::WorkTimes& times) {
  WorkParts parts{.alone = times.alone};
  const auto part = [&](Slot slot) {
    return times.beside[slot] - (slot == 0 ? times.alone : times.beside[slot - 1]);
  };
  parts.kernels = times.beside.back() > times.alone;
  if (!parts.kernels) return parts;
  parts.by_class = {part(kProducts), part(kAttention), times.alone - part(kProducts) - part(kAttention)};
  parts.slope_s = {-part(kTensor).seconds() / kStep, -part(kMemory).seconds() / kStep,
                   part(kStart).seconds() / kStep};
  parts.memory_slope_s = {-part(kTensorAtHalf).seconds() / kStep, -part(kMemoryAtHalf).seconds() / kStep, 0};
  return parts;
}

}  // namespace

sim::Result<std::vector<WorkParts>> WorkPartsOf(const Scenario& scenario, const StepProgram& steps) {
  const sim::Result<StepProgram> dissected =
      BuildSteps(scenario, PlanStages(scenario, Dissector(scenario)), {}, steps.fold);
  if (!dissected.ok()) return dissected.error();
  const sim::Program& program = steps.program;
  const sim::Program& other = dissected.value().program;
  CHECK(other.rows.size() == program.rows.size());
  std::vector<WorkParts> parts(program.rows.size());
  for (std::size_t r = 0; r < program.rows.size(); ++r) {
    const sim::TaskRow &row = program.rows[r], &same = other.rows[r];
    CHECK(row.kind == same.kind && row.label == same.label);
    if (row.kind != sim::TaskKind::kWork) continue;
    parts[r] = Read(other.works[same.amount]);
    CHECK(parts[r].alone == program.works[row.amount].alone);
  }
  return parts;
}

}  // namespace scenarios
