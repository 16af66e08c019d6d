#include "scenarios/verdict/reload.h"

#include <algorithm>

#include "scenarios/loader.h"

namespace scenarios {
namespace {

// Errors without "--set 3: ": nobody counted these.
std::string WithoutNumber(const std::string& error) {
  const std::size_t end = error.find(": ");
  return error.starts_with("--set ") && end != std::string::npos ? error.substr(end + 2) : error;
}

}  // namespace

Reload ReloadOf(const std::string& name, const std::vector<proto::Override>& overrides,
                const std::optional<std::string>& text) {
  return [name, overrides, text](const Changes& sets) -> sim::Result<Scenario> {
    std::vector<proto::Override> all = overrides;
    for (const std::string& set : sets) {
      const std::size_t equals = set.find('=');
      const std::string path = set.substr(0, equals);
      std::erase_if(all, [&](const proto::Override& old) { return old.path == path; });
      all.push_back({static_cast<int>(all.size()) + 1, path, set.substr(equals + 1)});
    }
    proto::Diagnostics diagnostics;
    auto scenario =
        text ? LoadScenarioText(name, *text, all, &diagnostics) : LoadScenario(name, all, &diagnostics);
    if (scenario) return *std::move(scenario);
    return sim::Error{WithoutNumber(diagnostics.errors().front())};
  };
}

}  // namespace scenarios
