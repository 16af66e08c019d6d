// orrery compare: a job and variants of it beside each other, and why they differ.

#include <algorithm>
#include <optional>
#include <ostream>
#include <thread>

#include "scenarios/catalogue.h"
#include "scenarios/estimate.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/output/comparison_output.h"
#include "scenarios/run.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/load_job.h"
#include "tools/memory_limit.h"

namespace tools {
namespace {

using scenarios::Scenario;
using scenarios::VariantSpec;

sim::Result<Scenario> LoadVariant(const VariantSpec& spec, const Job& base) {
  if (spec.job.empty()) return base.reload(spec.changes);
  if (spec.job == "-") return sim::Error{"only the base may come from standard input"};
  return scenarios::ReloadOf(spec.job, {})(spec.changes);
}

// As many at a time as there are processors, where the memory holds all of them; else one after the other.
std::size_t ThreadsFor(const std::vector<sim::Result<Scenario>>& jobs) {
  double memory = 0;
  for (const sim::Result<Scenario>& job : jobs) {
    if (!job.ok()) continue;
    const auto stages = scenarios::PlanStages(job.value(), scenarios::CostModelOf(job.value()));
    memory += scenarios::EstimateOf(job.value(), stages).memory_bytes;
  }
  return memory > MemoryForARun() ? 1 : std::max(std::thread::hardware_concurrency(), 1u);
}

sim::Result<scenarios::PlayedJob> Play(const Scenario& scenario, const InterruptWatch& watch) {
  auto run = scenarios::Run(scenario,
                            {.memory_limit = MemoryForARun(),
                             .go_on = [&](const scenarios::RunProgress&) { return !watch.interrupted(); }});
  if (!run.ok()) return run.error();
  if (run.value().interruption) return sim::Error{"interrupted"};
  return scenarios::ReadPlayed(scenario, std::move(run).value());
}

std::string BaseText(const Scenario& base) {
  std::string text = base.name;
  for (const std::string& set : base.overrides) text += " " + set;
  return text;
}

std::vector<VariantSpec> VariantsOf(const Arguments& arguments, std::vector<std::string>* errors) {
  std::vector<VariantSpec> variants;
  const auto given = arguments.values.find("vs");
  if (given == arguments.values.end()) {
    errors->push_back("--vs is missing; what to compare with is wanted: --vs \"layout.tensor=4\"");
    return variants;
  }
  for (const std::string& text : given->second) {
    auto variant = scenarios::ParseVariant(text);
    if (variant.ok()) {
      variants.push_back(std::move(variant).value());
    } else {
      errors->push_back("--vs " + std::to_string(variants.size() + errors->size() + 1) + ": " +
                        variant.error().message);
    }
  }
  return variants;
}

int RunCompare(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) return Fail(overrides.error().message, err);
  std::vector<std::string> errors;
  const std::vector<VariantSpec> variants = VariantsOf(arguments, &errors);
  const std::string name =
      arguments.positional.empty() ? std::string(scenarios::kDefaultScenario) : arguments.positional.front();
  const std::optional<Job> base = LoadJob(name, overrides.value(), err);
  for (const std::string& error : errors) Fail(error, err);
  if (!base || !errors.empty()) return kExitUsage;

  std::vector<sim::Result<Scenario>> jobs = {base->scenario};
  std::vector<std::string> texts = {BaseText(base->scenario)};
  for (const VariantSpec& variant : variants) {
    jobs.push_back(LoadVariant(variant, *base));
    texts.push_back(variant.text);
  }
  const InterruptWatch watch;
  const scenarios::Comparison comparison =
      scenarios::Compare(texts, ThreadsFor(jobs), [&](std::size_t i) -> sim::Result<scenarios::PlayedJob> {
        if (!jobs[i].ok()) return jobs[i].error();
        return Play(jobs[i].value(), watch);
      });
  if (watch.interrupted()) return kExitInterrupted;
  if (!comparison.base.played) return Fail(comparison.base.refused, err);
  out << (arguments.has("json") ? scenarios::ComparisonJson(comparison)
                                : scenarios::ComparisonText(comparison));
  if (!comparison.any_variant()) return Fail("no variant could be played", err);
  if (comparison.base.played->report.fits) return kExitDone;
  err << "orrery: the base does not fit into the memory of its devices\n";
  return kExitNo;
}

}  // namespace

Command CompareCommand() {
  return {
      "compare",
      "A job beside variants of it: what each takes, and why, in parts that add up.",
      "[SCENARIO] [--set PATH=VALUE]... --vs VARIANT... [--json]",
      1,
      {{"vs", "VARIANT", "\"PATH=VALUE ...\" to change in the base, or \"OTHER_SCENARIO [PATH=VALUE ...]\"",
        true},
       {"set", "PATH=VALUE", "change a field of the base, and so of variants of it", true},
       {"json", "", "print one JSON document"}},
      "  What cannot be loaded or played is a row that says why; exit status 1 where the base does not fit\n"
      "  into its devices' memory, 2 where no variant could be played. A variant that does other work a\n"
      "  device (tokens, devices, FLOPs a token) is told apart first, at the base's speed.\n"
      "  orrery compare llama_70b_64xh800_a --vs \"layout.tensor=4 layout.pipeline=8\"\n"
      "  orrery compare llama_70b_64xh800_a --vs llama_70b_64xh800_b --vs \"other.textproto steps=4\"\n",
      RunCompare};
}

}  // namespace tools
