// What `orrery timeline` is asked for: a file, its format, and what of the run it shows.

#ifndef TOOLS_TIMELINE_REQUEST_H_
#define TOOLS_TIMELINE_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/analysis/intervals.h"
#include "sim/program/program.h"
#include "tools/command_line.h"

namespace tools {

enum class TimelineFormat : std::uint8_t { kChrome, kPerfetto, kSpeedscope, kSvg, kKineto };

// Which ranks: those listed; all; the first of each pipeline stage; one of each kind that does the same
// at the same times; or what a viewer can take: all of a short run, else those of one pipeline.
enum class RankChoice : std::uint8_t { kListed, kAll, kStages, kKinds, kFew };

struct TimelineRequest {
  TimelineFormat format = TimelineFormat::kChrome;
  std::string path;
  RankChoice choice = RankChoice::kFew;
  std::vector<sim::Rank> ranks;                                // kListed, kStages
  std::vector<sim::StreamKind> streams;                        // empty: all
  std::optional<std::pair<std::int64_t, std::int64_t>> steps;  // first and last, from 0
  std::optional<sim::Interval> window;                         // not with steps
  sim::Duration shortest;
  bool arguments = false;
};

// Nothing where there are mistakes: each a line in `errors`.
std::optional<TimelineRequest> ReadTimelineRequest(const Arguments& arguments,
                                                   const scenarios::Scenario& scenario,
                                                   std::vector<std::string>* errors);

}  // namespace tools

#endif  // TOOLS_TIMELINE_REQUEST_H_
