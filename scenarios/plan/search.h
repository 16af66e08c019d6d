// The best layout of a job on so many devices, found by playing the ones that may be it.
//
// Every layout is looked at first; those that fit are played in the order of their bounds
// (Candidate::bound_s) until no bound is below the best play. So what is found is the best of all that were
// enumerated, as the simulator has it, unless `plays` or `looks` ended the search: SearchResult counts what
// was left then.
//
// A play is of a slice: a few of the job's data ranks, with the micro-batches of all. Data ranks are alike,
// and what they send for each other hardly grows beyond a few of them. The best are then played whole, or,
// where that takes too many tasks, stay as they are and say so.

#ifndef SCENARIOS_PLAN_SEARCH_H_
#define SCENARIOS_PLAN_SEARCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/plan/candidate.h"
#include "scenarios/report.h"

namespace scenarios {

inline constexpr std::size_t kPlaysAtOnce = 4;

struct SearchOptions {
  std::int64_t plays = 24;    // slices at the most
  std::int64_t whole = 4;     // plays of whole jobs at the most, until the best is one
  std::int64_t slice = 128;   // devices of a slice, about
  double whole_tasks = 40e6;  // more are not played whole
  double play_tasks = 150e6;  // a slice of more is not played
  double memory_limit = 4e9;  // bytes a play may take; kPlaysAtOnce of them run side by side at the most
  std::int64_t looks = 600;   // layouts that fit, about; the shortest by a rough count come first
  // Asked now and then whether to go on: what is done, as "looked at" or "played", and how many.
  std::function<bool(const char*, std::int64_t)> go_on = {};
};

// What a play of a candidate found.
struct Played {
  Candidate candidate;
  std::int64_t devices = 0;  // that were played: all, or a slice
  Report report;
  double step_s() const { return report.step_time.seconds(); }
  bool whole() const { return devices == candidate.shape.devices; }
};

struct SearchResult {
  std::int64_t enumerated = 0;  // layouts
  // That came to nothing, by reason: "a batch that does not divide", "too little memory", the reader's, a
  // rough count.
  std::map<std::string, std::int64_t> dropped;
  std::int64_t fit = 0;
  std::int64_t ruled_out = 0;         // fit, and cannot be shorter than the best
  std::int64_t not_playable = 0;      // fit, and the simulator refuses: too many tasks
  std::int64_t left = 0;              // fit, and not played because there were too many
  std::vector<Candidate> candidates;  // that fit, by the hand's device-seconds a token
  std::vector<Played> played;         // best first: the fewest device-seconds a token
  std::string first_refusal;  // the reader's or the simulator's reason for the first that they refused
  std::optional<Candidate> nearest_miss;  // least memory of those that do not fit
  bool stopped = false;                   // go_on said no
};

// `least` devices or, where a layout's groups need it, somewhat more; at most `most`.
SearchResult BestLayouts(const PlanJob& job, const LayoutLimits& limits, std::int64_t least,
                         std::int64_t most, const SearchOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_PLAN_SEARCH_H_
