// Shared by the tests of the loader: a small legal scenario, and one call that loads it.

#ifndef TESTS_SCENARIOS_LOADING_H_
#define TESTS_SCENARIOS_LOADING_H_

#include <optional>
#include <string>
#include <vector>

#include "scenarios/loader.h"

namespace scenarios {

// LLaMA-7B on two nodes: tensor 4, pipeline 2, data 2.
inline constexpr const char* kScenario = R"(name: "small"
source { title: "made for the tests" }
model: "llama_7b"
hardware: "h100_sxm"
topology: "rail_optimised_ndr"
devices: 16
layout {
  tensor: 4
  sequence: false
  context: 1
  pipeline: 2
  virtual: 1
  expert: 1
  expert_tensor: 1
}
batch {
  global: 16
  micro: 1
  sequence_length: 2048
}
)";

struct Loading {
  std::optional<Scenario> scenario;
  proto::Diagnostics diagnostics;
  const std::vector<std::string>& errors() const { return diagnostics.errors(); }
  const std::vector<std::string>& warnings() const { return diagnostics.warnings(); }
};

// Pairs of path and value, as "--set path=value" on the command line.
using Sets = std::vector<std::pair<std::string, std::string>>;

inline Loading Load(const Sets& sets = {}, const std::string& text = kScenario,
                    const std::string& file = "small.textproto") {
  std::vector<proto::Override> overrides;
  for (const auto& [path, value] : sets)
    overrides.push_back({static_cast<int>(overrides.size()) + 1, path, value});
  Loading loading;
  loading.scenario = LoadScenarioText(file, text, overrides, &loading.diagnostics);
  return loading;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_LOADING_H_
