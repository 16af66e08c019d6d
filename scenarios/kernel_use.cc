#include "scenarios/kernel_use.h"

#include "hardware/kernel_basis.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/rank_work.h"

namespace scenarios {
namespace {

using hardware::KernelBasis;

// Of kernels that are known so well their time, and a picosecond to launch them, which counts them; of all
// others nothing. Plans add both up.
class OnlyKnownBy final : public hardware::CostModel {
 public:
  OnlyKnownBy(const hardware::Device& device, const hardware::DeviceCostModel& cost, KernelBasis basis)
      : device_(device), cost_(cost), basis_(basis) {}
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    hardware::KernelTimes times;
    if (IsOne(kernel)) times.alone = cost_.TimeOf(kernel).alone;
    return times;
  }
  sim::Duration LaunchTimeOf(const sim::Kernel& kernel) const override {
    return sim::Duration::Picoseconds(IsOne(kernel) ? 1 : 0);
  }

 private:
  bool IsOne(const sim::Kernel& kernel) const { return hardware::BasisOf(device_, kernel) == basis_; }

  const hardware::Device& device_;
  const hardware::DeviceCostModel& cost_;
  const KernelBasis basis_;
};

}  // namespace

std::vector<KernelReport> KernelsOf(const Scenario& scenario, sim::Rank rank) {
  const hardware::DeviceCostModel cost = CostModelOf(scenario);
  const auto stage = static_cast<std::uint32_t>(scenario.layout.Coordinate(rank, Dimension::kPipeline));
  std::vector<KernelReport> kernels;
  for (const KernelBasis basis : hardware::kKernelBases) {
    const StagePlan plan = PlanStage(scenario, OnlyKnownBy(scenario.device, cost, basis), stage);
    const PhaseTimes of = WorkOfRank(scenario, plan, rank).total();
    const std::int64_t count = of.host.ps();
    if (count > 0) kernels.push_back({hardware::ToText(basis), count, of.alone});
  }
  return kernels;
}

}  // namespace scenarios
