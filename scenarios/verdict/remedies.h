// Remedies: what could shorten a step, as fields to set. Whether the loader takes them, and whether the job
// then fits, is for those to find out who can load it again.

#ifndef SCENARIOS_VERDICT_REMEDIES_H_
#define SCENARIOS_VERDICT_REMEDIES_H_

#include <string>
#include <vector>

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "scenarios/verdict/losses.h"
#include "scenarios/verdict/reload.h"

namespace scenarios {

struct Remedy {
  std::string text;               // what it does
  std::vector<Changes> variants;  // the first is meant that loads and fits
};

// From the one that changes least. Nothing that the job has already, or has no use for. Those that make
// another training job of it, with more sequences a step, say so and come last.
std::vector<Remedy> RemediesFor(Limit limit, const Scenario& scenario, const Report& report);

// For a job that does not fit.
std::vector<Remedy> MemoryRemedies(const Scenario& scenario);

// "path=value".
std::string Set(const char* path, std::int64_t value);

// The fields in which layout and batch differ from the scenario's, with `more`; then the same with those that
// follow from them and that a file may state as well: data ranks, accumulation, how experts are cut.
std::vector<Changes> Variants(const Scenario& scenario, const Layout& layout, const Batch& batch,
                              const Changes& more = {});

}  // namespace scenarios

#endif  // SCENARIOS_VERDICT_REMEDIES_H_
