#include "scenarios/scale/scale_report.h"

#include <algorithm>
#include <utility>

namespace scenarios {

const Fit* CurveReport::FitOf(Law law) const {
  for (const LawFit& one : fits) {
    if (one.law == law && one.fit.ok()) return &one.fit.value();
  }
  return nullptr;
}

CurveReport ReportOn(Curve curve, const std::vector<std::int64_t>& extrapolate) {
  CurveReport report{.curve = std::move(curve), .fits = {}};
  report.fits = FitLaws(report.curve);
  report.preferred = PreferredLaw(report.fits);
  for (const std::int64_t devices : extrapolate) {
    for (const LawFit& one : report.fits) {
      if (one.fit.ok()) report.extrapolated.push_back({one.law, devices, Predict(one.fit.value(), devices)});
    }
  }
  return report;
}

double EfficiencyAt(const Curve& curve, const CurvePoint& point) {
  const auto first =
      std::min_element(curve.points.begin(), curve.points.end(),
                       [](const CurvePoint& a, const CurvePoint& b) { return a.devices < b.devices; });
  const auto per_device = [&](const CurvePoint& p) {
    return RateOf(curve, p) / static_cast<double>(p.devices);
  };
  return per_device(point) / per_device(*first);
}

}  // namespace scenarios
