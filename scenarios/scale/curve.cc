#include "scenarios/scale/curve.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "scenarios/published/csv.h"

namespace scenarios {
namespace {

constexpr Quantity kQuantities[] = {Quantity::kStepTime, Quantity::kTokenRate, Quantity::kMfu};
constexpr std::int64_t kMostDevices = 1'000'000'000;

// The whole text as a number.
template <class T>
std::optional<T> NumberOf(const std::string& text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Columns of a table, once there are those that are needed.
struct Columns {
  std::size_t devices = 0, value = 0;
  Quantity quantity = Quantity::kStepTime;
  std::optional<std::size_t> name;
};

std::optional<Columns> ColumnsOf(const CsvTable& table, proto::Diagnostics* diagnostics) {
  const std::string place = table.file + ":1";
  Columns columns;
  const auto devices = table.Find("devices");
  if (!devices)
    diagnostics->Error(place, "no column \"devices\"; the number of devices of each point is wanted");
  std::string given;
  for (const Quantity quantity : kQuantities) {
    const auto column = table.Find(ToText(quantity));
    if (!column) continue;
    if (!given.empty()) {
      diagnostics->Error(place,
                         "columns \"" + given + "\" and \"" + ToText(quantity) + "\"; one of them is wanted");
      return std::nullopt;
    }
    given = ToText(quantity);
    columns.value = *column;
    columns.quantity = quantity;
  }
  if (given.empty()) {
    diagnostics->Error(
        place, "no column of results; one of \"step_time_s\", \"tokens_per_s\" and \"mfu\" is wanted");
  }
  if (!devices || given.empty()) return std::nullopt;
  columns.devices = *devices;
  columns.name = table.Find("name");
  return columns;
}

std::optional<CurvePoint> PointOf(const CsvRow& row, const Columns& columns, const std::string& place,
                                  proto::Diagnostics* diagnostics) {
  const std::string& devices = row.cells[columns.devices];
  const std::string& value = row.cells[columns.value];
  const auto count = NumberOf<std::int64_t>(devices);
  const auto number = NumberOf<double>(value);
  constexpr double kLeast = 1e-30, kMost = 1e30;
  const double most = columns.quantity == Quantity::kMfu ? 1 : kMost;
  const bool counts = count && *count >= 1 && *count <= kMostDevices;
  const bool measures = number && std::isfinite(*number) && *number >= kLeast && *number <= most;
  if (!counts) {
    diagnostics->Error(place + ": devices",
                       '"' + devices + "\"; a whole number from 1 to 1,000,000,000 is wanted");
  }
  if (!measures) {
    diagnostics->Error(place + ": " + ToText(columns.quantity),
                       '"' + value + "\"; a number above 0" +
                           (columns.quantity == Quantity::kMfu ? ", a part of 1, is wanted" : " is wanted"));
  }
  if (!counts || !measures) return std::nullopt;
  return CurvePoint{*count, *number};
}

}  // namespace

const char* ToText(Scaling scaling) { return scaling == Scaling::kStrong ? "strong" : "weak"; }

const char* ToText(Quantity quantity) {
  constexpr const char* kNames[] = {"step_time_s", "tokens_per_s", "mfu"};
  return kNames[static_cast<std::size_t>(quantity)];
}

double RateOf(const Curve& curve, const CurvePoint& point) {
  const auto devices = static_cast<double>(point.devices);
  if (curve.quantity == Quantity::kTokenRate) return point.value;
  if (curve.quantity == Quantity::kMfu) return devices * point.value;
  return (curve.scaling == Scaling::kWeak ? devices : 1) / point.value;
}

std::vector<Curve> ReadCurves(const std::string& file, std::string_view text, Scaling scaling,
                              proto::Diagnostics* diagnostics) {
  const std::size_t before = diagnostics->errors().size();
  const auto table = ReadCsv(file, text, diagnostics);
  if (!table) return {};
  const auto columns = ColumnsOf(*table, diagnostics);
  if (!columns) return {};
  std::vector<Curve> curves;
  for (const CsvRow& row : table->rows) {
    const auto point = PointOf(row, *columns, file + ':' + std::to_string(row.line), diagnostics);
    if (!point) continue;
    const std::string name = columns->name ? row.cells[*columns->name] : "";
    auto curve = std::find_if(curves.begin(), curves.end(), [&](const Curve& c) { return c.name == name; });
    if (curve == curves.end()) {
      curves.push_back({.name = name, .scaling = scaling, .quantity = columns->quantity, .points = {}});
      curve = curves.end() - 1;
    }
    curve->points.push_back(*point);
  }
  if (table->rows.empty()) diagnostics->Error(file + ":1", "no points; a row each is wanted");
  if (diagnostics->errors().size() > before) return {};
  return curves;
}

}  // namespace scenarios
