#include "tools/load_job.h"

#include <utility>

#include "scenarios/loader.h"
#include "tools/command_line.h"

namespace tools {

std::optional<Job> LoadJob(const std::string& name, const std::vector<proto::Override>& overrides,
                           std::ostream& err) {
  proto::Diagnostics diagnostics;
  std::optional<std::string> text;
  const bool read = name != "-" || proto::ReadFile("/dev/stdin", &text.emplace(), &diagnostics);
  const std::string shown = text ? "<stdin>" : name;
  std::optional<scenarios::Scenario> scenario;
  if (read) {
    scenario = text ? scenarios::LoadScenarioText(shown, *text, overrides, &diagnostics)
                    : scenarios::LoadScenario(name, overrides, &diagnostics);
  }
  Print(diagnostics, err);
  if (!scenario) return std::nullopt;
  return Job{*std::move(scenario), scenarios::ReloadOf(shown, overrides, text)};
}

}  // namespace tools
