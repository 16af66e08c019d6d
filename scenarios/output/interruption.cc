#include "scenarios/output/interruption.h"

#include <nlohmann/json.hpp>

#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

std::string UnitOf(RunProgress::Phase phase) {
  return phase == RunProgress::Phase::kBuild ? "ranks" : "tasks";
}

}  // namespace

std::string InterruptionText(const Interruption& interruption) {
  const RunProgress& at = interruption.progress;
  std::string text = "interrupted after " + CountText(static_cast<std::int64_t>(at.done)) + " of " +
                     CountText(static_cast<std::int64_t>(at.of)) + ' ' + UnitOf(at.phase);
  if (at.phase == RunProgress::Phase::kBuild) return text + " were built; nothing was simulated\n";
  text += ", at " + TimeText(at.now.since_start()) + " of simulated time\n";
  if (interruption.step_ends.empty()) text += "  no step ended\n";
  sim::Time before;
  for (std::size_t step = 0; step < interruption.step_ends.size(); ++step) {
    const sim::Time end = interruption.step_ends[step];
    text += "  step " + std::to_string(step) + " ended at " + TimeText(end.since_start()) + ", " +
            TimeText(end - before) + (step == 0 ? " after the start\n" : " after the one before\n");
    before = end;
  }
  return text;
}

std::string InterruptionJson(const Interruption& interruption) {
  const RunProgress& at = interruption.progress;
  nlohmann::ordered_json ends = nlohmann::ordered_json::array();
  for (const sim::Time end : interruption.step_ends) ends.push_back(end.since_start().seconds());
  const nlohmann::ordered_json json = {
      {"interrupted", true},
      {"phase", at.phase == RunProgress::Phase::kBuild ? "build" : "simulate"},
      {UnitOf(at.phase) + "_done", at.done},
      {UnitOf(at.phase), at.of},
      {"simulated_s", at.now.since_start().seconds()},
      {"step_ends_s", ends}};
  return json.dump(2) + "\n";
}

}  // namespace scenarios
