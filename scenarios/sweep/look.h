// One point, before it is played and after. Internal to this folder.

#ifndef SCENARIOS_SWEEP_LOOK_H_
#define SCENARIOS_SWEEP_LOOK_H_

#include <functional>
#include <optional>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/sweep/points.h"
#include "scenarios/sweep/row.h"
#include "scenarios/sweep/sweep_job.h"

namespace scenarios {

// What the plans say of a point: milliseconds, whatever a play of it takes.
struct Look {
  Row row;  // final where there is nothing to play
  std::vector<proto::InputFile> files;
  std::optional<Scenario> scenario;  // to play
  double bytes = 0;                  // that the play takes
};

Look LookAt(const SweepJob& job, const Point& point, double memory_limit, bool play_all);

// The row of its play; nothing where go_on said no.
std::optional<Row> PlayLook(const Look& look, double memory_limit, const std::function<bool()>& go_on);

}  // namespace scenarios

#endif  // SCENARIOS_SWEEP_LOOK_H_
