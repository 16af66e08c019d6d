#include "scenarios/stage_memory.h"

#include <algorithm>

#include "models/memory.h"

namespace scenarios {
namespace {

// What one micro-batch leaves behind in one chunk.
sim::Bytes KeptByChunk(const Scenario& scenario, const StagePlan& plan, std::size_t chunk) {
  const bool full = scenario.training.recompute == Recompute::kFull;
  sim::Bytes kept;
  for (const Unit& unit : plan.chunks[chunk]) {
    if (full && unit.kind == Unit::Kind::kLayer) {
      kept += models::LayerInput(scenario.model, ExecutionOf(scenario));
      continue;
    }
    for (const std::uint32_t block : unit.blocks) kept += plan.blocks[block].activations;
  }
  return kept;
}

// While a layer's backward runs, what was not kept exists once more.
sim::Bytes RecomputedAtOnce(const Scenario& scenario, const StagePlan& plan) {
  const Recompute recompute = scenario.training.recompute;
  if (recompute == Recompute::kNone) return {};
  const models::Execution execution = ExecutionOf(scenario);
  sim::Bytes most;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      if (unit.kind != Unit::Kind::kLayer) continue;
      const sim::Bytes all =
          models::LayerActivationBytes(scenario.model, execution, unit.layer, Recompute::kNone);
      const sim::Bytes kept = models::LayerActivationBytes(scenario.model, execution, unit.layer, recompute);
      most = std::max(most, all - kept);
    }
  }
  return most;
}

}  // namespace

StageMemory MemoryOfStage(const Scenario& scenario, const StagePlan& plan,
                          std::span<const sim::PipelineStep> order) {
  const Training& training = scenario.training;
  const bool zero1 = training.optimizer_sharding == OptimizerSharding::kZero1;
  StageMemory memory;
  const auto add = [&](const std::string& prefix, std::int64_t parameters, std::int64_t owners) {
    for (const models::MemoryPart& part :
         models::StaticMemory(parameters, training.format, training.gradient_format, zero1 ? owners : 1)) {
      memory.parts.push_back({prefix + part.name, part.bytes});
    }
  };
  add("", plan.held.total().total() - plan.spread, scenario.layout.data);
  if (plan.spread > 0) add("expert_", plan.spread, scenario.layout.expert_data());

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
