#include "scenarios/closed_form.h"

#include <algorithm>
#include <optional>

#include "models/flops.h"
#include "models/transformer.h"
#include "scenarios/sharding.h"
#include "sim/schedule/bubble.h"
#include "sim/schedule/play_order.h"

namespace scenarios {
namespace {

// What a ring sends of a tensor of which each of n ranks ends with, or starts
// from, one part.
double RingPart(double bytes, std::int64_t n) {
  return bytes * static_cast<double>(n - 1) / static_cast<double>(n);
}

double Count(sim::Bytes bytes) { return static_cast<double>(bytes.count()); }

// Bytes that one rank sends inside its tensor group for one block, forward and
// backward, one micro-batch; `forwards` counts a recomputation too.
double TensorBytes(const BlockPlan& block, const Layout& layout, double forwards) {
  const std::int64_t t = layout.tensor;
  const double reduce = layout.sequence ? 1 : 2;  // reduce-scatter, or all-reduce
  double sent = forwards * reduce * RingPart(Count(block.reduce_forward), t) +
                forwards * RingPart(Count(block.gather_output), t);
  sent += reduce * RingPart(Count(block.reduce_backward), t);
  sent += forwards * 2 * RingPart(Count(block.small_reduce), t) * static_cast<double>(block.small_reduces);
  if (layout.sequence) {
    sent += forwards * RingPart(Count(block.gather_forward), t) + RingPart(Count(block.gather_backward), t) +
            RingPart(Count(block.gather_again) + Count(block.again.gather), t);
  }
  sent += reduce * RingPart(Count(block.again.reduce), t);
  const double ways = forwards + (block.again.travel ? 2 : 1);
  if (!block.experts.empty()) sent += ways * RingPart(Count(block.experts[0].gather), t);
  return sent;
}

double TensorBytes(const Scenario& scenario, const StagePlan& plan) {
  double sent = 0;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      const bool again = unit.recompute == Recompute::kFull;
      for (const std::uint32_t block : unit.blocks) {
        sent += TensorBytes(plan.blocks[block], scenario.layout, again ? 2 : 1);
      }
    }
  }
  sent *= static_cast<double>(scenario.pipeline.passes_of_chunk());
  return sent + 2 * RingPart(Count(plan.sequence_gradient), scenario.layout.tensor);
}

// Bytes that one rank sends for the attention core of one block, each way. `core` is a
// ContextPlan or a models::ContextCore.
//
//   Ulysses   (u-1)/u of queries, keys, values and outputs; the same of their gradients
//   ring      n-1 times one block of keys and values; in the backward their gradients too
//   gather    (n-1)/n of all keys and values; in the backward their gradients too
//
// Sources: Liu et al. 2023, section 3; Llama team 2024, section 3.3.2; Jacobs et al. 2023, section 3.2.
struct BothWays {
  double forward = 0, backward = 0;
};
template <class Core>
BothWays ContextBytes(const Core& core, const Layout& layout) {
  if (core.pieces.empty()) return {};
  const std::int64_t ring = layout.context / layout.ulysses;
  const double heads = RingPart(
      Count(core.query_heads + core.key_heads + core.value_heads + core.output_heads), layout.ulysses);
  const double keys = core.gathers ? RingPart(Count(core.keys + core.values), ring)
                                   : Count(core.passed) * static_cast<double>(ring - 1);
  return {heads + keys, heads + 2 * keys};
}

double ContextBytes(const Scenario& scenario, const StagePlan& plan) {
  double sent = 0;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      for (const std::uint32_t block : unit.blocks) {
        const bool again = plan.blocks[block].again.core || unit.recompute == Recompute::kFull;
        const double forwards = again ? 2 : 1;
        const BothWays bytes = ContextBytes(plan.blocks[block].context, scenario.layout);
        sent += forwards * bytes.forward + bytes.backward;
      }
    }
  }
  return sent * static_cast<double>(scenario.batch.micro_batches);
}

// Scattered among those who share a copy, then reduced over the copies; experts
// with a layout of their own have data ranks of their own.
double GradientBytes(const Scenario& scenario, const StagePlan& plan) {
  const auto sent = [&](std::int64_t parameters, const Sharing& sharing) {
    const double whole = static_cast<double>(parameters) *
                         static_cast<double>(sim::ByteWidth(scenario.training.gradient_format));
    return RingPart(whole, sharing.ranks) +
           2 * RingPart(whole / static_cast<double>(sharing.ranks), sharing.replicas);
  };
  double once = sent(plan.held.total().total() - plan.spread, SharingOf(scenario));
  if (plan.spread > 0) once += sent(plan.spread, SharingOf(scenario, /*experts=*/true));
  return once * static_cast<double>(ReductionsOfStep(scenario));
}

