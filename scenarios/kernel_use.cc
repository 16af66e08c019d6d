#include "scenarios/kernel_use.h"

#include <algorithm>

#include "hardware/kernel_basis.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/stage_plan.h"

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

// What a rank runs of a stage's plan, phase by phase as BlockWriter and ContextWriter do.
class RankWork {
 public:
  RankWork(const Scenario& scenario, sim::Rank rank) : scenario_(scenario) {
    const Layout& layout = scenario.layout;
    const std::vector<sim::Rank> ring = layout.RingGroup(rank);
    ring_ = ring.size();
    member_ = static_cast<std::size_t>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
    if (layout.spreads_experts() && scenario.model.experts.routed > 0) {
      expert_ = static_cast<std::size_t>(layout.ExpertOf(rank));
    }
  }

  // In one step.
  PhaseTimes Of(const StagePlan& plan) const {
    PhaseTimes once = plan.optimizer, pass;
    for (const std::vector<Unit>& units : plan.chunks) {
      for (const Unit& unit : units) {
        for (const std::uint32_t at : unit.blocks) {
          once = once + plan.blocks[at].weight_casts;
          for (std::uint32_t part = 0; part < scenario_.pipeline.shape.parts; ++part) {
            const std::vector<std::uint32_t>& later = plan.blocks[at].later_parts;
            pass = pass + Pass(plan.blocks[part == 0 || later.empty() ? at : later[part - 1]], unit);
          }
        }
      }
    }
    const std::int64_t passes = scenario_.pipeline.microbatches_of_chunk();
    once.alone = once.alone + passes * pass.alone;
    once.host = once.host + passes * pass.host;
    return once;
  }

 private:
  // Forward and backward of a block, and what runs again.
  PhaseTimes Pass(const BlockPlan& block, const Unit& unit) const {
    const PhaseTimes forward = Forward(block);
    PhaseTimes sum = forward + Backward(block);
    if (unit.recompute == Recompute::kFull) return sum + forward;
    if (unit.recompute != Recompute::kSelective) return sum;
    sum = sum + block.again.work();
    if (block.again.core && !block.context.pieces.empty()) sum = sum + ContextForward(block.context);
    if (block.experts.empty()) return sum;
    return sum + (block.again.travel ? ExpertsOf(block).forward : ExpertsOf(block).again);
  }

  // A product in pieces, one for each tensor rank.
  PhaseTimes Pieces(PhaseTimes piece) const {
    piece.alone = scenario_.layout.tensor * piece.alone;
    piece.host = scenario_.layout.tensor * piece.host;
    return piece;
  }

  PhaseTimes Forward(const BlockPlan& block) const {
    const PiecedPlan& pieced = block.pieced;
    const bool in_pieces = pieced.pieces > 1;
    PhaseTimes sum = block.before_gather + (in_pieces ? pieced.main : block.main) + block.after_reduce;
    if (in_pieces) sum = sum + pieced.sum + Pieces(pieced.gathered) + Pieces(pieced.scattered);
    if (!block.experts.empty()) sum = sum + ExpertsOf(block).forward;
    if (block.context.pieces.empty()) return sum;
    return sum + ContextForward(block.context) + (in_pieces ? pieced.after_core : block.context.after);
  }

  PhaseTimes Backward(const BlockPlan& block) const {
    const bool in_pieces = block.pieced.pieces > 1;
    PhaseTimes sum = block.backward_head + block.backward_weight + block.backward_tail +
                     (in_pieces ? block.pieced.backward_main : block.backward_main);
    if (in_pieces) sum = sum + Pieces(block.pieced.gathered_back);
    if (!block.experts.empty()) sum = sum + ExpertsOf(block).backward;
    return block.context.pieces.empty() ? sum : sum + ContextBackward(block.context);
  }

  PhaseTimes ContextForward(const ContextPlan& plan) const {
    PhaseTimes sum = plan.prepare + plan.arrive + plan.leave + plan.finish;
    if (plan.gathers) return sum + plan.pieces[member_].forward;
    sum = sum + plan.pieces[0].forward;
    for (std::size_t round = 1; round < ring_; ++round) {
      sum = sum + plan.pieces[round <= member_ ? 1 : 2].forward;
    }
    return sum;
  }

  PhaseTimes ContextBackward(const ContextPlan& plan) const {
    PhaseTimes sum = plan.prepare_back + plan.arrive_back + plan.leave_back + plan.backward_after;
    if (plan.gathers) return sum + plan.pieces[member_].backward;
    for (std::size_t round = 0; round < ring_; ++round) {
      const bool last = round + 1 == ring_, behind = member_ + 1 + round < ring_;
      const ContextPlan::Piece& piece = plan.pieces[last ? 0 : behind ? 2 : 1];
      sum = sum + piece.backward;
      if (round > 0) sum = sum + piece.backward_merge;
    }
    return sum;
  }

  const ExpertPlan& ExpertsOf(const BlockPlan& block) const {
    return block.experts[block.experts.size() > 1 ? expert_ : 0];
  }

  const Scenario& scenario_;
  std::size_t ring_ = 1, member_ = 0, expert_ = 0;
};

}  // namespace

std::vector<KernelReport> KernelsOf(const Scenario& scenario, sim::Rank rank) {
  const hardware::DeviceCostModel cost = CostModelOf(scenario);
  const auto stage = static_cast<std::uint32_t>(scenario.layout.Coordinate(rank, Dimension::kPipeline));
  const RankWork work(scenario, rank);
  std::vector<KernelReport> kernels;
  for (const KernelBasis basis : hardware::kKernelBases) {
    const PhaseTimes of = work.Of(PlanStage(scenario, OnlyKnownBy(scenario.device, cost, basis), stage));
    const std::int64_t count = of.host.ps();
    if (count > 0) kernels.push_back({hardware::ToText(basis), count, of.alone});
  }
  return kernels;
}

}  // namespace scenarios
