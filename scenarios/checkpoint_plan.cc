#include "scenarios/checkpoint_plan.h"

#include <algorithm>
#include <map>

#include "models/parameters.h"
#include "scenarios/sharding.h"
#include "scenarios/stage_plan.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

// Part `i` of `n` things in `parts` near-equal parts.
std::int64_t Part(std::int64_t n, std::int64_t parts, std::int64_t i) {
  const auto until = [&](std::int64_t k) { return static_cast<std::int64_t>(sim::Wide{n} * k / parts); };
  return until(i + 1) - until(i);
}

// Distinct parameters of one piece of the model: a tensor group of one holds
// nothing twice, and its divisor times the group's size pads to the same rows.
struct Distinct {
  std::int64_t common = 0;
  std::int64_t spread = 0;  // routed experts with a layout of their own
};
Distinct ParametersOfPiece(const Scenario& scenario, std::int64_t piece) {
  const auto pieces = static_cast<std::int64_t>(scenario.pipeline.layers_of_piece.size());
  const LayerRange range = LayersOfPiece(scenario.pipeline, piece);
  const models::Stage held{.layers = range.last - range.first,
                           .embedding = piece == 0,
                           .head = piece == pieces - 1,
                           .first_layer = range.first,
                           .predictions = piece == pieces - 1 ? scenario.predictions() : 0};
  const models::StageParameters parameters = models::ParametersOfRank(
      scenario.model, held, {1, scenario.training.vocabulary_divisor * scenario.layout.tensor});
  const std::int64_t again = (parameters.tied_copy ? parameters.head.total() : 0) +
                             (parameters.table_copy ? parameters.embedding.total() : 0);
  const std::int64_t spread = scenario.layout.spreads_experts() ? parameters.experts.total() : 0;
  return {parameters.total().total() - again - spread, spread};
}

// By pipeline stage.
std::vector<Distinct> ParametersOfStages(const Scenario& scenario) {
  const Pipeline& pipeline = scenario.pipeline;
  std::vector<Distinct> of_piece;
  for (std::size_t piece = 0; piece < pipeline.layers_of_piece.size(); ++piece) {
    of_piece.push_back(ParametersOfPiece(scenario, static_cast<std::int64_t>(piece)));
  }
  std::vector<Distinct> sums(pipeline.shape.stages);
  for (std::uint32_t stage = 0; stage < pipeline.shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < pipeline.shape.chunks; ++chunk) {
      sums[stage].common += of_piece[pipeline.piece_of(stage, chunk)].common;
      sums[stage].spread += of_piece[pipeline.piece_of(stage, chunk)].spread;
    }
  }
  return sums;
}

// Bytes a parameter by who holds them under the scenario's optimizer sharding.
struct Widths {
  std::int64_t owned = 0;   // each number by one data rank
  std::int64_t shared = 0;  // by all data ranks alike
};

Widths WidthsOf(const Scenario& scenario) {
  const Checkpoint& save = *scenario.checkpoint;
  const Sharing sharing = SharingOf(scenario);
  const std::int64_t width = sim::ByteWidth(scenario.training.format);
  const std::int64_t state = (save.master_weights && width < 4 ? 4 : 0) + (save.moments ? 8 : 0);
  const std::int64_t weight = save.weights ? width : 0;
  // Copies of a sharded model (HSDP) share their saves out among them.
  const std::int64_t owned = (sharing.optimizer ? state : 0) + (sharing.weights ? weight : 0);
  return {.owned = owned, .shared = weight + state - owned};
}

// What a rank writes of `numbers` parameters that its data group of `copies` ranks holds.
std::int64_t BytesOfRank(const Checkpoint& save, Widths widths, std::int64_t numbers, std::int64_t copies,
                         std::int64_t index) {
  if (save.format == SaveFormat::kConsolidated) {
    return index == 0 ? numbers * (widths.owned + widths.shared) : 0;
  }
  const std::int64_t part = Part(numbers, copies, index);
  const std::int64_t shared = save.replicas_spread ? part : index == 0 ? numbers : 0;
  return part * widths.owned + shared * widths.shared;
}

// The rank's place among `ranks` of its stage that hold what it holds, and among those
// of the stage that holds the same pieces, if there is one.
struct Replica {
  std::int64_t index = 0, copies = 1;
};
Replica ReplicaOf(const Scenario& scenario, sim::Rank rank, std::int64_t index, std::int64_t ranks) {
  const std::int64_t stage = scenario.layout.Coordinate(rank, Dimension::kPipeline);
  const std::int64_t copies = scenario.pipeline.copies();
  const bool upper = copies > 1 && stage >= scenario.layout.pipeline / 2;
  return {index + (upper ? ranks : 0), ranks * copies};
}

