#include "scenarios/output/sweep_output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/output/csv_cell.h"
#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

using SweepValue = nlohmann::ordered_json;

constexpr std::size_t kShown = 20;  // of the best

// The value that a point gives to a path; empty where it leaves it.
std::string ValueOf(const Point& point, const std::string& path) {
  for (const PointSetting& setting : point) {
    if (setting.path == path) return setting.value;
  }
  return "";
}

SweepValue ValueOf(const Cell& cell) {
  if (!cell.is_number) return cell.text.empty() ? SweepValue(nullptr) : SweepValue(cell.text);
  const char* const end = cell.text.data() + cell.text.size();
  std::int64_t whole = 0;
  if (std::from_chars(cell.text.data(), end, whole).ptr == end) return whole;
  double number = 0;
  std::from_chars(cell.text.data(), end, number);
  return number;
}

SweepValue PointValue(const PointList& list, std::size_t point, const Row& row) {
  SweepValue value = {{"point", point + 1}, {"set", SweepValue::object()}};
  for (const PointSetting& setting : list.points[point]) value["set"][setting.path] = setting.value;
  const std::vector<std::string> columns = RowColumns();
  const std::vector<Cell> cells = CellsOf(row);
  for (std::size_t i = 0; i < columns.size(); ++i) value[columns[i]] = ValueOf(cells[i]);
  return value;
}

SweepValue RankingValue(const std::vector<Row>& rows, const Wanted& wanted) {
  SweepValue ranked = SweepValue::array(), front = SweepValue::array();
  for (const Ranked& one : RankingOf(rows, wanted.metric)) {
    ranked.push_back(one.row + 1);
    if (one.on_front) front.push_back(one.row + 1);
  }
  const bool dollars = CostUnitOf(rows) == CostUnit::kDollars;
  SweepValue value = {{"by", ToText(wanted.metric)}, {"points", std::move(ranked)}};
  value["front"] = wanted.front ? std::move(front) : SweepValue(nullptr);
  value["front_cost"] = dollars ? "usd_per_step" : "device_seconds_per_step";
  return value;
}

std::array<std::pair<RowStatus, std::size_t>, 6> CountsOf(const std::vector<Row>& rows) {
  std::array<std::pair<RowStatus, std::size_t>, 6> counts = {{{RowStatus::kOk, 0},
                                                              {RowStatus::kDoesNotFit, 0},
                                                              {RowStatus::kSkipped, 0},
                                                              {RowStatus::kTooLarge, 0},
                                                              {RowStatus::kNotPlayable, 0},
                                                              {RowStatus::kRefused, 0}}};
  for (auto& entry : counts) {
    const RowStatus status = entry.first;
    entry.second = static_cast<std::size_t>(
        std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return row.status == status; }));
  }
  return counts;
}

std::string RankingLine(std::size_t rank, const Ranked& ranked, const Row& row, const Point& point,
                        bool front) {
  std::array<char, 200> line;
  std::array<char, 32> usd = {"-"}, trillion = {"-"};
  if (row.usd_per_step) std::snprintf(usd.data(), usd.size(), "%.4g", *row.usd_per_step);
  if (row.usd_per_trillion_tokens) {
    std::snprintf(trillion.data(), trillion.size(), "%.4g", *row.usd_per_trillion_tokens);
  }
  std::snprintf(line.data(), line.size(), "%5zu %6zu %11s %7.2f %11s %10s %11s  %s   ", rank, ranked.row + 1,
                TimeText(*row.step_time).c_str(), 100 * *row.mfu, BytesText(*row.memory).c_str(), usd.data(),
                trillion.data(), front && ranked.on_front ? "*" : " ");
  return line.data() + ToText(point) + '\n';
}

}  // namespace

const char* ToText(Metric metric) {
  switch (metric) {
    case Metric::kStepTime:
      return "step_time";
    case Metric::kCost:
      return "cost";
    case Metric::kTokensPerDollar:
      return "tokens_per_dollar";
  }
  return "?";
}

std::string SweepCsvHeader(const PointList& list) {
  std::string text = "point";
  for (const std::string& path : list.paths) text += ',' + CsvCell(path);
  for (const std::string& column : RowColumns()) text += ',' + column;
  return text + '\n';
}

std::string SweepCsvLine(const PointList& list, std::size_t point, const Row& row) {
  std::string text = std::to_string(point + 1);
  for (const std::string& path : list.paths) text += ',' + CsvCell(ValueOf(list.points[point], path));
  for (const Cell& cell : CellsOf(row)) text += ',' + CsvCell(cell.text);
  return text + '\n';
}

std::string SweepCounts(const std::vector<Row>& rows) {
  std::string text;
  for (const auto& [status, count] : CountsOf(rows)) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + ' ' + ToText(status);
  }
  return std::to_string(rows.size()) + (rows.size() == 1 ? " point: " : " points: ") + text;
}

std::string SweepJson(const std::string& scenario, const PointList& list, const std::vector<Row>& rows,
                      const std::optional<Wanted>& wanted) {
  SweepValue json = {{"schema_version", 1}, {"scenario", scenario}, {"swept", list.paths}};
  json["counts"] = SweepValue::object();
  for (const auto& [status, count] : CountsOf(rows)) json["counts"][ToText(status)] = count;
  json["ranking"] = wanted ? RankingValue(rows, *wanted) : SweepValue(nullptr);
  json["points"] = SweepValue::array();
  for (std::size_t i = 0; i < rows.size(); ++i) json["points"].push_back(PointValue(list, i, rows[i]));
  return json.dump(2, ' ', false, SweepValue::error_handler_t::replace) + "\n";
}

std::string SweepRanking(const PointList& list, const std::vector<Row>& rows, const Wanted& wanted) {
  const std::vector<Ranked> ranking = RankingOf(rows, wanted.metric);
  const bool dollars = CostUnitOf(rows) == CostUnit::kDollars;
  std::string text = SweepCounts(rows) + "\n\nBest by " + ToText(wanted.metric);
  if (wanted.front) {
    text += std::string("; * is on the Pareto front of time, memory and ") +
            (dollars ? "cost" : "device-seconds");
  }
  text += "\n rank  point        step   MFU %      memory   USD/step  USD/10^12 t\n";
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const Ranked& one = ranking[i];
    if (i < kShown || (wanted.front && one.on_front)) {
      text += RankingLine(i + 1, one, rows[one.row], list.points[one.row], wanted.front);
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) text += "  and " + std::to_string(left_out) + " more that were played\n";
  return text;
}

}  // namespace scenarios
