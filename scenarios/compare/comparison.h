// Comparison: one job and variants of it, played side by side.

#ifndef SCENARIOS_COMPARE_COMPARISON_H_
#define SCENARIOS_COMPARE_COMPARISON_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/compare/waterfall.h"
#include "sim/base/result.h"

namespace scenarios {

// What a variant is: "layout.tensor=4 layout.pipeline=8" changes the base; "other_job batch.global=64"
// another job. Words are parted by spaces, so no value has one.
struct VariantSpec {
  std::string text;                  // as it was given, for people
  std::string job;                   // name or file; empty: the base, with what was set there
  std::vector<std::string> changes;  // "layout.tensor=4"
};

// Fails where there is no word, a change has no path, or a job stands behind the first word.
sim::Result<VariantSpec> ParseVariant(const std::string& text);

struct ComparedJob {
  std::string text;
  std::optional<PlayedJob> played;
  std::string refused;                 // why not, in one sentence, where it was not played
  std::optional<Waterfall> waterfall;  // of variants that were played, against the base
};

struct Comparison {
  ComparedJob base;
  std::vector<ComparedJob> variants;

  bool any_variant() const;  // was played
};

// Plays job `index`: 0 is the base, then the variants. Called from several threads at a time.
using PlayJob = std::function<sim::Result<PlayedJob>(std::size_t index)>;

// All jobs on up to `threads` threads; the result does not depend on how many. There are waterfalls where
// the base was played. `texts` are of the base and its variants. REQUIRES: a text; threads > 0
Comparison Compare(const std::vector<std::string>& texts, std::size_t threads, const PlayJob& play);

}  // namespace scenarios

#endif  // SCENARIOS_COMPARE_COMPARISON_H_
