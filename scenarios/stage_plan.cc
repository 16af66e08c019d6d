#include "scenarios/stage_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "models/memory.h"
#include "models/optimizer.h"
#include "models/transformer.h"
#include "scenarios/block_plan.h"
#include "scenarios/buckets.h"
#include "scenarios/offload.h"
#include "scenarios/sharding.h"

namespace scenarios {
namespace {

models::StageParameters HeldOf(const Scenario& scenario, const models::Stage& stage) {
  return models::ParametersOfRank(scenario.model, stage,
                                  {.tensor = scenario.layout.tensor,
                                   .vocabulary_divisor = scenario.training.vocabulary_divisor,
                                   .expert = scenario.layout.expert,
                                   .expert_tensor = scenario.layout.expert_tensor});
}

// The ends of the model that a stage has.
models::Stage EndsOf(const Scenario& scenario, std::uint32_t stage) {
  const Pipeline& pipeline = scenario.pipeline;
  const std::size_t last = pipeline.layers_of_piece.size() - 1;
  models::Stage ends;
  for (std::uint32_t chunk = 0; chunk < pipeline.shape.chunks; ++chunk) {
    ends.embedding = ends.embedding || pipeline.piece_of(stage, chunk) == 0;
    ends.head = ends.head || pipeline.piece_of(stage, chunk) == last;
  }
  if (ends.head) ends.predictions = scenario.predictions();
  return ends;
}

// Layers of one kind have the same blocks, so few are distinct.
class Planner {
 public:
  Planner(const Scenario& scenario, const hardware::CostModel& cost, StagePlan* plan)
      : scenario_(scenario), execution_(ExecutionOf(scenario)), cost_(cost), plan_(plan) {}

  Unit Embedding() {
    return {.kind = Unit::Kind::kEmbedding,
            .blocks = {Add(models::EmbeddingBlock(scenario_.model, execution_))},
            .parameters = Held({.embedding = true}).embedding.total()};
  }

  Unit Layer(std::int64_t layer, Recompute recompute) {
    const models::Execution execution = ExecutionOf(scenario_, layer);
    const auto kind = std::tuple(models::KindOf(scenario_.model, layer), recompute, execution.matmul.recipe);
    auto at = layers_.find(kind);
    if (at == layers_.end()) {
      const models::StageParameters held = Held({.layers = 1, .first_layer = layer});
      const std::int64_t spread = SpreadOf(scenario_, held);
      const models::Block attention = models::AttentionBlock(scenario_.model, execution, layer);
      const models::Block mlp = models::MlpBlock(scenario_.model, execution, layer);
      const std::uint32_t first = Add(attention, recompute);
      AddLaterParts(first, execution, layer, recompute);
      Unit unit{.blocks = {first, AddMlp(mlp, execution, layer, recompute)},
                .parameters = held.total().total() - spread,
                .spread = spread,
                .cast_weights = attention.cast_weights + mlp.cast_weights - mlp.spread_cast_weights,
                .spread_cast_weights = mlp.spread_cast_weights,
                .cast_matrices = attention.cast_matrices + mlp.cast_matrices - mlp.spread_cast_matrices,
                .spread_cast_matrices = mlp.spread_cast_matrices,
                .cast_weight_bytes = attention.cast_weight_bytes + mlp.cast_weight_bytes};
      at = layers_.emplace(kind, std::move(unit)).first;
    }
    Unit unit = at->second;
    unit.layer = layer;
    unit.recompute = recompute;
    return unit;
  }

  // The head's share is what the last stage holds beside its layers.
  Unit Head(bool with_embedding) {
    const models::Stage with{.embedding = with_embedding, .head = true}, without{.embedding = with_embedding};
    return {.kind = Unit::Kind::kHead,
            .blocks = {Add(models::HeadBlock(scenario_.model, execution_))},
            .parameters = Held(with).total().total() - Held(without).total().total()};
  }

