#include "scenarios/stage_memory.h"

#include <algorithm>

#include "models/memory.h"
#include "scenarios/sharding.h"

namespace scenarios {
namespace {

// What one micro-batch leaves behind in one chunk.
sim::Bytes KeptByChunk(const Scenario& scenario, const StagePlan& plan, std::size_t chunk) {
  sim::Bytes kept;
  for (const Unit& unit : plan.chunks[chunk]) {
    if (unit.recompute == Recompute::kFull) {
      if (unit.place_in_group == 0) kept += models::LayerInput(scenario.model, ExecutionOf(scenario));
      continue;
    }
    for (const std::uint32_t block : unit.blocks) kept += plan.blocks[block].activations;
  }
  return kept;
}

// While the backward of a layer, or of a group of layers, runs, what was not kept
// exists once more.
sim::Bytes RecomputedAtOnce(const Scenario& scenario, const StagePlan& plan) {
  sim::Bytes most, group;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      if (unit.kind != Unit::Kind::kLayer || unit.recompute == Recompute::kNone) continue;
      const models::Execution execution = ExecutionOf(scenario, unit.layer);
      const bool inside = unit.recompute == Recompute::kFull && unit.place_in_group > 0;
      if (!inside) group = {};
      group += models::LayerActivationBytes(scenario.model, execution, unit.layer, Recompute::kNone);
      if (!inside) {
        group = group - models::LayerActivationBytes(scenario.model, execution, unit.layer, unit.recompute);
      }
      most = std::max(most, group);
    }
  }
  return most;
}

// The most units that are whole at a time, in a forward and the backward behind it.
sim::Bytes GatheredAtOnce(const Scenario& scenario, const StagePlan& plan) {
  WholeUnits whole(scenario, plan);
  sim::Bytes most;
  const auto buckets = static_cast<std::uint32_t>(plan.buckets.size());
  for (std::uint32_t bucket = buckets; bucket-- > 0;) {
    whole.BeforeForward(bucket);
    most = std::max(most, whole.bytes());
    whole.AfterForward(bucket);
  }
  for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
    whole.BeforeBackward(bucket);
    most = std::max(most, whole.bytes());
    whole.AfterBackward(bucket);
  }
  return most;
}

// Gradients of the bucket that fills, and of the one that is being scattered.
sim::Bytes UnreducedAtOnce(const Scenario& scenario, const StagePlan& plan) {
  sim::Bytes most, previous;
  for (const Bucket& bucket : plan.buckets) {
    const sim::Bytes gradients = GradientsOf(scenario, bucket);
    most = std::max(most, previous + gradients);
    if (scenario.training.overlap_gradient_reduce) previous = gradients;
  }
  return most;
}

// Weights held in eight bits are smaller; the copies for products come on top.
void AddCastWeights(const Scenario& scenario, const StagePlan& plan, std::vector<BytePart>* parts) {
  if (scenario.training.matmul.recipe == models::Recipe::kNone) return;
  sim::Bytes copies;
  std::int64_t common = 0, spread = 0;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      copies += unit.cast_weight_bytes;
      common += unit.cast_weights;
      spread += unit.spread_cast_weights;
    }
  }
  if (scenario.training.matmul.parameter_gather) {
    const std::int64_t saved = sim::ByteWidth(scenario.training.format) - 1;
    for (BytePart& part : *parts) {
      if (part.name == "weights") part.bytes = part.bytes - sim::Bytes(saved * common);
      if (part.name == "expert_weights") part.bytes = part.bytes - sim::Bytes(saved * spread);
    }
  }
  parts->push_back({"fp8_weights", copies});
}

}  // namespace

StageMemory MemoryOfStage(const Scenario& scenario, const StagePlan& plan,
                          std::span<const sim::PipelineStep> order) {
  const Training& training = scenario.training;
  StageMemory memory;
  const auto add = [&](const std::string& prefix, std::int64_t parameters, const models::Shares& shares) {
    for (const models::MemoryPart& part :
         models::StaticMemory(parameters, training.format, training.gradient_format, shares)) {
      memory.parts.push_back({prefix + part.name, part.bytes});
    }
  };
  add("", plan.held.total().total() - plan.spread, SharesOf(scenario));
  if (plan.spread > 0) add("expert_", plan.spread, SharesOf(scenario, /*experts=*/true));
  AddCastWeights(scenario, plan, &memory.parts);

  std::vector<sim::Bytes> kept;
  for (std::size_t chunk = 0; chunk < plan.chunks.size(); ++chunk)
    kept.push_back(KeptByChunk(scenario, plan, chunk));
  sim::Bytes now, peak;
  std::int64_t in_flight = 0;
  for (const sim::PipelineStep& step : order) {
    if (step.kind == sim::PipelineStep::Kind::kForward) {
      now += kept[step.chunk];
      memory.micro_batches_in_flight = std::max(memory.micro_batches_in_flight, ++in_flight);
    } else {
      now = now - kept[step.chunk];
      --in_flight;
    }
    peak = std::max(peak, now);
  }
  memory.parts.push_back({"activations", peak});
  memory.parts.push_back({"recomputed", RecomputedAtOnce(scenario, plan)});
  if (SharingOf(scenario).weights) memory.parts.push_back({"gathered", GatheredAtOnce(scenario, plan)});
  if (SharesOf(scenario).gradients > 1) {
    memory.parts.push_back({"unreduced", UnreducedAtOnce(scenario, plan)});
  }
  for (const BytePart& part : memory.parts) memory.total += part.bytes;
  return memory;
}

StageMemory LargestStageMemory(const Scenario& scenario, const std::vector<StagePlan>& stages) {
  StageMemory largest;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const auto order =
        scenario.pipeline.schedule->order(scenario.pipeline.shape, static_cast<std::uint32_t>(stage));
    StageMemory memory = MemoryOfStage(scenario, stages[stage], order);
    if (memory.total > largest.total) largest = std::move(memory);
  }
  return largest;
}

}  // namespace scenarios
