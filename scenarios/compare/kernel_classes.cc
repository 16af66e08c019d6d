#include "scenarios/compare/kernel_classes.h"

#include "scenarios/kernel_costs.h"
#include "scenarios/rank_work.h"

namespace scenarios {
namespace {

constexpr std::int64_t kKilo = 1'000;

// Of kernels of one class their time, and as picoseconds of launching what they have to do; of others
// nothing. Plans add both up.
class OnlyOfClass final : public hardware::CostModel {
 public:
  OnlyOfClass(const hardware::DeviceCostModel& cost, KernelClass kernel_class)
      : cost_(cost), class_(kernel_class) {}
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    hardware::KernelTimes times;
    if (ClassOf(kernel) == class_) times.alone = cost_.TimeOf(kernel).alone;
    return times;
  }
  sim::Duration LaunchTimeOf(const sim::Kernel& kernel) const override {
    if (ClassOf(kernel) != class_) return {};
    const std::int64_t amount = class_ == KernelClass::kMemory ? kernel.bytes.count() : kernel.flops.count();
    return sim::Duration::Picoseconds(amount / kKilo);
  }

 private:
  const hardware::DeviceCostModel& cost_;
  const KernelClass class_;
};

}  // namespace

KernelClass ClassOf(const sim::Kernel& kernel) {
  switch (kernel.kind) {
    case sim::KernelKind::kGemm:
      return KernelClass::kProducts;
    case sim::KernelKind::kAttentionForward:
    case sim::KernelKind::kAttentionBackward:
      return KernelClass::kAttention;
    case sim::KernelKind::kMemory:
      break;
  }
  return KernelClass::kMemory;
}

const char* ToText(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kProducts:
      return "matrix products";
    case KernelClass::kAttention:
      return "attention";
    case KernelClass::kMemory:
      break;
  }
  return "memory-bound kernels";
}

const char* IdOf(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kProducts:
      return "products";
    case KernelClass::kAttention:
      return "attention";
    case KernelClass::kMemory:
      break;
  }
  return "memory_kernels";
}

std::vector<KernelWork> ComputeByClass(const Scenario& scenario, sim::Rank rank) {
  const hardware::DeviceCostModel cost = CostModelOf(scenario);
  const auto stage = static_cast<std::uint32_t>(scenario.layout.Coordinate(rank, Dimension::kPipeline));
  std::vector<KernelWork> work;
  for (const KernelClass kernel_class : kKernelClasses) {
    const StagePlan plan = PlanStage(scenario, OnlyOfClass(cost, kernel_class), stage);
    const PhaseTimes of = WorkOfRank(scenario, plan, rank).compute;
    if (of.alone == sim::Duration()) continue;
    work.push_back({kernel_class, of.alone, static_cast<double>(of.host.ps())});
  }
  return work;
}

}  // namespace scenarios
