// The scenario that a sweep is about, and the one that a point makes of it.

#ifndef SCENARIOS_SWEEP_SWEEP_JOB_H_
#define SCENARIOS_SWEEP_SWEEP_JOB_H_

#include <optional>
#include <string>
#include <vector>

#include "proto/text_reader.h"
#include "scenarios/scenario.h"
#include "scenarios/sweep/points.h"
#include "sim/base/result.h"

namespace scenarios {

struct SweepJob {
  std::string name;  // of the catalogue, or of the file that `text` is of
  std::optional<std::string> text;
  std::vector<proto::Override> sets;  // of all points, beneath the points' own
};

// `name_or_path` as LoadScenario takes it, but for "-". A file is read once, for all points.
std::optional<SweepJob> ReadSweepJob(const std::string& name_or_path,
                                     const std::vector<proto::Override>& sets,
                                     proto::Diagnostics* diagnostics);

struct LoadedPoint {
  std::optional<Scenario> scenario;
  std::string refused;                  // what the loader says first against it, where there is none
  std::vector<proto::InputFile> files;  // that were read: the model's, the device's, ...
};

LoadedPoint Load(const SweepJob& job, const Point& point);

// Tells what no scenario has: unknown fields, values of another kind than theirs, fields that are both set
// and swept. What a scenario could have but this one must not is for Load to say, point by point.
void CheckFields(const SweepJob& job, const PointList& list, proto::Diagnostics* diagnostics);

}  // namespace scenarios

#endif  // SCENARIOS_SWEEP_SWEEP_JOB_H_
