// orrery check: are these scenarios legal?

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <vector>

#include "scenarios/catalogue.h"
#include "scenarios/checkpoint_report.h"
#include "scenarios/closed_form.h"
#include "scenarios/estimate.h"
#include "scenarios/groups.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/output/report_text.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"
#include "tools/commands.h"

namespace tools {
namespace {

std::string Summary(const scenarios::Scenario& s) {
  const auto n = [](std::int64_t value) { return std::to_string(value); };
  std::string text = s.name + ": legal: " + s.model.name + " on " + n(s.devices) + " x " + s.device.name +
                     ", tensor " + n(s.layout.tensor) +
                     (s.layout.context > 1 ? " x context " + n(s.layout.context) : std::string()) +
                     " x pipeline " + n(s.layout.pipeline) + " x data " + n(s.layout.data);
  if (s.model.experts.routed > 0 && s.layout.spreads_experts()) {
    text += ", experts expert_tensor " + n(s.layout.expert_tensor) + " x expert " + n(s.layout.expert) +
            " x expert data " + n(s.layout.expert_data());
  }
  return text + ", " + n(s.batch.micro_batches) +
         (s.batch.micro_batches == 1 ? " micro-batch of " : " micro-batches of ") + n(s.batch.micro) + " x " +
         n(s.batch.sequence_length) + " tokens";
}

// What is known without simulating: memory, the planner's figures, and what a
// simulation would take.
struct Foresight {
  sim::Bytes memory, capacity;
  std::vector<scenarios::BytePart> parts;  // of the memory
  scenarios::ClosedForm form;
  scenarios::Estimate estimate;
  std::vector<scenarios::GroupKind> groups;
  std::optional<sim::Bytes> save;  // null: nothing is saved
  scenarios::IdleSave idle_save;
  bool fits() const { return memory <= capacity; }
};

Foresight ForeseeOf(const scenarios::Scenario& s) {
  const auto stages = scenarios::PlanStages(s, scenarios::CostModelOf(s));
  const scenarios::StageMemory largest = scenarios::LargestStageMemory(s, stages);
  Foresight foresight{.memory = largest.total,
                      .capacity = s.device.usable_memory,
                      .parts = largest.parts,
                      .form = scenarios::ClosedFormOf(s, stages),
                      .estimate = scenarios::EstimateOf(s, stages),
                      .groups = scenarios::GroupsOf(s)};
  if (s.checkpoint) {
    const scenarios::CheckpointPlan plan = scenarios::PlanCheckpoint(s);
    foresight.save = plan.total;
    foresight.idle_save = scenarios::IdleTimesOf(s, plan);
  }
  return foresight;
}

std::string SaveText(const Foresight& f) {
  if (!f.save) return "";
  return "  a save of " + scenarios::CountText(f.save->count()) + " bytes takes " +
         scenarios::TimeText(f.idle_save.copy) + " to copy and " + scenarios::TimeText(f.idle_save.write) +
         " to write on an idle fabric\n";
}

std::string PartsText(const Foresight& f) {
  std::string text;
  for (const scenarios::BytePart& part : f.parts) {
    if (part.bytes == sim::Bytes()) continue;
    text += (text.empty() ? "    " : ", ") + part.name + ' ' + scenarios::BytesText(part.bytes);
  }
  return text + '\n';
}

std::int64_t Whole(double count) { return std::llround(std::min(count, 9e18)); }

std::string TextOf(const Foresight& f) {
  char bubble[32];
  std::snprintf(bubble, sizeof bubble, "%.1f", 100 * f.form.bubble_share);
  std::string groups;
  for (const scenarios::GroupKind& kind : f.groups) groups += "  " + scenarios::ToText(kind) + '\n';
  std::string context;
  if (f.form.context_bytes_per_rank > 0) {
    context = "  context parallelism sends " +
              scenarios::BytesText(sim::Bytes(Whole(f.form.context_bytes_per_rank))) + " a device and step\n";
  }
  return "  memory " + scenarios::BytesText(f.memory) + " a device of " + scenarios::BytesText(f.capacity) +
         (f.fits() ? ": fits\n" : ": does not fit\n") + PartsText(f) + "  6PD takes " +
         scenarios::SecondsText(f.form.time_at_peak_s) + " at peak; pipeline bubble " + bubble + " %\n" +
         context + SaveText(f) + "  simulating all its ranks is about " +
         scenarios::CountText(static_cast<std::int64_t>(std::min(f.estimate.tasks, 9e18))) + " tasks and " +
         scenarios::BytesText(
             sim::Bytes(static_cast<std::int64_t>(std::min(f.estimate.memory_bytes, 9e18)))) +
         "; `orrery run` plays one rank of each kind\n" + groups;
}

nlohmann::ordered_json JsonOf(const scenarios::GroupKind& kind) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const sim::Rank rank : kind.example) ranks.push_back(rank.value());
  return {{"name", kind.name},
          {"groups", kind.groups},
          {"of_rank_0", ranks},
          {"most_domains", kind.most_domains}};
}

