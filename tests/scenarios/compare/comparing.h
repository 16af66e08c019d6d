// Shared by the tests of comparisons: small jobs, played.

#ifndef TESTS_SCENARIOS_COMPARE_COMPARING_H_
#define TESTS_SCENARIOS_COMPARE_COMPARING_H_

#include <string>

#include "scenarios/compare/played.h"
#include "tests/scenarios/playing.h"

namespace scenarios {

inline PlayedJob PlayedOf(const Scenario& scenario) {
  auto run = scenarios::Run(scenario);
  EXPECT_TRUE(run.ok()) << run.error().message;
  return ReadPlayed(scenario, std::move(run).value());
}

// kScenario, four layers of it, with other values.
inline PlayedJob PlayedWith(Sets sets = {}) {
  sets.insert(sets.begin(), {"model.layers", "4"});
  return PlayedOf(Loaded(sets));
}

inline sim::Duration SumOf(const std::vector<StepPart>& parts) {
  sim::Duration sum;
  for (const StepPart& part : parts) sum += part.time;
  return sum;
}

inline sim::Duration PartOf(const PlayedJob& played, const std::string& id) {
  for (const StepPart& part : played.parts) {
    if (part.id == id) return part.time;
  }
  ADD_FAILURE() << "no part " << id;
  return {};
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_COMPARE_COMPARING_H_