  // A prediction module: the next token's embedding; join and layer; logits and loss. Its numbers of
  // the vocabulary are shared.
  void Prediction(std::int64_t module, Recompute recompute, std::vector<Unit>* units) {
    const models::Model& model = scenario_.model;
    const std::int64_t last = model.layers - 1;
    const models::Execution execution = ExecutionOf(scenario_, last);
    const models::Block join = models::JoinBlock(model, execution);
    Unit unit = Layer(last, recompute);
    const models::StageParameters held = Held({.predictions = 1});
    unit.kind = Unit::Kind::kPrediction;
    unit.layer = model.layers + module;
    unit.parameters = held.total().total() - held.embedding.total() - unit.spread;
    unit.cast_weights += join.cast_weights;
    unit.cast_matrices += join.cast_matrices;
    unit.cast_weight_bytes = unit.cast_weight_bytes + join.cast_weight_bytes;
    unit.ends_group = true;
    unit.blocks.insert(unit.blocks.begin(), Add(join, recompute));
    const auto end = [&](const models::Block& block) {
      units->push_back({.kind = Unit::Kind::kPredictionEnd, .layer = unit.layer, .blocks = {Add(block)}});
    };
    end(models::EmbeddingBlock(model, execution_));
    units->push_back(unit);
    end(models::HeadBlock(model, execution_));
  }

  // What it keeps of one micro-batch.
  sim::Bytes KeptBy(const Unit& unit) const {
    sim::Bytes kept;
    for (const std::uint32_t block : unit.blocks) kept += plan_->blocks[block].activations;
    return kept;
  }

  models::StageParameters Held(const models::Stage& stage) const { return HeldOf(scenario_, stage); }

 private:
  // Embedding and head are never recomputed.
  std::uint32_t Add(const models::Block& block, Recompute recompute = Recompute::kNone) {
    plan_->blocks.push_back(PlanBlock(cost_, block, recompute));
    // Of experts, embedding and head nothing does; their products are not between a gather and a scatter.
    const std::string_view name = block.name;
    if (scenario_.training.tensor_overlap && (name == "attention" || name == "mlp") &&
        block.reduce_forward > sim::Bytes() && block.gather_backward > sim::Bytes()) {
      plan_->blocks.back().pieced = PlanPieces(cost_, block, scenario_.layout.tensor);
    }
    return static_cast<std::uint32_t>(plan_->blocks.size() - 1);
  }

  // Attention of a sequence's later parts, which see more keys and values.
  void AddLaterParts(std::uint32_t first, models::Execution execution, std::int64_t layer,
                     Recompute recompute) {
    std::vector<std::uint32_t> later;
    for (execution.part.index = 1; execution.part.index < execution.part.count; ++execution.part.index) {
      later.push_back(Add(models::AttentionBlock(scenario_.model, execution, layer), recompute));
    }
    if (!later.empty()) {
      plan_->blocks[first].key_value_gradients =
          models::KeyValueBytes(scenario_.model, execution, execution.part.count);
    }
    plan_->blocks[first].later_parts = std::move(later);
  }

  // Experts of one group have other work than those of the next where loads differ;
  // the memory is that of the busiest.
  std::uint32_t AddMlp(const models::Block& first, models::Execution execution, std::int64_t layer,
                       Recompute recompute) {
    const std::uint32_t index = Add(first, recompute);
    if (!first.spread) return index;
    BlockPlan& plan = plan_->blocks[index];
    plan.experts.push_back(PlanExperts(cost_, first.experts));
    for (std::size_t group = 1; group < execution.experts.loads.size(); ++group) {
      execution.experts.group = static_cast<std::int64_t>(group);
      const models::Block block = models::MlpBlock(scenario_.model, execution, layer);
      plan.experts.push_back(PlanExperts(cost_, block.experts));
      plan.activations = std::max(plan.activations, models::ActivationBytes(block, recompute));
    }
    return index;
  }

