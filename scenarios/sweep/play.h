// Playing points: the scenarios that they make, side by side, to a row each.
//
//   const auto job = ReadSweepJob("llama_70b_64xh800_a", sets, &diagnostics);
//   const auto list = PointsOf({}, {ParseAxis("devices=64,128,256").value()});
//   std::vector<std::optional<Row>> rows(list.value().points.size());
//   PlayPoints(*job, list.value().points, {.jobs = 2}, &rows);
//
// Rows do not depend on how many are played at a time, nor on which were known before.

#ifndef SCENARIOS_SWEEP_PLAY_H_
#define SCENARIOS_SWEEP_PLAY_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "scenarios/sweep/points.h"
#include "scenarios/sweep/ranking.h"
#include "scenarios/sweep/row.h"
#include "scenarios/sweep/sweep_job.h"

namespace scenarios {

// A row that came out, and the files that were read for it.
struct PointResult {
  std::size_t point = 0;  // its place in the list
  Row row;
  std::vector<proto::InputFile> files;
};

struct PlayPointsOptions {
  int jobs = 1;  // points at a time, a thread each
  // Bytes of all runs together. A point that takes more by itself is kTooLarge; others wait for room.
  double memory_limit = 64e9;
  bool play_all = false;  // play also what does not fit into the memory of its devices
  // Asked now and then, from any thread; false ends the sweep soon, with what is done by then.
  std::function<bool()> go_on = {};
  // Told of each new row, one at a time, in the order in which they end; `of_play` is false for rows that
  // follow from others at once: what PlayBest skips. False ends the sweep.
  std::function<bool(const PointResult&, bool of_play)> on_row = {};
};

// Fills what is nothing in `rows`, one for each point; what is there stays. Returns whether all are filled:
// false where go_on or on_row said no.
bool PlayPoints(const SweepJob& job, const std::vector<Point>& points, const PlayPointsOptions& options,
                std::vector<std::optional<Row>>* rows);

// The same for who wants the best. All points are looked at first; those that could be played are so in the
// order of their lower bounds, and what cannot be among the `wanted` any more is skipped. Whether a point is
// skipped depends on those that are kSkipWindow and more before it in that order, never on what happens to
// be done: the same are skipped whatever `jobs` is, and after an interruption.
inline constexpr std::size_t kSkipWindow = 32;
bool PlayBest(const SweepJob& job, const std::vector<Point>& points, const Wanted& wanted,
              const PlayPointsOptions& options, std::vector<std::optional<Row>>* rows);

}  // namespace scenarios

#endif  // SCENARIOS_SWEEP_PLAY_H_