double ParameterBytes(const Scenario& scenario, const StagePlan& plan) {
  const Sharing sharing = SharingOf(scenario);
  if (!sharing.optimizer) return 0;
  sim::Bytes gathered, of_experts;
  for (std::uint32_t bucket = 0; bucket < plan.buckets.size(); ++bucket) {
    const std::int64_t times = sharing.weights ? GathersOfStep(scenario, plan, bucket) : 1;
    (plan.buckets[bucket].experts ? of_experts : gathered) +=
        times * WeightsOf(scenario, plan.buckets[bucket]);
  }
  double sent = RingPart(Count(gathered), sharing.ranks);
  if (plan.spread > 0) sent += RingPart(Count(of_experts), SharingOf(scenario, /*experts=*/true).ranks);
  return sent;
}

// What one rank of a group of n sends in a move, its own part staying.
double MoveBytes(const models::ExpertMove& move, const Layout& layout) {
  if (move.kind == sim::CollectiveKind::kAllToAllByNode) return Count(move.size);
  const std::int64_t members[] = {layout.expert, layout.expert_tensor, layout.expert * layout.expert_tensor};
  return RingPart(Count(move.size), members[static_cast<std::size_t>(move.group)]);
}

double ExpertBytes(const Scenario& scenario, const StagePlan& plan) {
  double sent = 0;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      for (const std::uint32_t index : unit.blocks) {
        const BlockPlan& block = plan.blocks[index];
        if (block.experts.empty()) continue;
        const double times = unit.recompute == Recompute::kFull || block.again.travel ? 3 : 2;
        for (const auto* moves : {&block.experts[0].outward, &block.experts[0].homeward}) {
          for (const models::ExpertMove& move : *moves) sent += times * MoveBytes(move, scenario.layout);
        }
      }
    }
  }
  return sent * static_cast<double>(scenario.pipeline.passes_of_chunk());
}

// A chunk sends activations unless it holds the last piece, and gradients
// unless it holds the first; nothing to the stage that it is on.
double PipelineBytes(const Scenario& scenario, const StagePlan& plan, std::uint32_t stage) {
  const Pipeline& pipeline = scenario.pipeline;
  std::int64_t sends = 0;
  for (std::uint32_t chunk = 0; chunk < pipeline.shape.chunks; ++chunk) {
    sends += StageBehind(pipeline, stage, chunk).value_or(stage) != stage ? 1 : 0;
    sends += StageBefore(pipeline, stage, chunk).value_or(stage) != stage ? 1 : 0;
  }
  return static_cast<double>(sends * pipeline.passes_of_chunk()) * Count(plan.boundary);
}

void AddPasses(const StagePlan& plan, const Unit& unit, sim::PassTimes* times) {
  for (const std::uint32_t index : unit.blocks) {
    const BlockPlan& block = plan.blocks[index];
    const sim::Duration forward = (block.before_gather + block.main + block.after_reduce).alone;
    times->forward += forward;
    times->backward_input += (block.split.head + block.split.main + block.split.tail).alone;
    if (unit.recompute == Recompute::kFull) times->backward_input += forward;
    times->backward_input += block.again.work().alone;
    times->backward_weight += block.split.weights.alone;
    if (block.experts.empty()) continue;
    times->forward += block.experts[0].forward.alone;
    times->backward_input += block.experts[0].backward_input.alone;
    times->backward_input += (block.again.travel ? block.experts[0].forward : block.experts[0].again).alone;
    times->backward_weight += block.experts[0].weights.alone;
  }
}

// What one micro-batch takes on a chunk of the stage that works longest, without
// communication.
sim::PassTimes TimesOfPasses(const Pipeline& pipeline, const std::vector<StagePlan>& stages) {
  sim::PassTimes longest;
  for (const StagePlan& plan : stages) {
    sim::PassTimes times;
    for (const std::vector<Unit>& units : plan.chunks) {
      for (const Unit& unit : units) AddPasses(plan, unit, &times);
    }
    if (times.forward + times.backward() > longest.forward + longest.backward()) longest = times;
  }
  const auto of_chunk = [&](sim::Duration time) {
    return sim::Duration::Picoseconds(time.ps() / pipeline.shape.chunks);
  };
  const sim::Duration forward = of_chunk(longest.forward), input = of_chunk(longest.backward_input),
                      weight = of_chunk(longest.backward_weight);
  return {forward, input, weight, forward + input + weight};
}

