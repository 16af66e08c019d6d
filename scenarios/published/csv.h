// Tables as comma-separated values, with the line of each row.

#ifndef SCENARIOS_PUBLISHED_CSV_H_
#define SCENARIOS_PUBLISHED_CSV_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/text_reader.h"

namespace scenarios {

struct CsvRow {
  int line = 0;  // where it starts, from 1
  std::vector<std::string> cells;
};

struct CsvTable {
  std::string file;
  std::vector<std::string> columns;  // of the first line
  std::vector<CsvRow> rows;          // each with as many cells
  bool whole = true;                 // false: rows with more or fewer are left out, which was told

  // The place of a column, or nothing.
  std::optional<std::size_t> Find(std::string_view column) const;
};

// RFC 4180: cells in quotes may hold commas, quotes (doubled) and line ends. Empty lines are skipped. Rows of
// another length are left out, and an error, told once with how many there are: what else is wrong with the
// table can be told in the same run. Nothing is returned where no row can be trusted: without a first line,
// or with a quote that does not end.
std::optional<CsvTable> ReadCsv(const std::string& file, std::string_view text,
                                proto::Diagnostics* diagnostics);

}  // namespace scenarios

#endif  // SCENARIOS_PUBLISHED_CSV_H_
