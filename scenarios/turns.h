// Turns of a joined pair: which pairs take them, and how many (rank_tape.h puts them on the streams).

#ifndef SCENARIOS_TURNS_H_
#define SCENARIOS_TURNS_H_

#include <cstdint>
#include <vector>

#include "scenarios/pipeline.h"
#include "scenarios/stage_plan.h"

namespace scenarios {

// Whether a joined forward and the backward behind it take turns: tokens of one of them travel.
// REQUIRES: `forward` is joined to `backward`
bool TakeTurns(const Pipeline& pipeline, const StagePlan& plan, const sim::PipelineStep& forward,
               const sim::PipelineStep& backward);

// In which turn of a micro-batch, from 0 on, each unit of a chunk begins its forward, and ends its backward;
// by unit in forward order. What runs again has turns of its own.
std::vector<std::int64_t> ForwardBegins(const StagePlan& plan, std::uint32_t chunk);
std::vector<std::int64_t> BackwardEnds(const StagePlan& plan, std::uint32_t chunk);

}  // namespace scenarios

#endif  // SCENARIOS_TURNS_H_
