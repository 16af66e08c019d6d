#include "scenarios/offload.h"

#include <algorithm>
#include <map>

#include "models/memory.h"
#include "scenarios/sharding.h"

namespace scenarios {
namespace {

// By pipeline stage: the most that a rank has on its host at a time.
std::vector<sim::Bytes> HostBytesOfRanks(const Scenario& scenario) {
  const Pipeline& pipeline = scenario.pipeline;
  std::vector<sim::Bytes> of_piece;
  for (std::size_t piece = 0; piece < pipeline.layers_of_piece.size(); ++piece) {
    const LayerRange range = LayersOfPiece(pipeline, static_cast<std::int64_t>(piece));
    const std::int64_t last = std::min(range.last, range.first + scenario.training.offload.activation_layers);
    sim::Bytes& sum = of_piece.emplace_back();
    for (std::int64_t layer = range.first; layer < last; ++layer) sum += ActivationsOfLayer(scenario, layer);
  }
  std::vector<sim::Bytes> peaks;
  const StageOrders orders(pipeline);
  for (std::uint32_t stage = 0; stage < pipeline.shape.stages; ++stage) {
    const models::StageParameters held = HeldByStage(scenario, stage);
    const std::int64_t numbers = HostNumbers(scenario, held.total().total(), SpreadOf(scenario, held));
    sim::Bytes now(numbers * HostWidthsOf(scenario).kept), peak = now;
    for (const sim::PipelineStep& step : orders.Of(stage)) {
      const sim::Bytes chunk = of_piece[pipeline.piece_of(stage, step.chunk)];
      if (step.kind == sim::PipelineStep::Kind::kForward) now += chunk;
      if (step.kind == sim::PipelineStep::Kind::kBackward) now = now - chunk;
      peak = std::max(peak, now);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace

std::int64_t HostNumbers(const Scenario& scenario, std::int64_t owned) {
  return static_cast<std::int64_t>(sim::Wide{owned} * scenario.training.offload.optimizer_parts / kBillion);
}

std::int64_t HostNumbers(const Scenario& scenario, std::int64_t held, std::int64_t spread) {
  const std::int64_t ranks = SharesOf(scenario).optimizer,
                     expert_ranks = SharesOf(scenario, /*experts=*/true).optimizer;
  return HostNumbers(scenario, (held - spread + ranks - 1) / ranks) +
         HostNumbers(scenario, (spread + expert_ranks - 1) / expert_ranks);
}

// FP32 master weight and moments are read and written; a narrower weight is written beside them.
HostWidths HostWidthsOf(const Scenario& scenario) {
  constexpr std::int64_t kState = 3 * 4;
  const std::int64_t gradient = sim::ByteWidth(scenario.training.gradient_format);
  const std::int64_t weight = sim::ByteWidth(scenario.training.format), narrow = weight < 4 ? weight : 0;
  return {.gradient = gradient,
          .update = gradient + 2 * kState + narrow,
          .weight = weight,
          .kept = kState + gradient + narrow};
}

sim::Bytes ShareOf(const Scenario& scenario, const Bucket& bucket) {
  const std::int64_t ranks = SharingOf(scenario, bucket.experts).ranks;
  return sim::Bytes((WeightsOf(scenario, bucket).count() + ranks - 1) / ranks);
}

sim::Bytes HostGradientsPerStep(const Scenario& scenario, const std::vector<StagePlan>& stages) {
  std::int64_t most = 0;
  for (const StagePlan& plan : stages) most = std::max(most, plan.host_numbers);
  return sim::Bytes(most * HostWidthsOf(scenario).gradient);
}

sim::Bytes HostWeightsPerStep(const Scenario& scenario, const std::vector<StagePlan>& stages) {
  sim::Bytes most;
  for (const StagePlan& plan : stages) {
    sim::Bytes up(scenario.training.offload.parameters ? 0
                                                       : plan.host_numbers * HostWidthsOf(scenario).weight);
    for (std::uint32_t b = 0; scenario.training.offload.parameters && b < plan.buckets.size(); ++b) {
      up += GathersOfStep(scenario, plan, b) * ShareOf(scenario, plan.buckets[b]);
    }
    most = std::max(most, up);
  }
  return most;
}

sim::Bytes OffloadBuffers(const StagePlan& plan) {
  sim::Bytes largest;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) largest = std::max(largest, unit.offloaded);
  }
  return kOffloadBuffers * largest;
}

sim::Bytes OffloadedPerStep(const Scenario& scenario, const std::vector<StagePlan>& stages) {
  sim::Bytes most;
  for (const StagePlan& plan : stages) {
    sim::Bytes bytes;
    for (const std::vector<Unit>& units : plan.chunks) {
      for (const Unit& unit : units) bytes += unit.offloaded;
    }
    most = std::max(most, scenario.pipeline.microbatches_of_chunk() * bytes);
  }
  return most;
}

sim::Bytes ActivationsOfLayer(const Scenario& scenario, std::int64_t layer) {
  models::Execution execution = ExecutionOf(scenario, layer);
  const auto groups = std::max<std::int64_t>(1, static_cast<std::int64_t>(execution.experts.loads.size()));
  sim::Bytes most;
  for (std::int64_t group = 0; group < groups; ++group) {
    execution.experts.group = group;
    most = std::max(
        most, models::LayerActivationBytes(scenario.model, execution, layer, scenario.training.recompute));
  }
  return most;
}

sim::Bytes HostBytesOfNode(const Scenario& scenario) {
  const std::vector<sim::Bytes> of_stage = HostBytesOfRanks(scenario);
  std::map<std::uint32_t, sim::Bytes> nodes;
  for (std::int64_t r = 0; r < scenario.layout.ranks(); ++r) {
    const sim::Rank rank(static_cast<std::uint32_t>(r));
    const std::int64_t stage = scenario.layout.Coordinate(rank, Dimension::kPipeline);
    nodes[scenario.fabric.domain[rank.pos()]] += of_stage[static_cast<std::size_t>(stage)];
  }
  sim::Bytes most;
  for (const auto& [node, bytes] : nodes) most = std::max(most, bytes);
  return most;
}

}  // namespace scenarios
