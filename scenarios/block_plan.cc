#include "scenarios/block_plan.h"

#include <algorithm>
#include <iterator>

#include "models/memory.h"

namespace scenarios {

PhaseTimes TimesOf(const hardware::CostModel& cost, const std::vector<sim::Kernel>& kernels) {
  PhaseTimes sum;
  for (const sim::Kernel& kernel : kernels) {
    const hardware::KernelTimes times = cost.TimeOf(kernel);
    const sim::Duration launch = cost.LaunchTimeOf(kernel);
    sum = sum + PhaseTimes{times, launch, launch};
  }
  return sum;
}

namespace {

ContextPlan PlanContext(const hardware::CostModel& cost, const models::ContextCore& core) {
  ContextPlan plan{.prepare = TimesOf(cost, core.prepare),
                   .arrive = TimesOf(cost, core.arrive),
                   .leave = TimesOf(cost, core.leave),
                   .finish = TimesOf(cost, core.finish),
                   .after = TimesOf(cost, core.after),
                   .prepare_back = TimesOf(cost, core.prepare_back),
                   .arrive_back = TimesOf(cost, core.arrive_back),
                   .leave_back = TimesOf(cost, core.leave_back),
                   .backward_after = TimesOf(cost, core.backward_after),
                   .gathers = core.gathers,
                   .passed = core.passed,
                   .keys = core.keys,
                   .values = core.values,
                   .query_heads = core.query_heads,
                   .key_heads = core.key_heads,
                   .value_heads = core.value_heads,
                   .output_heads = core.output_heads};
  for (const models::ContextCore::Piece& piece : core.pieces) {
    plan.pieces.push_back({.forward = TimesOf(cost, piece.forward),
                           .backward = TimesOf(cost, piece.backward),
                           .backward_merge = TimesOf(cost, piece.backward_merge)});
  }
  return plan;
}

// Those of kernels that make weight gradients, or of the others.
PhaseTimes TimesOfHalf(const hardware::CostModel& cost, const std::vector<sim::Kernel>& kernels,
                       bool weight_gradients) {
  std::vector<sim::Kernel> some;
  std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(some),
               [&](const sim::Kernel& kernel) { return kernel.weight_gradient == weight_gradients; });
  return TimesOf(cost, some);
}

SplitBackward PlanSplit(const hardware::CostModel& cost, const models::Block& block) {
  SplitBackward split{.head = TimesOfHalf(cost, block.backward_head, false),
                      .main = TimesOfHalf(cost, block.backward_main, false),
                      .tail = TimesOfHalf(cost, block.backward_tail, false)};
  for (const auto* phase :
       {&block.backward_head, &block.backward_main, &block.backward_weight, &block.backward_tail}) {
    split.weights = split.weights + TimesOfHalf(cost, *phase, true);
  }
  return split;
}

AgainPlan PlanAgain(const hardware::CostModel& cost, const models::Again& again, Recompute recompute) {
  if (recompute != Recompute::kSelective) return {};
  return {.before_gather = TimesOf(cost, again.before_gather),
          .main = TimesOf(cost, again.main),
          .after_reduce = TimesOf(cost, again.after_reduce),
          .gather = again.gather,
          .reduce = again.reduce,
          .core = again.core,
          .travel = again.travel};
}

}  // namespace

BlockPlan PlanBlock(const hardware::CostModel& cost, const models::Block& block, Recompute recompute) {
  return {.name = block.name,
          .before_gather = TimesOf(cost, block.before_gather),
          .main = TimesOf(cost, block.main),
          .after_reduce = TimesOf(cost, block.after_reduce),
          .backward_head = TimesOf(cost, block.backward_head),
          .backward_main = TimesOf(cost, block.backward_main),
          .backward_weight = TimesOf(cost, block.backward_weight),
          .backward_tail = TimesOf(cost, block.backward_tail),
          .again = PlanAgain(cost, block.again, recompute),
          .weight_casts = TimesOf(cost, block.weight_casts),
          .one_copy_casts = TimesOf(cost, block.one_copy_casts),
          .gather_forward = block.gather_forward,
          .reduce_forward = block.reduce_forward,
          .gather_backward = block.gather_backward,
          .reduce_backward = block.reduce_backward,
          .gather_output = block.gather_output,
          .gather_again = block.gather_again,
          .small_reduces = block.small_reduces,
          .small_reduce = block.small_reduce,
          .context = PlanContext(cost, block.context),
          .activations = models::ActivationBytes(block, recompute),
          .split = PlanSplit(cost, block)};
}

ExpertPlan PlanExperts(const hardware::CostModel& cost, const models::SpreadExperts& experts) {
  return {.forward = TimesOf(cost, experts.forward),
          .backward = TimesOf(cost, experts.backward),
          .again = TimesOf(cost, experts.again),
          .backward_input = TimesOfHalf(cost, experts.backward, false),
          .weights = TimesOfHalf(cost, experts.backward, true),
          .outward = experts.outward,
          .homeward = experts.homeward,
          .gather = experts.gather};
}

}  // namespace scenarios
