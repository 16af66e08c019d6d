// Rows of a sweep as a table for programs, a document, and the best of them for people.

#ifndef SCENARIOS_OUTPUT_SWEEP_OUTPUT_H_
#define SCENARIOS_OUTPUT_SWEEP_OUTPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "scenarios/sweep/points.h"
#include "scenarios/sweep/ranking.h"
#include "scenarios/sweep/row.h"

namespace scenarios {

// A line each: "point", from 1; a column a swept field, named by its path; RowColumns. Cells as RFC 4180
// quotes them, lines end in "\n"; what is not known is empty.
std::string SweepCsvHeader(const PointList& list);
std::string SweepCsvLine(const PointList& list, std::size_t point, const Row& row);

// "120 points: 70 ok, 20 does_not_fit, 30 skipped".
std::string SweepCounts(const std::vector<Row>& rows);

// Everything as one document; what is not known is null. With a ranking where one is wanted.
std::string SweepJson(const std::string& scenario, const PointList& list, const std::vector<Row>& rows,
                      const std::optional<Wanted>& wanted);

// The best rows, and those on the Pareto front of time, memory and cost. At most 110 columns but for the
// settings, which come last.
std::string SweepRanking(const PointList& list, const std::vector<Row>& rows, const Wanted& wanted);

const char* ToText(Metric metric);  // "step_time", "cost", "tokens_per_dollar"

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_SWEEP_OUTPUT_H_
