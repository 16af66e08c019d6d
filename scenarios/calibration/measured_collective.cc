#include "scenarios/calibration/measured_collective.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>

#include "proto/told_once.h"
#include "scenarios/calibration/text_parts.h"
#include "scenarios/collective_run/nccl_tests.h"
#include "sim/base/check.h"
#include "sim/collective/nccl_environment.h"

namespace scenarios {
namespace {

// The cells of one row by name, and what is wrong with them.
class RowReader {
 public:
  RowReader(const CsvTable& table, const CsvRow& row, proto::ToldOnce* mistakes)
      : table_(table), row_(row), mistakes_(mistakes) {}

  std::string Text(std::string_view column) const {
    const auto at = table_.Find(column);
    return at ? row_.cells[*at] : "";
  }

  // Nothing where it is no number from `least` to `most`, which is an error.
  template <typename T>
  std::optional<T> Number(std::string_view column, T least, T most = std::numeric_limits<T>::max()) {
    const std::string text = Text(column);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) {
      return value;
    }
    Error(column, text, RangeIsWanted(least, most));
    return std::nullopt;
  }

  // Rows are alike that want the same of the same column, whatever they have there.
  void Error(std::string_view column, const std::string& found, const std::string& wanted) {
    Add(column, wanted, '"' + found + "\"; " + wanted);
  }
  void Error(std::string_view column, const std::string& what) { Add(column, what, what); }

 private:
  void Add(std::string_view column, const std::string& kind, const std::string& what) {
    const std::string field = ": " + std::string(column);
    mistakes_->Add(table_.file + ":" + std::to_string(row_.line) + field, field + kind, what);
  }

  const CsvTable& table_;
  const CsvRow& row_;
  proto::ToldOnce* mistakes_;
};

std::optional<double> SecondsOf(RowReader* reader, const MeasuredCollective& row) {
  constexpr double kLeast = 1e-3;           // us, and GB/s
  constexpr double kMostGbPerSecond = 1e6;  // far above what any device has
  const bool has_time = !reader->Text("time_us").empty();
  const char* column = has_time ? "time_us" : "busbw_gb_per_s";
  const auto value = reader->Number<double>(column, kLeast, has_time ? kMostMicroseconds : kMostGbPerSecond);
  if (!value) return std::nullopt;
  if (has_time) return *value * 1e-6;
  const sim::Fraction factor = sim::BusBandwidthFactor(row.kind, row.ranks);
  return static_cast<double>(row.bytes.count()) * static_cast<double>(factor.numerator) /
         static_cast<double>(factor.denominator) / (*value * 1e9);
}

std::string TestNames() {
  std::string names;
  for (const NcclTest& test : NcclTests()) names += (names.empty() ? "" : ", ") + std::string(test.name);
  return names;
}

std::optional<MeasuredCollective> ReadRow(const CsvTable& table, const CsvRow& row,
                                          proto::ToldOnce* mistakes) {
  RowReader reader(table, row, mistakes);
  MeasuredCollective measured{.file = table.file,
                              .line = row.line,
                              .source = reader.Text("source"),
                              .device = reader.Text("gpu"),
                              .network = reader.Text("network"),
                              .nccl = reader.Text("nccl"),
                              .note = reader.Text("note"),
                              .collective = reader.Text("collective")};
  const NcclTest* test = FindNcclTest(measured.collective);
  if (test == nullptr) {
    reader.Error("collective", measured.collective, "a test of nccl-tests is wanted: " + TestNames());
  } else {
    measured.kind = test->kind;
  }
  const auto ranks = reader.Number<std::uint32_t>("ranks", 2);
  const auto nodes = reader.Number<std::uint32_t>("nodes", 1);
  const auto bytes = reader.Number<std::int64_t>("bytes", 1);
  sim::NcclEnvironment environment;
  if (measured.note.starts_with("NCCL_ALGO=")) {
    const auto wrong = sim::SetVariable(measured.note.substr(0, measured.note.find(';')), &environment);
    if (wrong) reader.Error("note", wrong->message);
  }
  if (test == nullptr || !ranks || !nodes || !bytes) return std::nullopt;
  if (*ranks % *nodes != 0) {
    reader.Error("nodes", std::to_string(*nodes) + " do not divide " + std::to_string(*ranks) + " ranks");
    return std::nullopt;
  }
  measured.ranks = *ranks;
  measured.nodes = *nodes;
  measured.bytes = sim::Bytes(*bytes);
  const auto seconds = SecondsOf(&reader, measured);
  if (!seconds) return std::nullopt;
  measured.seconds = *seconds;
  return measured;
}

}  // namespace

std::vector<MeasuredCollective> ReadMeasuredCollectives(
    const CsvTable& table, const std::vector<std::pair<std::string, std::string>>& where,
    proto::Diagnostics* diagnostics) {
  std::vector<MeasuredCollective> rows;
  const std::size_t before = diagnostics->errors().size();
  std::vector<std::string> wanted = {"gpu", "ranks", "nodes", "nccl", "collective", "bytes"};
  for (const auto& [column, value] : where) wanted.push_back(column);
  if (!table.Find("busbw_gb_per_s")) wanted.emplace_back("time_us");
  for (const std::string& column : wanted) {
    if (!table.Find(column)) diagnostics->Error(table.file + ":1", "there is no column \"" + column + '"');
  }
  if (diagnostics->errors().size() > before) return rows;
  proto::ToldOnce mistakes;
  for (const CsvRow& row : table.rows) {
    bool kept = true;
    for (const auto& [column, value] : where) kept = kept && row.cells[*table.Find(column)] == value;
    if (!kept) continue;
    if (auto measured = ReadRow(table, row, &mistakes)) rows.push_back(*std::move(measured));
  }
  mistakes.Tell(diagnostics);
  if (rows.empty() && mistakes.empty() && table.whole) {
    diagnostics->Error(table.file, where.empty() ? "no rows" : "no row has what --where asks for");
  }
  return rows;
}

}  // namespace scenarios
