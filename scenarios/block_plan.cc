#include "scenarios/block_plan.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "models/memory.h"
#include "sim/base/check.h"

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

// One piece of the rows that these kernels work on. Products read all of their second operand each time.
std::vector<sim::Kernel> PieceOf(std::span<const sim::Kernel> kernels, std::int64_t pieces) {
  std::vector<sim::Kernel> piece(kernels.begin(), kernels.end());
  for (sim::Kernel& kernel : piece) {
    std::int64_t whole = 0;
    if (kernel.kind == sim::KernelKind::kGemm) {
      const sim::GemmShape& shape = kernel.gemm;
      whole = std::min(kernel.bytes.count(), shape.n * shape.k * shape.batch * sim::ByteWidth(kernel.format));
      kernel.gemm.m = (shape.m + pieces - 1) / pieces;
    }
    kernel.flops = sim::Flops(kernel.flops.count() / pieces);
    kernel.bytes = sim::Bytes(whole + (kernel.bytes.count() - whole) / pieces);
  }
  return piece;
}

// One of `pieces`, which one operation launches.
PhaseTimes TimesOfPiece(const hardware::CostModel& cost, std::span<const sim::Kernel> kernels,
                        std::int64_t pieces) {
  PhaseTimes times = TimesOf(cost, PieceOf(kernels, pieces));
  const auto part = [&](sim::Duration operations) {
    const auto further = static_cast<std::int64_t>(kernels.size()) * (pieces - 1) * cost.FurtherLaunch();
    return sim::Duration::Picoseconds(((operations + further).ps() + pieces - 1) / pieces);
  };
  times.lead = part(times.lead);
  times.host = part(times.host);
  return times;
}

bool IsProduct(const sim::Kernel& kernel) { return kernel.kind == sim::KernelKind::kGemm; }

}  // namespace

PiecedPlan PlanPieces(const hardware::CostModel& cost, const models::Block& block, std::int64_t pieces) {
  // The parts of a phase: up to its first product, and from its last one on.
  const auto head = [](std::span<const sim::Kernel> all) {
    const auto at = std::find_if(all.begin(), all.end(), IsProduct);
    CHECK(at != all.end());
    return all.first(static_cast<std::size_t>(at - all.begin()) + 1);
  };
  const auto tail = [](std::span<const sim::Kernel> all) {
    const auto at = std::find_if(all.rbegin(), all.rend(), IsProduct);
    CHECK(at != all.rend());
    return all.last(static_cast<std::size_t>(at - all.rbegin()) + 1);
  };
  const auto time = [&](std::span<const sim::Kernel> kernels) {
    return TimesOf(cost, std::vector<sim::Kernel>(kernels.begin(), kernels.end()));
  };
  const bool core_apart = !block.context.pieces.empty();  // attention's last product is then behind the core
  const std::span<const sim::Kernel> main(block.main), after(block.context.after), back(block.backward_main);
  const auto first = head(main), last = tail(core_apart ? after : main), first_back = head(back);
  const auto rest = main.subspan(first.size());
  // What the group's members made of this rank's rows, read, and the sum written.
  const std::int64_t row_bytes = block.reduce_forward.count() / pieces;
  sim::Kernel sum{.name = "piece_sum", .kind = sim::KernelKind::kMemory};
  sum.bytes = sim::Bytes((pieces + 1) * row_bytes);
  return {.pieces = pieces,
          .gathered = TimesOfPiece(cost, first, pieces),
          .main = time(core_apart ? rest : rest.first(rest.size() - last.size())),
          .after_core = core_apart ? time(after.first(after.size() - last.size())) : PhaseTimes(),
          .scattered = TimesOfPiece(cost, last, pieces),
          .sum = TimesOf(cost, {sum}),
          .gathered_back = TimesOfPiece(cost, first_back, pieces),
          .backward_main = time(back.subspan(first_back.size()))};
}

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
