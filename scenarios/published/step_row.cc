#include "scenarios/published/step_row.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <type_traits>

namespace scenarios {
namespace {

struct TextColumn {
  const char* name;
  std::string StepRow::*member;
};
constexpr TextColumn kTexts[] = {{"id", &StepRow::id},
                                 {"source", &StepRow::source},
                                 {"where", &StepRow::where},
                                 {"gpu", &StepRow::gpu},
                                 {"intra_bw_note", &StepRow::scale_up},
                                 {"inter_bw_note", &StepRow::network},
                                 {"model_name", &StepRow::model_name},
                                 {"moe", &StepRow::moe},
                                 {"micro_batch", &StepRow::micro_batch},
                                 {"sp", &StepRow::sp},
                                 {"vpp", &StepRow::vpp},
                                 {"zero_stage_fsdp", &StepRow::sharding},
                                 {"recompute", &StepRow::recompute},
                                 {"precision", &StepRow::precision},
                                 {"attention_impl", &StepRow::attention},
                                 {"overlap_notes", &StepRow::overlap},
                                 {"notes", &StepRow::notes}};

struct WholeColumn {
  const char* name;
  std::int64_t StepRow::*member;
};
constexpr WholeColumn kWholes[] = {{"n_gpu", &StepRow::n_gpu},
                                   {"gpus_per_node", &StepRow::gpus_per_node},
                                   {"layers", &StepRow::layers},
                                   {"hidden", &StepRow::hidden},
                                   {"ffn_hidden", &StepRow::ffn_hidden},
                                   {"heads", &StepRow::heads},
                                   {"kv_heads", &StepRow::kv_heads},
                                   {"vocab", &StepRow::vocab},
                                   {"seq_len", &StepRow::seq_len},
                                   {"global_batch_seqs", &StepRow::global_batch},
                                   {"tp", &StepRow::tp},
                                   {"cp", &StepRow::cp},
                                   {"pp", &StepRow::pp},
                                   {"dp", &StepRow::dp},
                                   {"ep", &StepRow::ep}};

struct RealColumn {
  const char* name;
  double StepRow::*member;
  bool may_be_empty;
};
constexpr RealColumn kReals[] = {{"params_b", &StepRow::params_b, true},
                                 {"derived_step_time_s", &StepRow::step_time_s, false}};

constexpr double kMost = 1e12;
template <class T>
constexpr const char* kWanted =
    std::is_integral_v<T> ? "a whole number from 1 to 10^12" : "a number from 1e-9 to 1e12";

// One row of a table, read column by column.
struct Reading {
  const CsvTable* table;
  const CsvRow* row;
  proto::Diagnostics* diagnostics;

  // "" where the table lacks the column, which was said before.
  std::string Cell(const char* column) const {
    const auto at = table->Find(column);
    return at ? row->cells[*at] : "";
  }

  template <class T>
  T Number(const char* column, T least) const {
    const std::string cell = Cell(column);
    T value{};
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc() && end == cell.data() + cell.size() && value >= least &&
        static_cast<double>(value) <= kMost) {
      return value;
    }
    diagnostics->Error(table->file + ":" + std::to_string(row->line) + ": " + column,
                       '"' + cell + "\"; " + kWanted<T> + " is wanted");
    return least;
  }
};

bool HasAllColumns(const CsvTable& table, const std::vector<std::pair<std::string, std::string>>& where,
                   proto::Diagnostics* diagnostics) {
  bool all = true;
  const auto want = [&](const std::string& column) {
    if (table.Find(column)) return;
    diagnostics->Error(table.file + ":1", "there is no column " + column);
    all = false;
  };
  for (const TextColumn& column : kTexts) want(column.name);
  for (const WholeColumn& column : kWholes) want(column.name);
  for (const RealColumn& column : kReals) want(column.name);
  for (const auto& [column, value] : where) want(column);
  return all;
}

}  // namespace

std::vector<StepRow> ReadStepRows(const CsvTable& table,
                                  const std::vector<std::pair<std::string, std::string>>& where,
                                  proto::Diagnostics* diagnostics) {
  constexpr double kShortest = 1e-9;
  std::vector<StepRow> rows;
  if (!HasAllColumns(table, where, diagnostics)) return rows;
  for (const CsvRow& in : table.rows) {
    const Reading reading{&table, &in, diagnostics};
    const bool wanted = std::all_of(where.begin(), where.end(), [&](const auto& condition) {
      return reading.Cell(condition.first.c_str()) == condition.second;
    });
    if (!wanted) continue;
    StepRow row;
    row.line = in.line;
    for (const TextColumn& column : kTexts) row.*column.member = reading.Cell(column.name);
    for (const WholeColumn& column : kWholes)
      row.*column.member = reading.Number<std::int64_t>(column.name, 1);
    for (const RealColumn& column : kReals) {
      if (column.may_be_empty && reading.Cell(column.name).empty()) continue;
      row.*column.member = reading.Number<double>(column.name, kShortest);
    }
    const auto same = [&](const StepRow& other) { return other.id == row.id; };
    if (const auto first = std::find_if(rows.begin(), rows.end(), same); first != rows.end()) {
      diagnostics->Error(table.file + ":" + std::to_string(in.line) + ": id",
                         '"' + row.id + "\" is that of line " + std::to_string(first->line) +
                             " too; each row is written to files of its id");
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    std::string conditions;
    for (const auto& [column, value] : where)
      conditions += (conditions.empty() ? " with " : " and ") + column + '=' + value;
    diagnostics->Error(table.file, "there is no row" + conditions);
  }
  return rows;
}

bool Says(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

std::string ParallelismOf(const StepRow& row) {
  if (row.ep > 1) return "experts";
  if (Says(row.sharding, "FSDP")) return "FSDP";
  if (row.tp > 1 && row.pp > 1) return "tensor + pipeline";
  if (row.tp > 1) return "tensor";
  return row.pp > 1 ? "pipeline" : "data";
}

}  // namespace scenarios
