#include "scenarios/plan/candidate.h"

#include <algorithm>
#include <utility>

#include "scenarios/closed_form.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"

namespace scenarios {
namespace {

constexpr double kKernels = 0.7;  // textbook, 17.5.5: of the peak, by matrix products

using sim::Number;

// A device's rate to others of its node, and its part of the node's NICs.
double InsideRate(const sim::NodeShape& node) {
  return (node.nvlink > sim::ByteRate() ? node.nvlink : node.pcie).bytes_per_second();
}
double OutsideRate(const sim::NodeShape& node) {
  return std::max(node.nic.bytes_per_second() * node.nics / node.devices, 1.0);
}

// A rank's rate to the others of its data group, of which its node has `ranks`: a ring that leaves the node
// does so through all their parts of the NICs, for it passes all of them before.
double DataRate(const sim::NodeShape& node, const LayoutChoice& layout, const JobShape& shape) {
  if (shape.devices <= node.devices) return InsideRate(node);
  const std::int64_t ranks = std::clamp<std::int64_t>(node.devices / layout.tensor, 1, shape.data);
  return std::min(OutsideRate(node) * Number(ranks), InsideRate(node));
}

// Of an exchange between `ranks` neighbours, a byte sent to all alike: those outside the node share its NICs.
double SecondsOfExchangedByte(const sim::NodeShape& node, std::int64_t ranks) {
  if (ranks <= node.devices) return 1 / InsideRate(node);
  const double outside = Number(ranks - node.devices) / Number(ranks - 1);
  return std::max(outside / OutsideRate(node), (1 - outside) / InsideRate(node));
}

HandTime HandTimeOf(const PlanJob& job, const Candidate& c, const Scenario& scenario,
                    const std::vector<StagePlan>& stages) {
  const ClosedForm closed = ClosedFormOf(scenario, stages);
  const sim::NodeShape& node = job.device.node;
  HandTime hand;
  hand.compute_s = closed.time_at_peak_s / kKernels;
  if (c.layout.recompute == Recompute::kFull) hand.recompute_s = hand.compute_s / 3;
  hand.bubble_s =
      (hand.compute_s + hand.recompute_s) * closed.bubble_share / (1 - std::min(closed.bubble_share, 0.999));
  hand.data_s =
      (closed.gradient_bytes_per_rank + closed.parameter_bytes_per_rank) / DataRate(node, c.layout, c.shape);
  hand.tensor_s =
      closed.tensor_bytes_per_rank / (c.layout.tensor <= node.devices ? InsideRate(node) : OutsideRate(node));
  hand.expert_s = closed.expert_bytes_per_rank * SecondsOfExchangedByte(node, c.layout.expert);
  return hand;
}

// One forward and backward of one micro-batch through a chunk, when nothing is waited for.
struct Pass {
  sim::Duration kernels;
  double sent = 0;      // bytes in the tensor group, forward: behind one kernel and before the next
  double travel_s = 0;  // of tokens to experts and home, beyond the kernels beside it
};

sim::Duration Longest(const std::vector<ExpertPlan>& experts, bool forward) {
  sim::Duration longest;
  for (const ExpertPlan& e : experts) longest = std::max(longest, (forward ? e.forward : e.backward).alone);
  return longest;
}

double SecondsOf(const std::vector<models::ExpertMove>& moves, const Scenario& scenario) {
  const std::int64_t ranks = scenario.layout.expert;
  double bytes = 0;
  for (const models::ExpertMove& move : moves) {
    if (move.group == models::ExpertMove::Group::kExpert) bytes += Number(move.size.count());
  }
  return bytes * Number(ranks - 1) / Number(ranks) * SecondsOfExchangedByte(scenario.device.node, ranks);
}

// A block's kernels, one way. Those of the shared experts may run while tokens travel, so that only what
// travels longer than all but the routed ones' kernels counts.
void AddWay(const BlockPlan& b, sim::Duration block, bool forward, const Scenario& scenario, Pass* pass) {
  pass->kernels += block + Longest(b.experts, forward);
  if (b.experts.empty()) return;
  const ExpertPlan& experts = b.experts.front();
  const double travel = SecondsOf(experts.outward, scenario) + SecondsOf(experts.homeward, scenario);
  pass->travel_s += std::max(travel - block.seconds(), 0.0);
}

Pass PassOf(const Scenario& scenario, const StagePlan& plan, const std::vector<Unit>& units) {
  Pass pass;
  for (const Unit& unit : units) {
    const int forwards = unit.recompute == Recompute::kFull ? 2 : 1;
    for (const std::uint32_t at : unit.blocks) {
      const BlockPlan& b = plan.blocks[at];
      const PhaseTimes forward = b.before_gather + b.main + b.after_reduce;
      const PhaseTimes backward = b.backward_head + b.backward_main + b.backward_weight + b.backward_tail;
      for (int i = 0; i < forwards; ++i) AddWay(b, forward.alone, true, scenario, &pass);
      AddWay(b, backward.alone + b.again.work().alone, false, scenario, &pass);
      pass.sent += Number((b.reduce_forward + b.gather_forward).count()) * forwards;
    }
  }
  return pass;
}

}  // namespace

double HandTime::step_s() const {
  return std::max(compute_s + recompute_s + bubble_s, data_s) + tensor_s + expert_s;
}

double Candidate::tokens(const PlanJob& job) const {
  return Number(shape.global_batch) * Number(job.sequence_length);
}

double DeviceSecondsOfToken(const Candidate& candidate, const PlanJob& job, double step_s) {
  return step_s * Number(candidate.shape.devices) / candidate.tokens(job);
}

double LeastStepSeconds(const Scenario& scenario, const std::vector<StagePlan>& stages) {
  const Layout& layout = scenario.layout;
  const double ring = Number(layout.tensor - 1) / Number(layout.tensor);
  const double rate = InsideRate(scenario.device.node);
  const double passes = Number(scenario.pipeline.passes_of_chunk());
  const auto seconds = [&](const StagePlan& plan, const std::vector<Unit>& units) {
    const Pass pass = PassOf(scenario, plan, units);
    return pass.kernels.seconds() + pass.sent * ring / rate + pass.travel_s;
  };
  double least = 0, way = 0;  // way: of a micro-batch through the first chunks of the stages before
  for (const StagePlan& plan : stages) {
    double of_micro_batch = 0;
    for (const std::vector<Unit>& units : plan.chunks) of_micro_batch += seconds(plan, units);
    least = std::max(least, way + passes * of_micro_batch + plan.optimizer.alone.seconds());
    way += seconds(plan, plan.chunks.front());
  }
  return least;
}

sim::Result<Candidate> Examine(const PlanJob& job, const LayoutChoice& layout, const JobShape& shape) {
  // Memory and work of a rank need no network, so a slice is read, and the other data ranks are put in.
  std::int64_t data = 1;
  while (data < shape.data && !IsSlice(job, layout, data)) ++data;
  sim::Result<Scenario> read = ScenarioOf(job, layout, SliceOf(shape, layout.group(), data));
  if (!read.ok()) return read.error();
  Scenario scenario = std::move(read).value();
  scenario.devices = shape.devices;
  scenario.layout.data = shape.data;
  scenario.batch.global = shape.global_batch;
  const hardware::DeviceCostModel cost = CostModelOf(scenario);
  const std::vector<StagePlan> stages = PlanStages(scenario, cost);
  Candidate c{.layout = layout, .shape = shape};
  c.memory = LargestStageMemory(scenario, stages).total;
  c.fits = c.memory <= job.memory();
  c.hand = HandTimeOf(job, c, scenario, stages);
  c.bound_s = std::max(LeastStepSeconds(scenario, stages), c.hand.data_s);
  return c;
}

}  // namespace scenarios
