#include "scenarios/pipeline.h"

#include <algorithm>
#include <utility>

namespace scenarios {
namespace {

using Kind = sim::PipelineStep::Kind;

// A micro-batch that passes the chunk.
std::uint32_t SomeMicroBatch(const Pipeline& pipeline, std::uint32_t chunk) {
  return chunk == 0 ? 0 : pipeline.shape.microbatches - 1;
}

template <class Wanted>
bool HasStep(const sim::PipelineOrder& order, Wanted wanted) {
  return std::any_of(order.stages.begin(), order.stages.end(),
                     [&](const auto& steps) { return std::any_of(steps.begin(), steps.end(), wanted); });
}

}  // namespace

std::string Pipeline::name() const {
  if (schedule == nullptr) return "order of " + order_file;
  return (shape.joined ? "joined " : "") + std::string(schedule->name);
}

sim::Placement Pipeline::placement() const {
  if (order != nullptr) return order->placement;
  return schedule != nullptr ? schedule->placement : sim::Placement::kLoop;
}

bool Pipeline::splits_backward() const {
  if (order == nullptr) return schedule != nullptr && schedule->splits_backward;
  return HasStep(*order, [](const sim::PipelineStep& step) { return step.kind == Kind::kBackwardInput; });
}

bool Pipeline::joins() const {
  if (order == nullptr) return schedule != nullptr && schedule->joins;
  return HasStep(*order, [](const sim::PipelineStep& step) { return step.joined; });
}

std::uint32_t Pipeline::InFlight(std::uint32_t stage) const {
  if (schedule != nullptr) return schedule->in_flight(shape, stage);
  return MostInFlight(order->stages[stage], sim::HeldUntil::kBackwardWeight);
}

StageOrders::StageOrders(const Pipeline& pipeline) : pipeline_(pipeline) {
  if (pipeline.schedule != nullptr && pipeline.schedule->orders != nullptr) {
    all_ = pipeline.schedule->orders(pipeline.shape);
  }
}

std::vector<sim::PipelineStep> StageOrders::Of(std::uint32_t stage) const {
  if (pipeline_.schedule == nullptr) return pipeline_.order->stages[stage];
  return all_.empty() ? pipeline_.schedule->order(pipeline_.shape, stage) : all_[stage];
}

sim::PipelineOrder OrderOf(const Pipeline& pipeline) {
  return pipeline.schedule != nullptr ? OrderOf(*pipeline.schedule, pipeline.shape) : *pipeline.order;
}

std::vector<std::uint32_t> ChunksByEnd(std::span<const sim::PipelineStep> steps, std::uint32_t chunks) {
  std::vector<std::uint32_t> by_end;
  std::vector<bool> ended(chunks, false);
  for (auto step = steps.rbegin(); step != steps.rend() && by_end.size() < chunks; ++step) {
    if (step->kind != Kind::kBackward && step->kind != Kind::kBackwardWeight) continue;
    if (!ended[step->chunk]) by_end.push_back(step->chunk);
    ended[step->chunk] = true;
  }
  std::reverse(by_end.begin(), by_end.end());
  return by_end;
}

std::optional<std::uint32_t> StageBefore(const Pipeline& pipeline, std::uint32_t stage, std::uint32_t chunk) {
  const std::uint32_t piece = pipeline.piece_of(stage, chunk);
  if (piece == 0) return std::nullopt;
  return SeatOf(pipeline.placement(), pipeline.shape, piece - 1, SomeMicroBatch(pipeline, chunk)).stage;
}

std::optional<std::uint32_t> StageBehind(const Pipeline& pipeline, std::uint32_t stage, std::uint32_t chunk) {
  const std::uint32_t piece = pipeline.piece_of(stage, chunk);
  if (piece + 1 == PieceCount(pipeline.placement(), pipeline.shape)) return std::nullopt;
  return SeatOf(pipeline.placement(), pipeline.shape, piece + 1, SomeMicroBatch(pipeline, chunk)).stage;
}

std::vector<sim::Rank> WithCopies(const Pipeline& pipeline, const Layout& layout,
                                  std::vector<sim::Rank> ranks) {
  if (pipeline.copies() == 1) return ranks;
  const std::int64_t stage = layout.Coordinate(ranks.front(), Dimension::kPipeline);
  const std::int64_t mirror = layout.pipeline - 1 - stage;
  std::vector<sim::Rank> copies;
  for (const sim::Rank rank : ranks) {
    copies.push_back(layout.Group(rank, Dimension::kPipeline)[static_cast<std::size_t>(mirror)]);
  }
  if (mirror < stage) std::swap(ranks, copies);
  ranks.insert(ranks.end(), copies.begin(), copies.end());
  return ranks;
}

}  // namespace scenarios
