#include "scenarios/turns.h"

#include <algorithm>

namespace scenarios {
namespace {

// Tokens leave for experts, and leave for home.
std::int64_t TurnsEndedBy(const StagePlan& plan, const Unit& unit) {
  return 2 * std::count_if(unit.blocks.begin(), unit.blocks.end(),
                           [&](std::uint32_t block) { return !plan.blocks[block].experts.empty(); });
}

// The same once more, by what selective recomputation runs again.
std::int64_t TurnsEndedAgain(const StagePlan& plan, const Unit& unit) {
  return 2 * std::count_if(unit.blocks.begin(), unit.blocks.end(),
                           [&](std::uint32_t block) { return plan.blocks[block].again.travel; });
}

bool SendsTokens(const StagePlan& plan, std::uint32_t chunk) {
  const std::vector<Unit>& units = plan.chunks[chunk];
  return std::any_of(units.begin(), units.end(),
                     [&](const Unit& unit) { return TurnsEndedBy(plan, unit) > 0; });
}

}  // namespace

bool TakeTurns(const Pipeline& pipeline, const StagePlan& plan, const sim::PipelineStep& forward,
               const sim::PipelineStep& backward) {
  return pipeline.overlaps_experts && (SendsTokens(plan, forward.chunk) || SendsTokens(plan, backward.chunk));
}

std::vector<std::int64_t> ForwardBegins(const StagePlan& plan, std::uint32_t chunk) {
  std::vector<std::int64_t> begins;
  std::int64_t turn = 0;
  for (const Unit& unit : plan.chunks[chunk]) {
    begins.push_back(turn);
    turn += TurnsEndedBy(plan, unit);
  }
  return begins;
}

// A group of layers runs again before the backward of its last one.
std::vector<std::int64_t> BackwardEnds(const StagePlan& plan, std::uint32_t chunk) {
  const std::vector<Unit>& units = plan.chunks[chunk];
  std::vector<std::int64_t> ends(units.size());
  std::int64_t turn = 0;
  for (std::size_t i = units.size(); i-- > 0;) {
    if (units[i].recompute == Recompute::kFull && units[i].ends_group) {
      for (std::int64_t again = 0; again <= units[i].place_in_group; ++again) {
        turn += TurnsEndedBy(plan, units[i - static_cast<std::size_t>(again)]);
      }
    }
    turn += TurnsEndedAgain(plan, units[i]) + TurnsEndedBy(plan, units[i]);
    ends[i] = turn;
  }
  return ends;
}

}  // namespace scenarios
