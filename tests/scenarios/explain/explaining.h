// Shared by the tests of explanations: small jobs, explained.

#ifndef TESTS_SCENARIOS_EXPLAIN_EXPLAINING_H_
#define TESTS_SCENARIOS_EXPLAIN_EXPLAINING_H_

#include <string>

#include "scenarios/explain/explanation.h"
#include "tests/scenarios/playing.h"

namespace scenarios {

inline Explanation Explained(const Scenario& scenario, std::optional<double> check = std::nullopt) {
  ExplainOptions options;
  options.check = check;
  auto explanation = Explain(scenario, options);
  EXPECT_TRUE(explanation.ok()) << explanation.error().message;
  return std::move(explanation).value();
}

// kScenario, four layers of it, with other values.
inline Scenario FourLayers(Sets sets = {}) {
  sets.insert(sets.begin(), {"model.layers", "4"});
  return Loaded(sets);
}

inline const Sets kOneDevice = {
    {"devices", "1"}, {"layout.tensor", "1"}, {"layout.pipeline", "1"}, {"batch.global", "2"}};

inline double SlopeOf(const Explanation& e, Parameter parameter) {
  for (const Sensitivity& row : e.sensitivities) {
    if (row.parameter == parameter) return row.slope_s;
  }
  return 0;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_EXPLAIN_EXPLAINING_H_
