// What `orrery scale` prints: curves with the laws that were fitted to them.

#ifndef SCENARIOS_SCALE_SCALE_REPORT_H_
#define SCENARIOS_SCALE_SCALE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scale/fits.h"
#include "scenarios/scale/scale_run.h"

namespace scenarios {

struct Extrapolated {
  Law law;
  std::int64_t devices;
  sim::Result<Prediction> prediction;
};

struct CurveReport {
  Curve curve;
  std::vector<LawFit> fits;
  std::optional<Law> preferred;  // by AICc
  std::vector<Extrapolated> extrapolated;

  const Fit* FitOf(Law law) const;  // null where there is none
};

// `extrapolate`: numbers of devices, each by every law that was fitted.
CurveReport ReportOn(Curve curve, const std::vector<std::int64_t>& extrapolate);

// The work of a device in a second at a point over that at the first point of the fewest devices.
double EfficiencyAt(const Curve& curve, const CurvePoint& point);

struct ScaleReport {
  std::string subject;  // the scenario's name, or the file of points
  std::string about;    // "llama_7b on h800_sxm, rail_optimised_ndr"; empty for points
  Scaling scaling = Scaling::kStrong;
  std::optional<LayoutRule> layouts;  // none: measured
  std::vector<ScaleRow> rows;         // simulated
  std::vector<CurveReport> curves;    // one where simulated; may be none, where no row could be
};

}  // namespace scenarios

#endif  // SCENARIOS_SCALE_SCALE_REPORT_H_