// The same of routed experts that are spread: one part for each of expert x expert_tensor
// ranks, which the ranks of expert data hold alike.
std::int64_t ExpertBytesOfRank(const Scenario& scenario, Widths widths, std::int64_t spread, sim::Rank rank) {
  if (spread == 0) return 0;
  const Layout& layout = scenario.layout;
  const std::int64_t model = layout.expert * layout.expert_tensor, column = layout.ColumnOf(rank);
  const auto [index, copies] = ReplicaOf(scenario, rank, column / model, layout.expert_data());
  return BytesOfRank(*scenario.checkpoint, widths, Part(spread, model, column % model), copies, index);
}

// What it reads back of a whole save: under ZeRO its own part of the state, and of the weights, which
// the ranks that share a copy gather before they compute. Without, no step gathers anything: all that
// it holds.
std::int64_t ReadByRank(const Sharing& sharing, Widths widths, std::int64_t numbers, std::int64_t index) {
  const std::int64_t ranks = sharing.optimizer ? sharing.ranks : 1;
  return Part(numbers, ranks, index % ranks) * (widths.owned + widths.shared);
}

// The same of routed experts that are spread.
std::int64_t ExpertReadByRank(const Scenario& scenario, Widths widths, std::int64_t spread, sim::Rank rank) {
  if (spread == 0) return 0;
  const Layout& layout = scenario.layout;
  const std::int64_t model = layout.expert * layout.expert_tensor, column = layout.ColumnOf(rank);
  return ReadByRank(SharingOf(scenario, /*experts=*/true), widths, Part(spread, model, column % model),
                    ReplicaOf(scenario, rank, column / model, layout.expert_data()).index);
}

sim::Bytes DeltaOf(const Checkpoint& save, std::int64_t whole) {
  if (save.format != SaveFormat::kDelta) return sim::Bytes(whole);
  return sim::Bytes(
      static_cast<std::int64_t>((sim::Wide{whole} * save.delta_parts + kBillion - 1) / kBillion));
}

void CountNodes(const Scenario& scenario, CheckpointPlan* plan) {
  std::map<std::uint32_t, sim::Bytes> node_bytes;
  for (std::size_t rank = 0; rank < plan->rank_bytes.size(); ++rank) {
    node_bytes[scenario.fabric.domain[rank]] += plan->rank_bytes[rank];
  }
  for (const auto& [node, bytes] : node_bytes) plan->largest_node = std::max(plan->largest_node, bytes);
  const sim::Bytes given = scenario.checkpoint->staging_per_node;
  plan->staging_per_node = given > sim::Bytes() ? given : plan->largest_node;
  for (std::size_t rank = 0; rank < plan->rank_bytes.size(); ++rank) {
    const sim::Bytes save = node_bytes[scenario.fabric.domain[rank]];
    const bool empty = save == sim::Bytes();
    plan->slots.push_back(empty ? 1
                                : std::max<std::int64_t>(plan->staging_per_node.count() / save.count(), 1));
  }
}

}  // namespace

CheckpointPlan PlanCheckpoint(const Scenario& scenario) {
  CHECK(scenario.checkpoint.has_value());
  const Checkpoint& save = *scenario.checkpoint;
  const Layout& layout = scenario.layout;
  const Widths widths = WidthsOf(scenario);
  const std::vector<Distinct> stages = ParametersOfStages(scenario);
  CheckpointPlan plan{.bytes_per_parameter = widths.owned + widths.shared};
  for (std::int64_t r = 0; r < layout.ranks(); ++r) {
    const sim::Rank rank(static_cast<std::uint32_t>(r));
    const std::int64_t stage = layout.Coordinate(rank, Dimension::kPipeline);
    const auto [common, spread] = stages[static_cast<std::size_t>(stage)];
    const std::int64_t numbers = Part(common, layout.tensor, layout.Coordinate(rank, Dimension::kTensor));
    const auto [index, copies] = ReplicaOf(scenario, rank, layout.CopyOf(rank), layout.copies());
    const std::int64_t whole =
        BytesOfRank(save, widths, numbers, copies, index) + ExpertBytesOfRank(scenario, widths, spread, rank);
    const bool delta = save.format == SaveFormat::kDelta;
    plan.rank_bytes.push_back(DeltaOf(save, whole));
    const std::int64_t read = ReadByRank(SharingOf(scenario), widths, numbers, index) +
                              ExpertReadByRank(scenario, widths, spread, rank);
    plan.restart_read.push_back(DeltaOf(save, read) + sim::Bytes(delta ? read : 0));
    const bool gathers = save.format == SaveFormat::kConsolidated && copies > 1;
    plan.gathered.emplace_back(gathers ? numbers * widths.owned : 0);
    plan.total += plan.rank_bytes.back();
    plan.largest_rank = std::max(plan.largest_rank, plan.rank_bytes.back());
  }
  CountNodes(scenario, &plan);
  return plan;
}

}  // namespace scenarios
