// Row: what became of one point of a sweep.

#ifndef SCENARIOS_SWEEP_ROW_H_
#define SCENARIOS_SWEEP_ROW_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "sim/analysis/breakdown.h"
#include "sim/base/units.h"

namespace scenarios {

enum class RowStatus : std::uint8_t {
  kOk,           // played, and it fits
  kDoesNotFit,   // into the memory of its devices; played only if asked for
  kSkipped,      // its lower bound says that it cannot beat what was played
  kTooLarge,     // for this machine to simulate
  kNotPlayable,  // tasks wait for each other for ever
  kRefused,      // the loader refuses the scenario
};
const char* ToText(RowStatus status);  // "ok", "does_not_fit", ...

// What is not known of a point is nothing: what is played of one that was not, all of one that is refused.
struct Row {
  RowStatus status = RowStatus::kRefused;
  std::string reason;  // one line; empty for kOk

  // Of a scenario that loads.
  std::string model, device, fabric;
  std::optional<std::int64_t> devices, tensor, context, pipeline, virtual_stages, expert, data;
  std::optional<std::int64_t> global_batch, micro_batch, micro_batches;  // sequences; a step's of a data rank
  std::optional<std::int64_t> sequence_length;                           // tokens
  std::optional<sim::Bytes> memory, memory_limit;  // of the fullest stage's rank; usable of a device
  std::optional<sim::Duration> least_step_time;    // no play takes less; lower_bound.h
  std::optional<double> usd_per_device_hour;       // where the scenario has a price

  // Of what was played; as in Report.
  std::optional<sim::Duration> step_time;       // without saves
  std::optional<sim::Duration> mean_step_time;  // in the long run, with saves
  std::optional<double> tokens_per_s, mfu, mfu_causal, hfu, tflops_per_device;
  std::optional<double> usd_per_step, usd_per_trillion_tokens, tokens_per_usd;
  // Of the rank that idles least; they add up to the step time.
  std::array<std::optional<sim::Duration>, sim::kCauses> breakdown;
  std::optional<std::int64_t> tasks;
  std::string digest;

  bool played() const { return step_time.has_value(); }
  // Tokens of a step. REQUIRES: the scenario loads
  std::int64_t tokens() const { return *global_batch * *sequence_length; }
};

// The fields of what is known before it is played.
void Describe(const Scenario& scenario, Row* row);
// Those of what was played; kOk where it fits.
void TakeReport(const Report& report, Row* row);

// A row as a line of a table: texts that RowOf reads back, to the last digit. Numbers are decimal, times
// exact to the picosecond; what is not known is empty.
struct Cell {
  std::string text;
  bool is_number = false;
};
std::vector<std::string>
RowColumns();  // their names, which carry units; none is a field of proto/scenario.proto
std::vector<Cell> CellsOf(const Row& row);
std::optional<Row> RowOf(const std::vector<std::string>& cells);  // nothing where one cannot be read

}  // namespace scenarios

#endif  // SCENARIOS_SWEEP_ROW_H_
