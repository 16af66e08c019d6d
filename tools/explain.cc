// orrery explain: the critical path of a step, slack, sensitivities and bounds.

#include <charconv>
#include <optional>
#include <ostream>

#include "scenarios/catalogue.h"
#include "scenarios/output/explanation_output.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/load_job.h"
#include "tools/memory_limit.h"

namespace tools {
namespace {

// By how many per cent parameters grow when the job is played again.
sim::Result<std::optional<double>> CheckOf(const Arguments& arguments) {
  if (!arguments.has("check")) return std::optional<double>();
  const std::string text = arguments.value("check");
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size() || !(percent >= 0.01 && percent <= 100)) {
    return sim::Error{"--check: \"" + text +
                      "\" is no number of per cent from 0.01 to 100; wanted one like 1"};
  }
  return std::optional<double>(percent / 100);
}

int RunExplain(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) return Fail(overrides.error().message, err);
  const auto check = CheckOf(arguments);
  if (!check.ok()) return Fail(check.error().message, err);
  const std::string name =
      arguments.positional.empty() ? std::string(scenarios::kDefaultScenario) : arguments.positional.front();
  const std::optional<Job> job = LoadJob(name, overrides.value(), err);
  if (!job) return kExitUsage;
  const InterruptWatch watch;
  scenarios::ExplainOptions options;
  // The job stands in memory up to three times: as it is, dissected, and played again.
  options.run.memory_limit = MemoryForARun() / 3;
  options.run.go_on = [&](const scenarios::RunProgress&) { return !watch.interrupted(); };
  options.check = check.value();
  const auto explained = scenarios::Explain(job->scenario, options);
  if (watch.interrupted()) return kExitInterrupted;
  if (!explained.ok()) return Fail(explained.error().message, err);
  out << (arguments.has("json") ? scenarios::ExplanationJson(explained.value())
                                : scenarios::ExplanationText(explained.value()));
  if (explained.value().report.fits) return kExitDone;
  err << "orrery: the job does not fit into the memory of its devices\n";
  return kExitNo;
}

}  // namespace

Command ExplainCommand() {
  return {
      "explain",
      "Why a step takes as long: its critical path by cause, slack, sensitivities, bounds.",
      "[SCENARIO] [--set PATH=VALUE]... [--check PERCENT] [--json]",
      1,
      {{"set", "PATH=VALUE", "change a field: layout.tensor=8", true},
       {"check", "PERCENT", "play again with each figure so much larger, beside what the path says"},
       {"json", "", "print one JSON document"}},
      "  The critical path is the chain of tasks, over all ranks, that makes the step as long as it is;\n"
      "  its causes add up to the step time. A rate is changed of all links of its kind, and with it what\n"
      "  collectives reach of it. Latency is all that a communication takes before its bytes move.\n"
      "  orrery explain llama_70b_64xh800_b --check 1\n"
      "  orrery explain mcore_gpt_1_7b_48xh100 --set training.launches=EAGER --json | jq .sensitivities\n",
      RunExplain};
}

}  // namespace tools