// Unties joined steps, as the simulation does where no tokens travel. Whether there were any.
bool RunApart(sim::PipelineOrder* order) {
  bool any = false;
  for (auto& steps : order->stages) {
    for (sim::PipelineStep& step : steps) {
      any = any || step.joined;
      step.joined = false;
    }
  }
  return any;
}

// Of the whole step, or of each stage's own part of it where the schedule is meant for an
// optimizer that does not wait for all stages. Played where there is no closed form; that
// of joined steps is for those that run beside each other.
double BubbleShareOf(const Pipeline& pipeline, const std::vector<StagePlan>& stages) {
  const bool in_turns =
      pipeline.overlaps_experts &&
      std::any_of(stages.begin(), stages.end(), [](const StagePlan& plan) { return plan.spread > 0; });
  const bool plain =
      pipeline.placement() == sim::Placement::kLoop && !pipeline.splits_backward() && !in_turns;
  if (pipeline.schedule != nullptr && plain) {
    const sim::BubbleShare bubble = sim::BubbleOfTotal(pipeline.shape);
    return static_cast<double>(bubble.idle) / static_cast<double>(bubble.whole);
  }
  const sim::PassTimes times = TimesOfPasses(pipeline, stages);
  const std::int64_t passes = pipeline.passes_of_chunk() * pipeline.shape.chunks;
  const sim::Duration work = passes * (times.forward + times.backward());
  std::optional<sim::Duration> bubble;
  sim::PipelineOrder order = OrderOf(pipeline);
  const bool apart = !in_turns && RunApart(&order);
  if (!apart && pipeline.schedule != nullptr) {
    bubble = pipeline.schedule->bubble(pipeline.shape, times);
  }
  if (!bubble) {
    const bool bypasses = pipeline.schedule != nullptr && pipeline.schedule->bypasses_optimizer;
    bubble = BubbleOf(PlayOrder(order, times), bypasses);
  }
  return bubble->seconds() / (*bubble + work).seconds();
}

}  // namespace

double ContextBytesOfLayer(const Scenario& scenario) {
  const models::Block block = models::AttentionBlock(scenario.model, ExecutionOf(scenario), 0);
  const BothWays bytes = ContextBytes(block.context, scenario.layout);
  return bytes.forward + bytes.backward;
}

double TensorBytesOfLayer(const Scenario& scenario) {
  const models::Execution execution = ExecutionOf(scenario);
  double sent = 0;
  for (const models::Block& block : {models::AttentionBlock(scenario.model, execution, 0),
                                     models::MlpBlock(scenario.model, execution, 0)}) {
    sent += TensorBytes({.gather_forward = block.gather_forward,
                         .reduce_forward = block.reduce_forward,
                         .gather_backward = block.gather_backward,
                         .reduce_backward = block.reduce_backward,
                         .gather_again = block.gather_again},
                        scenario.layout, 1);
  }
  return sent;
}

ClosedForm ClosedFormOf(const Scenario& scenario, const std::vector<StagePlan>& stages,
                        sim::Duration step_time) {
  const Training& training = scenario.training;
  ClosedForm form;
  const std::int64_t tokens = scenario.batch.global * scenario.batch.sequence_length;
  form.six_pd_flops = static_cast<double>(models::SixPD(scenario.model, tokens));
  const double peak = hardware::PeakFlopsPerSecond(scenario.device, training.format);
  form.time_at_peak_s = form.six_pd_flops / (static_cast<double>(scenario.devices) * peak);
  if (step_time > sim::Duration()) form.six_pd_mfu = form.time_at_peak_s / step_time.seconds();
  form.bubble_share = BubbleShareOf(scenario.pipeline, stages);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const StagePlan& plan = stages[stage];
    form.gradient_bytes_per_rank = std::max(form.gradient_bytes_per_rank, GradientBytes(scenario, plan));
    form.parameter_bytes_per_rank = std::max(form.parameter_bytes_per_rank, ParameterBytes(scenario, plan));
    form.context_bytes_per_rank = std::max(form.context_bytes_per_rank, ContextBytes(scenario, plan));
    form.expert_bytes_per_rank = std::max(form.expert_bytes_per_rank, ExpertBytes(scenario, plan));
    form.embedding_bytes_per_rank = std::max(form.embedding_bytes_per_rank, Count(plan.tied_gradient));
    form.tensor_bytes_per_rank = std::max(form.tensor_bytes_per_rank, TensorBytes(scenario, plan));
    form.pipeline_bytes_per_rank = std::max(form.pipeline_bytes_per_rank,
                                            PipelineBytes(scenario, plan, static_cast<std::uint32_t>(stage)));
  }
  return form;
}

}  // namespace scenarios
