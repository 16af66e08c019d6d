#include "scenarios/calibration/measured_gemm.h"

#include <charconv>
#include <system_error>

#include "hardware/device.h"
#include "proto/told_once.h"
#include "scenarios/calibration/text_parts.h"

namespace scenarios {
namespace {

using sim::NumberFormat;

constexpr std::pair<std::string_view, NumberFormat> kOtherNames[] = {{"bfloat16", NumberFormat::kBf16},
                                                                     {"float16", NumberFormat::kFp16},
                                                                     {"fp8", NumberFormat::kFp8},
                                                                     {"fp8_block", NumberFormat::kFp8Block},
                                                                     {"nvfp4", NumberFormat::kNvFp4},
                                                                     {"sq", NumberFormat::kInt8},
                                                                     {"int8_wo", NumberFormat::kInt8Weights},
                                                                     {"int4_wo", NumberFormat::kInt4Weights}};

constexpr NumberFormat kFormats[] = {
    NumberFormat::kFp32, NumberFormat::kTf32,        NumberFormat::kBf16,       NumberFormat::kFp16,
    NumberFormat::kFp8,  NumberFormat::kFp8Block,    NumberFormat::kMxFp8,      NumberFormat::kNvFp4,
    NumberFormat::kInt8, NumberFormat::kInt8Weights, NumberFormat::kInt4Weights};

std::string FormatNames() {
  std::string names;
  for (const NumberFormat format : kFormats) {
    names += (names.empty() ? "" : ", ") + std::string(hardware::ToText(format));
  }
  return names;
}

struct Cell {
  const CsvTable& table;
  const CsvRow& row;
  std::string column;

  const std::string& text() const { return row.cells[*table.Find(column)]; }
  // Rows are alike that want the same of the same column, whatever they have there.
  void Want(const std::string& wanted, proto::ToldOnce* mistakes) const {
    mistakes->Add(table.file + ":" + std::to_string(row.line) + ": " + column, column + wanted,
                  '"' + text() + "\"; " + wanted);
  }
};

// A number from `least` to `most`; nothing else, which is an error.
template <typename T>
std::optional<T> GemmNumber(const Cell& cell, T least, T most, proto::ToldOnce* mistakes) {
  const std::string& text = cell.text();
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) {
    return value;
  }
  cell.Want(RangeIsWanted(least, most), mistakes);
  return std::nullopt;
}

std::optional<MeasuredGemm> ReadGemmRow(const CsvTable& table, const CsvRow& row,
                                        const std::optional<std::size_t>& format_column,
                                        proto::ToldOnce* mistakes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  constexpr double kMostUs = 1e9;
  MeasuredGemm measured{.file = table.file,
                        .line = row.line,
                        .device = "",
                        .says_format = format_column.has_value(),
                        .shape = {}};
  if (const auto gpu = table.Find("gpu")) measured.device = row.cells[*gpu];
  bool good = true;
  if (format_column) {
    const std::string& name = row.cells[*format_column];
    const auto format = FindFormat(name);
    good = format.has_value();
    measured.format = format.value_or(NumberFormat::kBf16);
    if (!good) {
      Cell{table, row, table.columns[*format_column]}.Want("a format is wanted: " + FormatNames(), mistakes);
    }
  }
  const std::pair<const char*, std::int64_t*> extents[] = {
      {"m", &measured.shape.m}, {"n", &measured.shape.n}, {"k", &measured.shape.k}};
  for (const auto& [column, extent] : extents) {
    const auto value = GemmNumber<std::int64_t>({table, row, column}, 1, kMost, mistakes);
    good = good && value;
    *extent = value.value_or(1);
  }
  const auto us = GemmNumber<double>({table, row, "us"}, 1e-3, kMostUs, mistakes);
  measured.seconds = us.value_or(1) * 1e-6;
  if (!good || !us) return std::nullopt;
  return measured;
}

}  // namespace

std::optional<NumberFormat> FindFormat(std::string_view name) {
  for (const NumberFormat format : kFormats) {
    if (name == hardware::ToText(format)) return format;
  }
  for (const auto& [other, format] : kOtherNames) {
    if (name == other) return format;
  }
  return std::nullopt;
}

std::vector<MeasuredGemm> ReadMeasuredGemms(const CsvTable& table,
                                            const std::vector<std::pair<std::string, std::string>>& where,
                                            proto::Diagnostics* diagnostics) {
  std::vector<MeasuredGemm> rows;
  const std::size_t before = diagnostics->errors().size();
  std::vector<std::string> wanted = {"m", "n", "k", "us"};
  for (const auto& [column, value] : where) wanted.push_back(column);
  for (const std::string& column : wanted) {
    if (!table.Find(column)) diagnostics->Error(table.file + ":1", "there is no column \"" + column + '"');
  }
  if (diagnostics->errors().size() > before) return rows;
  const auto format = table.Find("format") ? table.Find("format") : table.Find("gemm_dtype");
  proto::ToldOnce mistakes;
  for (const CsvRow& row : table.rows) {
    bool kept = true;
    for (const auto& [column, value] : where) kept = kept && row.cells[*table.Find(column)] == value;
    if (!kept) continue;
    if (auto measured = ReadGemmRow(table, row, format, &mistakes)) rows.push_back(*std::move(measured));
  }
  mistakes.Tell(diagnostics);
  if (rows.empty() && mistakes.empty() && table.whole) {
    diagnostics->Error(table.file, where.empty() ? "no rows" : "no row has what --where asks for");
  }
  return rows;
}

}  // namespace scenarios
