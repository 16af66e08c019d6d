#include "scenarios/published/csv.h"

#include <algorithm>
#include <utility>

#include "proto/told_once.h"

namespace scenarios {
namespace {

// Cuts a text into records; `line` of each is where it starts.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : text_(text) {}

  // False at the end. An open quote ends with the text, which `open_quote` then says.
  bool Next(CsvRow* row) {
    row->cells.clear();
    row->line = line_;
    if (at_ >= text_.size()) return false;
    bool more = true;
    while (more) row->cells.push_back(Cell(&more));
    return true;
  }
  bool open_quote() const { return open_quote_; }

 private:
  std::string Cell(bool* more) {
    std::string cell;
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    if (quoted) ++at_;
    bool inside = quoted;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (inside) {
        if (c != '"') {
          cell += c;
        } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
          cell += text_[++at_];
        } else {
          inside = false;
        }
        continue;
      }
      if (c == ',' || c == '\n') {
        ++at_;
        *more = c == ',';
        return cell;
      }
      if (c != '\r') cell += c;
    }
    open_quote_ = open_quote_ || inside;
    *more = false;
    return cell;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool open_quote_ = false;
};

bool IsEmpty(const CsvRow& row) { return row.cells.size() == 1 && row.cells[0].empty(); }

}  // namespace

std::optional<std::size_t> CsvTable::Find(std::string_view column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::optional<CsvTable> ReadCsv(const std::string& file, std::string_view text,
                                proto::Diagnostics* diagnostics) {
  CsvTable table{.file = file, .columns = {}, .rows = {}};
  Cutter cutter(text);
  CsvRow row;
  bool good = cutter.Next(&row);
  table.columns = row.cells;
  if (!good) diagnostics->Error(file, "empty; a line that names the columns is wanted");
  proto::ToldOnce wrong;
  while (cutter.Next(&row)) {
    if (IsEmpty(row)) continue;
    if (row.cells.size() != table.columns.size()) {
      wrong.Add(file + ":" + std::to_string(row.line), "cells",
                std::to_string(row.cells.size()) + " cells; as many as columns, " +
                    std::to_string(table.columns.size()) + ", are wanted");
      continue;
    }
    table.rows.push_back(row);
  }
  wrong.Tell(diagnostics);
  table.whole = wrong.empty();
  if (cutter.open_quote()) {
    diagnostics->Error(file, "a cell's quote is not closed before the end");
    good = false;
  }
  if (!good) return std::nullopt;
  return table;
}

}  // namespace scenarios
