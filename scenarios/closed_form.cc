#include "scenarios/closed_form.h"

#include <algorithm>

#include "models/flops.h"
#include "scenarios/sharding.h"
#include "sim/schedule/bubble.h"

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
  double sent = forwards * reduce * RingPart(Count(block.reduce_forward), t);
  sent += reduce * RingPart(Count(block.reduce_backward), t);
  sent += forwards * 2 * RingPart(Count(block.small_reduce), t) * static_cast<double>(block.small_reduces);
  if (layout.sequence) {
    sent += forwards * RingPart(Count(block.gather_forward), t) + RingPart(Count(block.gather_backward), t) +
            RingPart(Count(block.gather_again), t);
  }
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
  sent *= static_cast<double>(scenario.batch.micro_batches);
  return sent + 2 * RingPart(Count(plan.sequence_gradient), scenario.layout.tensor);
}

// Scattered among those who share a copy, then reduced over the copies.
double GradientBytes(const Scenario& scenario, const StagePlan& plan) {
  const Sharing sharing = SharingOf(scenario);
  const double whole = static_cast<double>(plan.held.total().total()) *
                       static_cast<double>(sim::ByteWidth(scenario.training.gradient_format));
  const double once = RingPart(whole, sharing.ranks) +
                      2 * RingPart(whole / static_cast<double>(sharing.ranks), sharing.replicas);
  return once * static_cast<double>(ReductionsOfStep(scenario));
}

double ParameterBytes(const Scenario& scenario, const StagePlan& plan) {
  const Sharing sharing = SharingOf(scenario);
  if (!sharing.optimizer) return 0;
  sim::Bytes gathered;
  for (std::uint32_t bucket = 0; bucket < plan.buckets.size(); ++bucket) {
    const std::int64_t times = sharing.weights ? GathersOfStep(scenario, plan, bucket) : 1;
    gathered += times * WeightsOf(scenario, plan.buckets[bucket]);
  }
  return RingPart(Count(gathered), sharing.ranks);
}

// A chunk sends activations unless it holds the last piece, and gradients
// unless it holds the first.
double PipelineBytes(const Scenario& scenario, const StagePlan& plan, std::int64_t stage) {
  const std::int64_t last = scenario.layout.pipeline * scenario.layout.virtual_stages - 1;
  std::int64_t sends = 0;
  for (std::int64_t piece = stage; piece <= last; piece += scenario.layout.pipeline) {
    sends += (piece < last ? 1 : 0) + (piece > 0 ? 1 : 0);
  }
  return static_cast<double>(sends * scenario.batch.micro_batches) * Count(plan.boundary);
}

}  // namespace

ClosedForm ClosedFormOf(const Scenario& scenario, const std::vector<StagePlan>& stages,
                        sim::Duration step_time) {
  const Training& training = scenario.training;
  ClosedForm form;
  const std::int64_t tokens = scenario.batch.global * scenario.batch.sequence_length;
  form.six_pd_flops = static_cast<double>(models::SixPD(scenario.model, tokens));
  const double peak = hardware::PeakFlopsPerSecond(scenario.device, training.format);
  form.time_at_peak_s = form.six_pd_flops / (static_cast<double>(scenario.devices) * peak);
  if (step_time > sim::Duration()) form.six_pd_mfu = form.time_at_peak_s / step_time.seconds();
  const sim::BubbleShare bubble = sim::BubbleOfTotal(scenario.pipeline.shape);
  form.bubble_share = static_cast<double>(bubble.idle) / static_cast<double>(bubble.whole);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const StagePlan& plan = stages[stage];
    form.gradient_bytes_per_rank = std::max(form.gradient_bytes_per_rank, GradientBytes(scenario, plan));
    form.parameter_bytes_per_rank = std::max(form.parameter_bytes_per_rank, ParameterBytes(scenario, plan));
    form.embedding_bytes_per_rank = std::max(form.embedding_bytes_per_rank, Count(plan.tied_gradient));
    form.tensor_bytes_per_rank = std::max(form.tensor_bytes_per_rank, TensorBytes(scenario, plan));
    form.pipeline_bytes_per_rank = std::max(form.pipeline_bytes_per_rank,
                                            PipelineBytes(scenario, plan, static_cast<std::int64_t>(stage)));
  }
  return form;
}

}  // namespace scenarios
