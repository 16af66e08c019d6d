// Shared by the tests of sweeps: a job that plays in milliseconds, and its rows.

#ifndef TESTS_SCENARIOS_SWEEP_SWEEPING_H_
#define TESTS_SCENARIOS_SWEEP_SWEEPING_H_

#include <optional>
#include <string>
#include <vector>

#include "scenarios/sweep/play.h"

namespace scenarios {

// LLaMA-7B of four layers on a node, with a price.
inline SweepJob SmallJob() {
  return {.name = "small.textproto",
          .text = R"(name: "small"
source { title: "made for the tests" }
model: "llama_7b"  hardware: "h100_sxm"  topology: "rail_optimised_ndr"
devices: 8
layout { tensor: 1 sequence: false context: 1 pipeline: 1 virtual: 1 expert: 1 expert_tensor: 1 }
batch { global: 16 micro: 1 sequence_length: 2048 }
price { usd_per_device_hour: 2 source { title: "made for the tests" } }
)",
          .sets = {{1, "model.layers", "4", ""}}};
}

inline PointList PointsOfAxes(const std::vector<std::string>& texts) {
  std::vector<Axis> axes;
  for (const std::string& text : texts) axes.push_back(ParseAxis(text).value());
  return PointsOf({}, axes).value();
}

// 36 layouts: some do not divide, some do not fit into memory, most play.
inline PointList SmallPoints() {
  return PointsOfAxes({"layout.tensor=1,2,8", "layout.pipeline=1,2,4", "batch.micro=1,2,32", "devices=8,16"});
}

using Rows = std::vector<std::optional<Row>>;

inline std::vector<std::string> TextsOf(const Row& row) {
  std::vector<std::string> texts;
  for (const Cell& cell : CellsOf(row)) texts.push_back(cell.text);
  return texts;
}

// All cells of all rows; none of a row that is not there.
inline std::vector<std::vector<std::string>> TextsOf(const Rows& rows) {
  std::vector<std::vector<std::string>> texts;
  for (const auto& row : rows) texts.push_back(row ? TextsOf(*row) : std::vector<std::string>{});
  return texts;
}

inline Rows PlayedRows(const PointList& list, const PlayPointsOptions& options = {.jobs = 2}) {
  Rows rows(list.points.size());
  PlayPoints(SmallJob(), list.points, options, &rows);
  return rows;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_SWEEP_SWEEPING_H_
