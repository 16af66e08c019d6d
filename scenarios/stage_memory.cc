#include "scenarios/stage_memory.h"

#include <algorithm>
#include <string_view>

#include "models/memory.h"
#include "scenarios/offload.h"
#include "scenarios/sharding.h"
#include "scenarios/turns.h"
#include "scenarios/whole_units.h"

namespace scenarios {
namespace {

// What one micro-batch leaves behind on the device in one unit.
sim::Bytes KeptByUnit(const Scenario& scenario, const StagePlan& plan, const Unit& unit) {
  if (unit.recompute == Recompute::kFull) {
    return unit.place_in_group == 0 ? models::LayerInput(scenario.model, ExecutionOf(scenario))
                                    : sim::Bytes();
  }
  sim::Bytes kept;
  for (const std::uint32_t block : unit.blocks) kept += plan.blocks[block].activations;
  return kept - unit.offloaded;
}

// In one chunk.
sim::Bytes KeptByChunk(const Scenario& scenario, const StagePlan& plan, std::size_t chunk) {
  sim::Bytes kept;
  for (const Unit& unit : plan.chunks[chunk]) kept += KeptByUnit(scenario, plan, unit);
  return kept;
}

// The most that a pair in turns holds beside what the backward began with: a forward takes unit by unit
// what the backward gives back.
sim::Bytes GrowthInTurns(const Scenario& scenario, const StagePlan& plan, std::uint32_t forward,
                         std::uint32_t backward) {
  const std::vector<std::int64_t> begins = ForwardBegins(plan, forward), ends = BackwardEnds(plan, backward);
  const std::vector<Unit>& taken = plan.chunks[forward];
  const std::vector<Unit>& given = plan.chunks[backward];
  sim::Bytes most, taken_now, given_now;
  std::size_t left = given.size();
  for (std::size_t i = 0; i < taken.size(); ++i) {
    // The backward has the first turn.
    while (left > 0 && ends[left - 1] <= begins[i]) given_now += KeptByUnit(scenario, plan, given[--left]);
    taken_now += KeptByUnit(scenario, plan, taken[i]);
    if (taken_now > given_now) most = std::max(most, taken_now - given_now);
  }
  return most;
}

// The same once all that was not kept has been computed again.
sim::Bytes WholeOfChunk(const Scenario& scenario, const StagePlan& plan, std::size_t chunk) {
  sim::Bytes whole;
  for (const Unit& unit : plan.chunks[chunk]) {
    if (unit.recompute == Recompute::kNone) {
      for (const std::uint32_t block : unit.blocks) whole += plan.blocks[block].activations;
    } else {
      whole += ActivationsOf(scenario, unit, Recompute::kNone);
    }
  }
  return whole;
}

struct PlayedActivations {
  sim::Bytes peak;
  std::int64_t in_flight = 0;
};

// A forward keeps its chunk's activations, a whole backward or a weight gradient
// frees them; in a pair that takes turns, unit by unit. From the input half of a backward to its weight half
// all of them are there, also what had to be computed again.
PlayedActivations Play(const Scenario& scenario, const StagePlan& plan,
                       std::span<const sim::PipelineStep> order) {
  std::vector<sim::Bytes> kept, whole;
  for (std::size_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    kept.push_back(KeptByChunk(scenario, plan, chunk));
    whole.push_back(WholeOfChunk(scenario, plan, chunk));
  }
  PlayedActivations played;
  sim::Bytes now;
  std::int64_t in_flight = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    using enum sim::PipelineStep::Kind;
    const sim::PipelineStep& step = order[i];
    if (step.joined && TakeTurns(scenario.pipeline, plan, step, order[i + 1])) {
      const std::uint32_t other = order[++i].chunk;
      played.peak = std::max(played.peak, now + GrowthInTurns(scenario, plan, step.chunk, other));
      played.in_flight = std::max(played.in_flight, in_flight + 1);
      now = now + kept[step.chunk] - kept[other];
      continue;
    }
    if (step.kind == kForward) now += kept[step.chunk];
    if (step.kind == kBackward) now = now - kept[step.chunk];
    if (step.kind == kBackwardInput) now = now - kept[step.chunk] + whole[step.chunk];
    if (step.kind == kBackwardWeight) now = now - whole[step.chunk];
    if (step.kind == kForward) ++in_flight;
    if (step.kind == kBackward || step.kind == kBackwardWeight) --in_flight;
    played.peak = std::max(played.peak, now);
    played.in_flight = std::max(played.in_flight, in_flight);
  }
  return played;
}

// While the backward of a layer, or of a group of layers, runs, what was not kept
// exists once more.
sim::Bytes RecomputedAtOnce(const Scenario& scenario, const StagePlan& plan) {
  sim::Bytes most, group;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      if (unit.recompute == Recompute::kNone) continue;
      const bool inside = unit.recompute == Recompute::kFull && unit.place_in_group > 0;
      if (!inside) group = {};
      group += ActivationsOf(scenario, unit, Recompute::kNone);
      if (!inside) group = group - ActivationsOf(scenario, unit, unit.recompute);
      most = std::max(most, group);
    }
  }
  return most;
}

// Keys and values of other ranks of the context group, and their gradients, in the
// backward: of a ring two blocks of each, the one in hand and the one that comes.
sim::Bytes ContextAtOnce(const StagePlan& plan) {
  sim::Bytes most;
  for (const BlockPlan& block : plan.blocks) {
    const ContextPlan& context = block.context;
    most = std::max(most, context.gathers ? 2 * (context.keys + context.values) : 4 * context.passed);
  }
  return most;
}

