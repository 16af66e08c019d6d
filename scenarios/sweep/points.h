// The points of a sweep: which fields of a scenario take which values.

#ifndef SCENARIOS_SWEEP_POINTS_H_
#define SCENARIOS_SWEEP_POINTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "proto/text_reader.h"
#include "sim/base/result.h"

namespace scenarios {

// A field as --set takes it: "layout.tensor", "model", "hardware.node.nics".
struct PointSetting {
  std::string path, value;
  bool operator==(const PointSetting&) const = default;
};

// In the order in which they are set; no path twice.
using Point = std::vector<PointSetting>;

// Fields that take their values together; mostly one.
struct Axis {
  std::vector<std::string> paths;
  std::vector<std::vector<std::string>> values;  // each as long as `paths`
};

// "layout.tensor=1,2,4,8", or "layout.tensor:layout.sequence=1:false,8:true", whose fields go together.
// Commas and colons between quotes or brackets are part of a value. Fails with what is wrong.
sim::Result<Axis> ParseAxis(const std::string& text);

// A point a line, PATH=VALUE words with blanks between them; "#" begins a comment. Blanks between quotes or
// brackets are part of a value. Tells every line that is none.
std::vector<Point> ReadPoints(const std::string& file, std::string_view text,
                              proto::Diagnostics* diagnostics);

struct PointList {
  std::vector<std::string> paths;  // that any point sets, as they come up
  std::vector<Point> points;       // in the order of the sweep: the last axis changes fastest
};

inline constexpr std::size_t kMostPoints = 1'000'000;

// Every one of `listed` with every combination of the axes; of the axes alone where nothing is listed. Fails
// where a path is on two axes, in a point and on an axis, or twice in one, and beyond kMostPoints.
sim::Result<PointList> PointsOf(const std::vector<Point>& listed, const std::vector<Axis>& axes);

// "layout.tensor=8 layout.pipeline=4".
std::string ToText(const Point& point);

}  // namespace scenarios

#endif  // SCENARIOS_SWEEP_POINTS_H_