nlohmann::ordered_json JsonOf(const std::string& name, const proto::Diagnostics& diagnostics,
                              const std::optional<Foresight>& f) {
  nlohmann::ordered_json json = {{"scenario", name},
                                 {"legal", f.has_value()},
                                 {"errors", diagnostics.errors()},
                                 {"warnings", diagnostics.warnings()}};
  const auto add = [&](const char* key, auto value) {
    json[key] = f ? nlohmann::ordered_json(value) : nullptr;
  };
  add("fits", f ? f->fits() : false);
  add("memory_bytes_per_gpu", f ? f->memory.count() : 0);
  add("memory_capacity_bytes_per_gpu", f ? f->capacity.count() : 0);
  add("six_pd_flops", f ? f->form.six_pd_flops : 0);
  add("time_at_peak_s", f ? f->form.time_at_peak_s : 0);
  add("bubble_share", f ? f->form.bubble_share : 0);
  add("context_bytes_per_rank", f ? f->form.context_bytes_per_rank : 0);
  const bool saves = f && f->save;
  json["checkpoint_bytes"] = saves ? nlohmann::ordered_json(f->save->count()) : nullptr;
  json["checkpoint_copy_s"] = saves ? nlohmann::ordered_json(f->idle_save.copy.seconds()) : nullptr;
  json["checkpoint_write_s"] = saves ? nlohmann::ordered_json(f->idle_save.write.seconds()) : nullptr;
  // Whole numbers, as far as they fit; estimates of the absurd do not.
  add("estimated_tasks", f ? Whole(f->estimate.tasks) : 0);
  add("estimated_memory_bytes", f ? Whole(f->estimate.memory_bytes) : 0);
  json["groups"] = nlohmann::ordered_json::array();
  if (f) {
    for (const scenarios::GroupKind& kind : f->groups) json["groups"].push_back(JsonOf(kind));
  }
  return json;
}

int RunCheck(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) return Fail(overrides.error().message, err);
  std::vector<std::string> names = arguments.positional;
  if (names.empty()) names.emplace_back(scenarios::kDefaultScenario);
  nlohmann::ordered_json document = {{"schema_version", 1}, {"scenarios", nlohmann::ordered_json::array()}};
  bool legal = true, fits = true;
  for (const std::string& name : names) {
    proto::Diagnostics diagnostics;
    const auto scenario = scenarios::LoadScenario(name, overrides.value(), &diagnostics);
    std::optional<Foresight> foresight;
    if (scenario) foresight = ForeseeOf(*scenario);
    legal = legal && scenario.has_value();
    fits = fits && (!foresight || foresight->fits());
    if (arguments.has("json")) {
      document["scenarios"].push_back(JsonOf(scenario ? scenario->name : name, diagnostics, foresight));
      continue;
    }
    Print(diagnostics, err);
    if (scenario) out << Summary(*scenario) << '\n' << TextOf(*foresight);
  }
  // File names and values come from outside; what is not UTF-8 is replaced.
  if (arguments.has("json")) {
    out << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  }
  if (!legal) return kExitUsage;
  return fits ? kExitDone : kExitNo;
}

}  // namespace

Command CheckCommand() {
  constexpr std::size_t kMostScenarios = 1000;
  return {
      "check",
      "Checks scenarios without running them: every mistake in one run, memory, closed forms.",
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
