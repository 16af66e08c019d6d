// The fastest layout of a job on so many devices.

#ifndef SCENARIOS_SCALE_BEST_LAYOUT_H_
#define SCENARIOS_SCALE_BEST_LAYOUT_H_

#include <cstdint>
#include <functional>

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "scenarios/verdict/reload.h"
#include "sim/base/result.h"

namespace scenarios {

struct BestPlay {
  Scenario scenario;
  Report report;
  std::int64_t fit = 0, played = 0;  // layouts
  std::int64_t left = 0;             // not played, though their bounds are below the best: kMostPlays
};

inline constexpr std::int64_t kMostPlays = 32;

using PlayOne = std::function<sim::Result<Report>(const Scenario&)>;

// Of tensor, pipeline, virtual and expert groups, micro-batches of 1, 2 and 4 sequences and the scenario's
// own (layout_choice.h lists them), with context, sharding and recomputation as the scenario has them. Those
// that load and fit into memory are played in the order of their closed-form bounds (candidate.h) until no
// bound is below the best play: so it is the best of all of them, unless kMostPlays ended the search. Of
// equals the first.
// Error: none loads, fits or plays, or `stopped`, which is asked for each layout, said so.
sim::Result<BestPlay> BestLayout(const Scenario& scenario, std::int64_t devices, std::int64_t batch,
                                 const Reload& reload, const PlayOne& play,
                                 const std::function<bool()>& stopped);

}  // namespace scenarios

#endif  // SCENARIOS_SCALE_BEST_LAYOUT_H_
