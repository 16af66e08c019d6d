#include "scenarios/scale/best_layout.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "scenarios/kernel_costs.h"
#include "scenarios/layout_rules.h"
#include "scenarios/plan/candidate.h"
#include "scenarios/plan/layout_choice.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"

namespace scenarios {
namespace {

// A layout that loads and fits.
struct Looked {
  Scenario scenario;
  double bound_s = 0;
};

Changes ChangesFor(const LayoutChoice& layout, std::int64_t devices, std::int64_t batch, std::int64_t data,
                   std::int64_t accumulation) {
  const auto set = [](const char* path, std::int64_t value) { return path + std::to_string(value); };
  return {set("devices=", devices),
          set("batch.global=", batch),
          set("batch.micro=", layout.micro),
          set("batch.accumulation=", accumulation),
          set("layout.tensor=", layout.tensor),
          std::string("layout.sequence=") + (layout.tensor > 1 ? "true" : "false"),
          set("layout.pipeline=", layout.pipeline),
          set("layout.virtual=", layout.virtual_stages),
          set("layout.expert=", layout.expert),
          set("layout.expert_tensor=", layout.expert_tensor),
          set("layout.data=", data)};
}

// All that may be chosen, each once.
std::vector<LayoutChoice> ChoicesFor(const Scenario& s) {
  LayoutLimits limits{.sharding = s.training.optimizer_sharding, .recompute = s.training.recompute};
  std::vector<LayoutChoice> choices = LayoutsFor(s.model, s.device, limits);
  limits.micro = s.batch.micro;
  const std::vector<LayoutChoice> own = LayoutsFor(s.model, s.device, limits);
  choices.insert(choices.end(), own.begin(), own.end());
  std::sort(choices.begin(), choices.end());
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  return choices;
}

class Search {
 public:
  Search(const Scenario& scenario, std::int64_t devices, std::int64_t batch, const Reload& reload)
      : scenario_(scenario), devices_(devices), batch_(batch), reload_(reload) {}

  // Those that load and fit, the lowest bound first.
  std::vector<Looked> Look(const std::function<bool()>& stopped) {
    std::vector<Looked> looked;
    for (const LayoutChoice& layout : ChoicesFor(scenario_)) {
      if (stopped()) break;
      auto one = LookAt(layout);
      if (one.ok()) {
        looked.push_back(std::move(one).value());
      } else if (why_not_.empty()) {
        why_not_ = one.error().message;
      }
    }
    std::stable_sort(looked.begin(), looked.end(),
                     [](const Looked& a, const Looked& b) { return a.bound_s < b.bound_s; });
    return looked;
  }

  const std::string& why_not() const { return why_not_; }  // of the first that did not

 private:
  sim::Result<Looked> LookAt(const LayoutChoice& layout) const {
    const auto data = DataRanks(devices_, layout.tensor, scenario_.layout.context, layout.pipeline);
    if (!data.ok()) return data.error();
    const auto accumulation = Accumulation(batch_, layout.micro, data.value());
    if (!accumulation.ok()) return accumulation.error();
    sim::Result<Scenario> loaded =
        reload_(ChangesFor(layout, devices_, batch_, data.value(), accumulation.value()));
    if (!loaded.ok()) return loaded.error();
    const std::vector<StagePlan> stages = PlanStages(loaded.value(), CostModelOf(loaded.value()));
    if (LargestStageMemory(loaded.value(), stages).total > loaded.value().device.usable_memory) {
      return sim::Error{"too little memory on " + std::to_string(devices_) + " devices"};
    }
    const double bound = LeastStepSeconds(loaded.value(), stages);
    return Looked{std::move(loaded).value(), bound};
  }

  const Scenario& scenario_;
  const std::int64_t devices_, batch_;
  const Reload& reload_;
  std::string why_not_;
};

}  // namespace

sim::Result<BestPlay> BestLayout(const Scenario& scenario, std::int64_t devices, std::int64_t batch,
                                 const Reload& reload, const PlayOne& play,
                                 const std::function<bool()>& stopped) {
  Search search(scenario, devices, batch, reload);
  std::vector<Looked> looked = search.Look(stopped);
  std::string why_not = search.why_not();
  std::optional<BestPlay> best;
  std::int64_t played = 0;
  for (Looked& one : looked) {
    if (stopped()) return sim::Error{"interrupted"};
    if (best && one.bound_s >= best->report.step_time.seconds()) break;
    if (played == kMostPlays) {
      ++best->left;
      continue;
    }
    const sim::Result<Report> report = play(one.scenario);
    if (!report.ok()) {
      why_not = report.error().message;
      continue;
    }
    ++played;
    if (!best || report.value().step_time < best->report.step_time) {
      best = BestPlay{std::move(one.scenario), report.value()};
    }
  }
  if (stopped()) return sim::Error{"interrupted"};
  if (!best) return sim::Error{"no layout on " + std::to_string(devices) + " devices: " + why_not};
  best->fit = static_cast<std::int64_t>(looked.size());
  best->played = played;
  return *std::move(best);
}

}  // namespace scenarios
