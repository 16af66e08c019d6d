// orrery check: are these scenarios legal?

#include <nlohmann/json.hpp>
#include <ostream>

#include "scenarios/catalogue.h"
#include "tools/commands.h"

namespace tools {
namespace {

std::string Summary(const scenarios::Scenario& s) {
  const auto n = [](std::int64_t value) { return std::to_string(value); };
  std::string text = s.name + ": legal: " + s.model.name + " on " + n(s.devices) + " x " + s.device.name +
                     ", tensor " + n(s.layout.tensor) + " x pipeline " + n(s.layout.pipeline) + " x data " +
                     n(s.layout.data);
  return text + ", " + n(s.batch.micro_batches) + " micro-batches of " + n(s.batch.micro) + " x " +
         n(s.batch.sequence_length) + " tokens";
}

int RunCheck(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) {
    err << "orrery: error: " << overrides.error().message << '\n';
    return kExitUsage;
  }
  std::vector<std::string> names = arguments.positional;
  if (names.empty()) names.emplace_back(scenarios::kDefaultScenario);
  nlohmann::ordered_json document = {{"schema_version", 1}, {"scenarios", nlohmann::ordered_json::array()}};
  bool legal = true;
  for (const std::string& name : names) {
    proto::Diagnostics diagnostics;
    const auto scenario = scenarios::LoadScenario(name, overrides.value(), &diagnostics);
    legal = legal && scenario.has_value();
    if (arguments.has("json")) {
      document["scenarios"].push_back({{"scenario", name},
                                       {"legal", scenario.has_value()},
                                       {"errors", diagnostics.errors()},
                                       {"warnings", diagnostics.warnings()}});
      continue;
    }
    Print(diagnostics, err);
    if (scenario) out << Summary(*scenario) << '\n';
  }
  // File names and values come from outside; what is not UTF-8 is replaced.
  if (arguments.has("json")) {
    out << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  }
  return legal ? kExitDone : kExitUsage;
}

}  // namespace

Command CheckCommand() {
  constexpr std::size_t kMostScenarios = 1000;
  return {
      "check",
      "Checks scenarios without running them; reports every mistake in one run.",
      "[SCENARIO]... [--set PATH=VALUE]... [--json]",
      kMostScenarios,
      {{"set", "PATH=VALUE", "change a field: layout.tensor=8, model.layers=40, hardware.node.nics=4", true},
       {"json", "", "print one JSON document", false}},
      "  orrery check                                  the default scenario\n"
      "  orrery check my_job.textproto other.json      files, in either notation\n"
      "  orrery check llama_7b_256xh800 --set devices=128 --set batch.global=512\n",
      RunCheck};
}

}  // namespace tools