// Gradients of keys and values, which the parts of a sequence add up one after the other: of one
// micro-batch, in all layers of the stage.
sim::Bytes PartGradients(const StagePlan& plan) {
  sim::Bytes sum;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      for (const std::uint32_t block : unit.blocks) sum += plan.blocks[block].key_value_gradients;
    }
  }
  return sum;
}

// Gradients of the bucket that fills, and of the one that is being scattered; of spread experts likewise,
// a layer's with the rest of it where each unit is a bucket.
sim::Bytes UnreducedAtOnce(const Scenario& scenario, const StagePlan& plan) {
  const bool by_unit = SharingOf(scenario).weights;
  sim::Bytes most, most_of_experts, previous, previous_of_experts, of_experts;
  for (const Bucket& bucket : plan.buckets) {
    sim::Bytes gradients = GradientsOf(scenario, bucket);
    if (bucket.experts && by_unit) {
      of_experts = gradients;  // the rest of the layer comes next
    } else if (bucket.experts) {
      most_of_experts = std::max(most_of_experts, previous_of_experts + gradients);
      if (scenario.training.overlap_gradient_reduce) previous_of_experts = gradients;
    } else {
      gradients += of_experts;
      of_experts = {};
      most = std::max(most, previous + gradients);
      if (scenario.training.overlap_gradient_reduce) previous = gradients;
    }
  }
  return most + most_of_experts;
}

// Weights held in eight bits are smaller; the copies for products come on top: all of them where
// weights are whole.
void AddCastWeights(const Scenario& scenario, const StagePlan& plan, std::vector<BytePart>* parts) {
  if (scenario.training.matmul.recipe == models::Recipe::kNone) return;
  const models::Shares shares = SharesOf(scenario), expert_shares = SharesOf(scenario, /*experts=*/true);
  sim::Bytes copies;
  std::int64_t common = 0, spread = 0;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      copies += unit.cast_weight_bytes;
      common += unit.cast_weights;
      spread += unit.spread_cast_weights;
    }
  }
  if (HoldsEightBits(scenario)) {
    const std::int64_t saved = sim::ByteWidth(scenario.training.format) - 1;
    for (BytePart& part : *parts) {
      if (part.name == "weights") part.bytes = part.bytes - sim::Bytes(saved * (common / shares.weights));
      if (part.name == "expert_weights") {
        part.bytes = part.bytes - sim::Bytes(saved * (spread / expert_shares.weights));
      }
    }
  }
  if (!SharingOf(scenario).weights) parts->push_back({"fp8_weights", copies});
}

// What the host has of one part, of so many numbers that it updates.
sim::Bytes OnHost(const Training& training, const models::MemoryPart& part, std::int64_t hosts) {
  const std::string_view name = part.name;
  if (name == "weights") return training.offload.parameters ? part.bytes : sim::Bytes();
  if (name == "master_weights") return sim::Bytes(part.bytes > sim::Bytes() ? 4 * hosts : 0);
  return sim::Bytes(name == "moments" ? 8 * hosts : 0);
}

}  // namespace

StageMemory MemoryOfStage(const Scenario& scenario, const StagePlan& plan,
                          std::span<const sim::PipelineStep> order) {
  const Training& training = scenario.training;
  StageMemory memory;
  const auto add = [&](const std::string& prefix, std::int64_t parameters, const models::Shares& shares) {
    const std::int64_t hosts = HostNumbers(scenario, (parameters + shares.optimizer - 1) / shares.optimizer);
    for (const models::MemoryPart& part :
         models::StaticMemory(parameters, training.format, training.gradient_format, shares)) {
      memory.parts.push_back({prefix + part.name, part.bytes - OnHost(training, part, hosts)});
    }
  };
  add("", plan.held.total().total() - plan.spread, SharesOf(scenario));
  if (plan.spread > 0) add("expert_", plan.spread, SharesOf(scenario, /*experts=*/true));
  AddCastWeights(scenario, plan, &memory.parts);

  const PlayedActivations played = Play(scenario, plan, order);
  memory.micro_batches_in_flight = played.in_flight;
  memory.parts.push_back({"activations", played.peak});
  const bool whole = std::any_of(order.begin(), order.end(), [](const sim::PipelineStep& step) {
    return step.kind == sim::PipelineStep::Kind::kBackward;
  });
  memory.parts.push_back({"recomputed", whole ? RecomputedAtOnce(scenario, plan) : sim::Bytes()});
  if (Offloads(scenario)) memory.parts.push_back({"offload_buffers", OffloadBuffers(plan)});
  if (scenario.pipeline.shape.parts > 1) memory.parts.push_back({"key_value_gradients", PartGradients(plan)});
  if (scenario.layout.context > 1) memory.parts.push_back({"context", ContextAtOnce(plan)});
  if (SharingOf(scenario).weights) {
    const PlayedUnits units = PlayUnits(scenario, plan, order);
    if (training.matmul.recipe != models::Recipe::kNone)
      memory.parts.push_back({"fp8_weights", units.copies});
    memory.parts.push_back({"gathered", units.gathered});
  }
  if (SharesOf(scenario).gradients > 1) {
    memory.parts.push_back({"unreduced", UnreducedAtOnce(scenario, plan)});
  }
  for (const BytePart& part : memory.parts) memory.total += part.bytes;
  return memory;
}

StageMemory LargestStageMemory(const Scenario& scenario, const std::vector<StagePlan>& stages) {
  StageMemory largest;
  const StageOrders orders(scenario.pipeline);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    StageMemory memory = MemoryOfStage(scenario, stages[stage], orders.Of(static_cast<std::uint32_t>(stage)));
    if (memory.total > largest.total) largest = std::move(memory);
  }
  return largest;
}

}  // namespace scenarios
