// Reload: a job again, with more fields set.

#ifndef SCENARIOS_VERDICT_RELOAD_H_
#define SCENARIOS_VERDICT_RELOAD_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "proto/text_reader.h"
#include "scenarios/scenario.h"
#include "sim/base/result.h"

namespace scenarios {

using Changes = std::vector<std::string>;  // "layout.virtual=2"

// The scenario with these fields set as well, or what the loader says first against them. What was set before
// is set anew.
using Reload = std::function<sim::Result<Scenario>(const Changes&)>;

// For LoadScenario, of a name or path; for LoadScenarioText, where there is a text. Keeps copies.
Reload ReloadOf(const std::string& name, const std::vector<proto::Override>& overrides,
                const std::optional<std::string>& text = std::nullopt);

}  // namespace scenarios

#endif  // SCENARIOS_VERDICT_RELOAD_H_
