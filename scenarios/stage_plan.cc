#include "scenarios/stage_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "models/memory.h"
#include "models/optimizer.h"
#include "models/transformer.h"
#include "scenarios/sharding.h"

namespace scenarios {
namespace {

sim::WorkTimes TimesOf(const hardware::CostModel& cost, const std::vector<sim::Kernel>& kernels) {
  sim::WorkTimes sum;
  for (const sim::Kernel& kernel : kernels) {
    const hardware::KernelTimes times = cost.TimeOf(kernel);
    sum.alone += times.alone;
    sum.beside_communication += times.beside_communication;
  }
  return sum;
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
          .selective_recompute = TimesOf(cost, block.selective_recompute),
          .gather_forward = block.gather_forward,
          .reduce_forward = block.reduce_forward,
          .gather_backward = block.gather_backward,
          .reduce_backward = block.reduce_backward,
          .gather_again = block.gather_again,
          .small_reduces = block.small_reduces,
          .small_reduce = block.small_reduce,
          .activations = models::ActivationBytes(block, recompute)};
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
    const auto kind = std::pair(models::KindOf(scenario_.model, layer), recompute);
    auto at = layers_.find(kind);
    if (at == layers_.end()) {
      Unit unit{.blocks = {Add(models::AttentionBlock(scenario_.model, execution_, layer), recompute),
                           Add(models::MlpBlock(scenario_.model, execution_, layer), recompute)},
                .parameters = Held({.layers = 1, .first_layer = layer}).total().total()};
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

  models::StageParameters Held(const models::Stage& stage) const {
    return models::ParametersOfRank(scenario_.model, stage,
                                    {scenario_.layout.tensor, scenario_.training.vocabulary_divisor});
  }

 private:
  // Embedding and head are never recomputed.
  std::uint32_t Add(const models::Block& block, Recompute recompute = Recompute::kNone) {
    plan_->blocks.push_back(PlanBlock(cost_, block, recompute));
    return static_cast<std::uint32_t>(plan_->blocks.size() - 1);
  }

  const Scenario& scenario_;
  const models::Execution execution_;
  const hardware::CostModel& cost_;
  StagePlan* plan_;
  std::map<std::pair<models::LayerKind, Recompute>, Unit> layers_;  // one of each kind
};

// The layers of one piece, and what is computed again of them.
// Source: Megatron-LM core 0.8, transformer_block.py, _checkpointed_forward.
void AddLayers(const Training& training, LayerRange range, Planner* planner, std::vector<Unit>* units) {
  const FullRecompute& full = training.full_recompute;
  for (std::int64_t layer = range.first; layer < range.last; ++layer) {
    const std::int64_t at = layer - range.first;
    const bool spared = training.recompute == Recompute::kFull && full.first_layers_only && at >= full.layers;
    Unit unit = planner->Layer(layer, spared ? Recompute::kNone : training.recompute);
    const std::int64_t group = full.first_layers_only ? 1 : full.layers;
    unit.place_in_group = at % group;
    unit.ends_group = unit.place_in_group == group - 1 || layer == range.last - 1;
    units->push_back(std::move(unit));
  }
}

// Gradients become ready from the last chunk's last unit to the first chunk's
// first; a bucket closes when it has reached the scenario's size. Where weights are
// cut, each unit is a bucket: what is gathered at once.
void FillBuckets(const Scenario& scenario, StagePlan* plan) {
  const std::int64_t width = sim::ByteWidth(scenario.training.gradient_format);
  const bool by_unit = SharingOf(scenario).weights;
  Unit* previous = nullptr;
  for (auto chunk = plan->chunks.rbegin(); chunk != plan->chunks.rend(); ++chunk) {
    for (auto unit = chunk->rbegin(); unit != chunk->rend(); ++unit) {
      const bool full = !plan->buckets.empty() && (by_unit || plan->buckets.back().parameters * width >=
                                                                  scenario.training.bucket.count());
      if (plan->buckets.empty() || full) {
        if (previous != nullptr) previous->closes_bucket = true;
        plan->buckets.emplace_back();
      }
      plan->buckets.back().parameters += unit->parameters;
      unit->bucket = static_cast<std::uint32_t>(plan->buckets.size() - 1);
      previous = &*unit;
    }
  }
  if (previous != nullptr) previous->closes_bucket = true;
  if (by_unit) return;
  for (Bucket& bucket : plan->buckets) {
    const std::int64_t most = std::max<std::int64_t>(1, bucket.parameters);
    bucket.parts =
        std::clamp<std::int64_t>(bucket.parameters * width / scenario.training.bucket.count(), 1, most);
  }
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

StagePlan PlanStage(const Scenario& scenario, const hardware::CostModel& cost, std::uint32_t stage) {
  StagePlan plan;
  Planner planner(scenario, cost, &plan);
  const std::int64_t stages = scenario.layout.pipeline;
  const std::int64_t pieces = stages * scenario.layout.virtual_stages;
  models::StageParameters layers;
  models::Stage ends;
  for (std::int64_t piece = stage; piece < pieces; piece += stages) {
    std::vector<Unit>& units = plan.chunks.emplace_back();
    if (piece == 0) units.push_back(planner.Embedding());
    const LayerRange range = LayersOfPiece(scenario.pipeline, piece);
    AddLayers(scenario.training, range, &planner, &units);
    if (piece == pieces - 1) units.push_back(planner.Head(stages == 1));
    layers = layers + planner.Held({.layers = range.last - range.first, .first_layer = range.first});
    ends.embedding = ends.embedding || piece == 0;
    ends.head = ends.head || piece == pieces - 1;
  }
  plan.held = layers + planner.Held(ends);
  FillBuckets(scenario, &plan);

  const Training& training = scenario.training;
  const std::int64_t parameters = plan.held.total().total();
  const models::Shares shares = SharesOf(scenario);
  const auto share = [&](std::int64_t ranks) { return (parameters + ranks - 1) / ranks; };
  plan.optimizer = TimesOf(cost, models::OptimizerKernels(share(shares.gradients), share(shares.optimizer),
                                                          training.format, training.gradient_format));
  plan.boundary = models::LayerInput(scenario.model, ExecutionOf(scenario));
  if (stages > 1 && scenario.model.tied_embedding && (ends.embedding || ends.head)) {
    const models::Held table = planner.Held({.head = true}).head;
    plan.tied_gradient = sim::Bytes(table.total() * sim::ByteWidth(training.gradient_format));
  }
  plan.sequence_gradient = SequenceGradient(scenario, plan);
  return plan;
}

}  // namespace scenarios
