#include "scenarios/sweep/lower_bound.h"

#include <algorithm>

namespace scenarios {
namespace {

// One micro-batch (or part of its sequences) through a chunk.
struct Pass {
  sim::Duration forward, again, backward;
  sim::Duration all() const { return forward + again + backward; }
};

// Of the expert group that is loaded most: whoever waits for tokens waits for it.
sim::Duration Longest(const std::vector<ExpertPlan>& experts, bool forward) {
  sim::Duration longest;
  for (const ExpertPlan& e : experts) longest = std::max(longest, (forward ? e.forward : e.backward).alone);
  return longest;
}

// What counts of a scenario.
struct Counts {
  bool ways = true, way_back = true, sent = true;
};

Counts CountsOf(const Scenario& s) {
  const bool joined = s.pipeline.joins() || s.pipeline.overlaps_experts;
  const bool both_ends = s.pipeline.placement() == sim::Placement::kBothEnds;
  Counts counts;
  counts.ways = s.training.gradient_norm && !both_ends;
  counts.way_back = counts.ways && !joined && !s.pipeline.splits_backward();
  counts.sent = !joined && !s.training.tensor_overlap;
  return counts;
}

// What the forward of a block sends in the tensor group, rounded down.
sim::Duration SentBy(const Scenario& s, const BlockPlan& b) {
  const sim::NodeShape& node = s.device.node;
  const double rate = (node.nvlink > sim::ByteRate() ? node.nvlink : node.pcie).bytes_per_second();
  const double ring = sim::Number(s.layout.tensor - 1) / sim::Number(s.layout.tensor);
  const double seconds = sim::Number((b.reduce_forward + b.gather_forward).count()) * ring / rate;
  return sim::Duration::Picoseconds(static_cast<std::int64_t>(seconds * 1e12));
}

Pass PassOf(const Scenario& s, const Counts& counts, const StagePlan& plan, const std::vector<Unit>& units) {
  Pass pass;
  for (const Unit& unit : units) {
    for (const std::uint32_t at : unit.blocks) {
      const BlockPlan& b = plan.blocks[at];
      sim::Duration forward = (b.before_gather + b.main + b.after_reduce).alone + Longest(b.experts, true);
      if (counts.sent) forward += SentBy(s, b);
      pass.forward += forward;
      if (unit.recompute == Recompute::kFull) pass.again += forward;
      pass.again += b.again.work().alone;
      pass.backward += (b.backward_head + b.backward_main + b.backward_weight + b.backward_tail).alone +
                       Longest(b.experts, false);
    }
  }
  return pass;
}

}  // namespace

sim::Duration LeastStepTime(const Scenario& scenario, const std::vector<StagePlan>& stages) {
  const Counts counts = CountsOf(scenario);
  const std::int64_t passes = scenario.pipeline.passes_of_chunk();
  sim::Duration most, least = sim::Duration::Max(), way, way_back;
  for (const StagePlan& plan : stages) {
    sim::Duration work;
    for (const std::vector<Unit>& units : plan.chunks) {
      work += passes * PassOf(scenario, counts, plan, units).all();
    }
    const sim::Duration optimizer = plan.optimizer.alone;
    const sim::Duration begins = std::max(optimizer, stages.front().optimizer.alone + way);
    most = std::max(most, (counts.ways ? begins : optimizer) + work + way_back);
    least = std::min(least, optimizer + work);
    const Pass first = PassOf(scenario, counts, plan, plan.chunks.front());
    if (counts.ways) way += first.forward;
    if (counts.way_back) way_back += first.backward;
  }
  return scenario.training.gradient_norm ? most : least;
}

}  // namespace scenarios
