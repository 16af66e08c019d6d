// A curve that was agreed on, kept in a file, and what became of it.
//
// Simulated points are the same to the last picosecond as long as nothing changes, so any difference is a
// change: of an input, which is named, or of Orrery. Measured points are never the same twice: two of one
// law differ by its spread times the square root of two, and only what is beyond kConfidence of that is
// drift.

#ifndef SCENARIOS_SCALE_BASELINE_H_
#define SCENARIOS_SCALE_BASELINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scale/inputs.h"
#include "scenarios/scale/scale_report.h"

namespace scenarios {

struct BaselinePoint {
  std::string curve;  // its name
  std::int64_t devices = 1;
  double value = 0;  // of the curve's quantity
  // Of simulated ones:
  std::int64_t step_ps = 0, batch = 0;
  std::string layout, digest;
  std::vector<TimePart> causes;  // add up to step_ps
};

struct BaselineFit {
  std::string curve;
  Law law = Law::kAmdahl;
  bool preferred = false;
  std::size_t degrees = 1;
  double spread = 0;
  std::vector<Parameter> parameters;
};

struct Baseline {
  std::string subject, version;  // version of Orrery that made it
  bool measured = false;
  Scaling scaling = Scaling::kStrong;
  LayoutRule layouts = LayoutRule::kFixed;
  Quantity quantity = Quantity::kStepTime;
  std::vector<BaselinePoint> points;
  std::vector<BaselineFit> fits;
  std::vector<InputValue> inputs;  // that all simulated points have in common; by key
};

Baseline BaselineOf(const ScaleReport& report, const std::string& version);

// JSON with a line a point, a fit and an input, so that two of them can be compared line by line.
std::string BaselineJson(const Baseline& baseline);
// Error: where the text is no such document, and what is wrong with it.
sim::Result<Baseline> ReadBaseline(std::string_view text);

struct PointChange {
  std::string curve;
  std::int64_t devices = 1;
  double before = 0, after = 0;                        // of the quantity; 0 where one has no such point
  double allowed = 0;                                  // part of `before` that may be noise or was tolerated
  bool moved = false;                                  // by more than that
  std::string layout_before, layout_after;             // where they differ
  std::vector<std::pair<std::string, double>> causes;  // part of the breakdown: seconds more; largest first
};

struct ParameterChange {
  std::string curve;
  Law law = Law::kAmdahl;
  std::string name, unit;
  double before = 0, after = 0;
  bool moved = false;  // beyond what both intervals together allow, or the tolerance
};

struct BaselineComparison {
  std::vector<PointChange> points;          // that differ at all
  std::vector<ParameterChange> parameters;  // likewise
  std::vector<InputChange> inputs;
  std::size_t compared = 0;  // points
  std::string version_before, version_after;
  bool measured = false;
  bool holds() const;  // nothing moved
};

// `tolerance` is the part by which a value may differ besides. Error: the baseline is of another kind of
// curve.
sim::Result<BaselineComparison> Compare(const Baseline& before, const Baseline& after, double tolerance);

}  // namespace scenarios

#endif  // SCENARIOS_SCALE_BASELINE_H_
