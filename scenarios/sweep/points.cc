#include "scenarios/sweep/points.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace scenarios {
namespace {

// Where the next `sign` is that stands between no quotes and brackets; the end where there is none.
std::size_t FindOutside(std::string_view text, std::string_view signs, std::size_t from) {
  char quote = '\0';
  int depth = 0;
  for (std::size_t at = from; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != '\0') {
      if (c == '\\') ++at;
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (depth <= 0 && signs.find(c) != std::string_view::npos) {
      return at;
    }
  }
  return text.size();
}

// At least one part, also of nothing.
std::vector<std::string> Split(std::string_view text, std::string_view signs) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = FindOutside(text, signs, at);
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// A path that is there twice.
std::optional<std::string> Repeated(std::vector<std::string> paths) {
  std::sort(paths.begin(), paths.end());
  const auto twice = std::adjacent_find(paths.begin(), paths.end());
  if (twice == paths.end()) return std::nullopt;
  return *twice;
}

void AddNew(const std::string& path, std::vector<std::string>* paths) {
  if (std::find(paths->begin(), paths->end(), path) == paths->end()) paths->push_back(path);
}

// What is wrong with a line of points, or nothing, and the point.
std::string ReadLine(std::string_view line, Point* point) {
  std::vector<std::string> paths;
  for (const std::string& word : Split(line, " \t\r")) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return "\"" + word + "\" is not PATH=VALUE; words like layout.tensor=8 are wanted";
    }
    point->push_back({word.substr(0, equals), word.substr(equals + 1)});
    paths.push_back(point->back().path);
  }
  const auto twice = Repeated(paths);
  return twice ? *twice + " is set twice; once is wanted" : "";
}

// `points` with each value of an axis, which changes fastest.
std::vector<Point> Times(const std::vector<Point>& points, const Axis& axis) {
  std::vector<Point> all;
  all.reserve(points.size() * axis.values.size());
  for (const Point& point : points) {
    for (const std::vector<std::string>& values : axis.values) {
      all.push_back(point);
      for (std::size_t i = 0; i < values.size(); ++i) all.back().push_back({axis.paths[i], values[i]});
    }
  }
  return all;
}

}  // namespace

sim::Result<Axis> ParseAxis(const std::string& text) {
  const auto wrong = [&](const std::string& what) { return sim::Error{"--over " + text + ": " + what}; };
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return wrong("PATH=VALUE,VALUE,... is wanted, as layout.tensor=1,2,4,8");
  }
  Axis axis;
  axis.paths = Split(text.substr(0, equals), ":");
  if (std::any_of(axis.paths.begin(), axis.paths.end(), [](const auto& path) { return path.empty(); })) {
    return wrong("a path is empty");
  }
  if (const auto twice = Repeated(axis.paths)) return wrong(*twice + " is there twice");
  for (const std::string& value : Split(std::string_view(text).substr(equals + 1), ",")) {
    axis.values.push_back(axis.paths.size() == 1 ? std::vector{value} : Split(value, ":"));
    if (axis.values.back().size() != axis.paths.size()) {
      return wrong("\"" + value + "\" is not a value for each of the " + std::to_string(axis.paths.size()) +
                   " fields; so many, with colons between them, are wanted");
    }
    for (const std::string& one : axis.values.back()) {
      if (one.empty()) return wrong("a value is empty; \"\" is an empty text");
    }
  }
  return axis;
}

std::vector<Point> ReadPoints(const std::string& file, std::string_view text,
                              proto::Diagnostics* diagnostics) {
  std::vector<Point> points;
  const std::size_t before = diagnostics->errors().size();
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    line = line.substr(0, FindOutside(line, "#", 0));
    Point point;
    const std::string wrong = ReadLine(line, &point);
    if (!wrong.empty()) diagnostics->Error(file + ":" + std::to_string(number), wrong);
    if (!point.empty()) points.push_back(std::move(point));
  }
  if (points.empty() && diagnostics->errors().size() == before) {
    diagnostics->Error(file, "there is no point; a line of PATH=VALUE words each is wanted");
  }
  return points;
}

sim::Result<PointList> PointsOf(const std::vector<Point>& listed, const std::vector<Axis>& axes) {
  PointList list;
  for (const Point& point : listed) {
    for (const PointSetting& setting : point) AddNew(setting.path, &list.paths);
  }
  std::size_t points = std::max<std::size_t>(listed.size(), 1);
  std::vector<std::string> paths = list.paths;
  for (const Axis& axis : axes) {
    paths.insert(paths.end(), axis.paths.begin(), axis.paths.end());
    points *= axis.values.size();
    if (points > kMostPoints) {
      return sim::Error{"more than " + std::to_string(kMostPoints) + " points; fewer are wanted"};
    }
  }
  if (const auto twice = Repeated(paths)) {
    return sim::Error{*twice + " is swept twice; an axis or the listed points are wanted"};
  }
  list.paths = std::move(paths);
  list.points = listed.empty() ? std::vector<Point>(1) : listed;
  for (const Axis& axis : axes) list.points = Times(list.points, axis);
  return list;
}

std::string ToText(const Point& point) {
  std::string text;
  for (const PointSetting& setting : point) {
    text += (text.empty() ? "" : " ") + setting.path + '=' + setting.value;
  }
  return text;
}

}  // namespace scenarios
