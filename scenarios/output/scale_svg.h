// Scaling curves as an SVG picture: a panel a curve, points, fitted laws, and the band that holds new points.

#ifndef SCENARIOS_OUTPUT_SCALE_SVG_H_
#define SCENARIOS_OUTPUT_SCALE_SVG_H_

#include <string>
#include <vector>

#include "scenarios/scale/scale_report.h"

namespace scenarios {

// Devices to the right, in the logarithm, up to the largest number that is extrapolated to; upwards MFU where
// that is known, else efficiency against the smallest. The band is that of the preferred law, else of
// per_decade. Text, without scripts or fonts of its own; the same curves give the same text.
std::string ScaleSvg(const std::vector<CurveReport>& curves, const std::string& title);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_SCALE_SVG_H_