  const Scenario& scenario_;
  const models::Execution execution_;
  const hardware::CostModel& cost_;
  StagePlan* plan_;
  std::map<std::tuple<models::LayerKind, Recompute, models::Recipe>, Unit> layers_;  // one of each kind
};

// The layers of one piece, and what is computed again of them.
// Source: Megatron-LM core 0.8, transformer_block.py, _checkpointed_forward; torchtitan 0.1,
// parallelize_llama.py, whose count of layers goes on from chunk to chunk.
// `on_stage` counts the layers of the stage.
void AddLayers(const Training& training, LayerRange range, std::int64_t* on_stage, Planner* planner,
               std::vector<Unit>* units) {
  const FullRecompute& full = training.full_recompute;
  for (std::int64_t layer = range.first; layer < range.last; ++layer) {
    const std::int64_t at = layer - range.first;
    const bool spared = training.recompute == Recompute::kFull && !full.RunsAgain(at, (*on_stage)++);
    Unit unit = planner->Layer(layer, spared ? Recompute::kNone : training.recompute);
    const std::int64_t group = full.first_layers_only ? 1 : full.layers;
    unit.place_in_group = at % group;
    unit.ends_group = unit.place_in_group == group - 1 || layer == range.last - 1;
    if (at < training.offload.activation_layers) unit.offloaded = planner->KeptBy(unit);
    units->push_back(std::move(unit));
  }
}

// Behind the layers. Of FULL, the module's join and layer run again (Megatron-LM core 0.14,
// multi_token_prediction.py: unless the method is block).
void AddPredictions(const Scenario& scenario, std::int64_t* on_stage, Planner* planner,
                    std::vector<Unit>* units) {
  const Training& training = scenario.training;
  const FullRecompute& full = training.full_recompute;
  for (std::int64_t module = 0; module < scenario.predictions(); ++module) {
    const bool spared = training.recompute == Recompute::kFull &&
                        (full.first_layers_only || !full.RunsAgain(0, (*on_stage)++));
    planner->Prediction(module, spared ? Recompute::kNone : training.recompute, units);
  }
}

// What the ends of prediction modules read is complete with the first module's, whose backward
// comes last: the head's matrix with its logits, and a table that this stage has a copy of with its
// look-up. A table of the stage's own embedding is complete with that.
void PlacePredictionEnds(const models::StageParameters& held, std::vector<Unit>* units) {
  const auto first = std::find_if(units->begin(), units->end(),
                                  [](const Unit& unit) { return unit.kind == Unit::Kind::kPredictionEnd; });
  if (first == units->end()) return;
  Unit& look_up = *first;
  Unit& logits = *(first + 2);
  const std::int64_t matrix = held.head.total();
  units->back().parameters -= matrix;
  (held.tied_copy ? look_up : logits).parameters += matrix;
  if (held.table_copy) look_up.parameters += held.embedding.total();
}

// Transformer Engine reduces what its delayed scales are made of once a pass through a
// chunk (Megatron-LM's tp-only-amax-red): three FP32 numbers for each of a layer's linear
// layers.
sim::Bytes ScalesOf(const Scenario& scenario, const StagePlan& plan) {
  constexpr std::int64_t kBytesPerLinear = 3 * 4, kLinears = 4;
  if (scenario.training.matmul.recipe != models::Recipe::kTensorDelayed) return {};
  std::size_t units = 0;
  for (const std::vector<Unit>& chunk : plan.chunks) units = std::max(units, chunk.size());
  return sim::Bytes(kBytesPerLinear * kLinears * static_cast<std::int64_t>(units));
}

// Parameters whose gradient each tensor rank computes from its part of the
// sequence only.
sim::Bytes SequenceGradient(const Scenario& scenario, const StagePlan& plan) {
  if (!scenario.layout.sequence || scenario.layout.tensor == 1) return {};
  return sim::Bytes(plan.held.of_cut_tokens * sim::ByteWidth(scenario.training.gradient_format));
}

}  // namespace

LayerRange LayersOfPiece(const Pipeline& pipeline, std::int64_t piece) {
  LayerRange range;
  for (std::int64_t i = 0; i < piece; ++i)
    range.first += pipeline.layers_of_piece[static_cast<std::size_t>(i)];
  range.last = range.first + pipeline.layers_of_piece[static_cast<std::size_t>(piece)];
  return range;
}

models::StageParameters HeldByStage(const Scenario& scenario, std::uint32_t stage) {
  const Pipeline& pipeline = scenario.pipeline;
  models::StageParameters held;
  for (std::uint32_t chunk = 0; chunk < pipeline.shape.chunks; ++chunk) {
    const LayerRange range = LayersOfPiece(pipeline, pipeline.piece_of(stage, chunk));
    held = held + HeldOf(scenario, {.layers = range.last - range.first, .first_layer = range.first});
  }
  return held + HeldOf(scenario, EndsOf(scenario, stage));
}

std::int64_t SpreadOf(const Scenario& scenario, const models::StageParameters& held) {
  return scenario.layout.spreads_experts() ? held.experts.total() : 0;
}

sim::Bytes ActivationsOf(const Scenario& scenario, const Unit& unit, Recompute recompute) {
  const bool prediction = unit.kind == Unit::Kind::kPrediction;
  const std::int64_t layer = prediction ? scenario.model.layers - 1 : unit.layer;
  const models::Execution execution = ExecutionOf(scenario, layer);
  sim::Bytes kept = models::LayerActivationBytes(scenario.model, execution, layer, recompute);
  if (prediction) kept += models::ActivationBytes(models::JoinBlock(scenario.model, execution), recompute);
  return kept;
}

StagePlan PlanStage(const Scenario& scenario, const hardware::CostModel& cost, std::uint32_t stage) {
  return PlanStage(scenario, cost, stage, StageOrders(scenario.pipeline).Of(stage));
}

StagePlan PlanStage(const Scenario& scenario, const hardware::CostModel& cost, std::uint32_t stage,
                    std::span<const sim::PipelineStep> steps) {
  StagePlan plan;
  Planner planner(scenario, cost, &plan);
  const Pipeline& pipeline = scenario.pipeline;
  const std::size_t last = pipeline.layers_of_piece.size() - 1;
  const models::Stage ends = EndsOf(scenario, stage);
  std::int64_t on_stage = 0;
  for (std::uint32_t chunk = 0; chunk < pipeline.shape.chunks; ++chunk) {
    const std::uint32_t piece = pipeline.piece_of(stage, chunk);
    std::vector<Unit>& units = plan.chunks.emplace_back();
    if (piece == 0) units.push_back(planner.Embedding());
    const LayerRange range = LayersOfPiece(pipeline, piece);
    AddLayers(scenario.training, range, &on_stage, &planner, &units);
    if (piece == last) {
      AddPredictions(scenario, &on_stage, &planner, &units);
      units.push_back(planner.Head(ends.embedding));
      PlacePredictionEnds(planner.Held(ends), &units);
    }
  }
  plan.by_end = ChunksByEnd(steps, pipeline.shape.chunks);
  plan.held = HeldByStage(scenario, stage);
  const bool tied = scenario.model.tied_embedding;
  const std::int64_t table =
      tied || scenario.predictions() > 0 ? planner.Held({.head = true}).head.total() : 0;
  PlaceTiedTable(tied ? table : 0, &plan);
  FillBuckets(scenario, cost, steps, &plan);

  const Training& training = scenario.training;
  plan.spread = SpreadOf(scenario, plan.held);
  const models::Shares shares = SharesOf(scenario), expert_shares = SharesOf(scenario, /*experts=*/true);
  const std::int64_t common = plan.held.total().total() - plan.spread;
  const auto share = [&](std::int64_t ranks, std::int64_t expert_ranks) {
    return (common + ranks - 1) / ranks + (plan.spread + expert_ranks - 1) / expert_ranks;
  };
  plan.host_numbers = HostNumbers(scenario, plan.held.total().total(), plan.spread);
  const std::int64_t cast = PlanShares(scenario, cost, &plan);
  plan.optimizer = plan.optimizer +
                   TimesOf(cost, models::OptimizerKernels(share(shares.gradients, expert_shares.gradients),
                                                          share(shares.optimizer, expert_shares.optimizer),
                                                          training.format, training.gradient_format, cast,
                                                          plan.host_numbers));
  plan.boundary = models::LayerInput(scenario.model, ExecutionOf(scenario));
  if (ends.embedding != ends.head) {
    plan.tied_gradient = sim::Bytes(table * sim::ByteWidth(training.gradient_format));
  }
  plan.sequence_gradient = SequenceGradient(scenario, plan);
  plan.scales = ScalesOf(scenario, plan);
  return plan;
}

}  // namespace scenarios
