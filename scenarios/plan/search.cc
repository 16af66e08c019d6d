#include "scenarios/plan/search.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "hardware/device_cost_model.h"
#include "models/memory.h"
#include "models/parameters.h"
#include "scenarios/estimate.h"
#include "scenarios/run.h"

namespace scenarios {
namespace {

double Number(std::int64_t n) { return static_cast<double>(n); }

// A layout before its plans are made: how long by the roughest count, and whether it may fit at all.
struct Rough {
  LayoutChoice layout;
  JobShape shape;
  double cost = 0;  // of a token; any unit
  bool may_fit = true;
};

// Weights, gradients and optimizer alone, the least that a rank can hold of them: 6 bytes a parameter whole
// and 12 cut by the data ranks, or 18 cut.
Rough RoughOf(const PlanJob& job, const LayoutChoice& layout, const JobShape& shape) {
  const models::ModelParameters p = models::ParametersOf(job.model);
  const double experts = Number(p.layers.experts) / Number(std::max(layout.tensor, layout.expert));
  const double held = (Number(p.non_embedding() - p.layers.experts) / Number(layout.tensor) + experts) /
                      Number(layout.pipeline);
  const bool all_cut = layout.sharding == OptimizerSharding::kZero3;
  const double bytes = all_cut ? 18 * held / Number(shape.data) : held * (6 + 12 / Number(shape.data));
  Rough rough{.layout = layout, .shape = shape};
  rough.may_fit = bytes < Number(job.memory().count());
  const double bubble =
      Number(layout.pipeline - 1) / (Number(layout.virtual_stages) * Number(shape.micro_batches));
  // Small parts of a layer run slower, and ranks wait for each other: some for each doubling of the group.
  const double small = 1 + 0.02 * Number(layout.tensor - 1) / Number(layout.micro);
  const double again = layout.recompute == Recompute::kFull ? 4.0 / 3 : 1;
  rough.cost = again * (1 + bubble) * small * Number(shape.devices) / Number(shape.global_batch);
  return rough;
}

// The roughly shortest first; equal ones in the order of enumeration.
std::vector<Rough> RoughLayouts(const PlanJob& job, const LayoutLimits& limits, std::int64_t least,
                                std::int64_t most, SearchResult* result) {
  std::vector<Rough> all;
  for (const LayoutChoice& layout : LayoutsFor(job.model, job.device, limits)) {
    ++result->enumerated;
    const std::optional<JobShape> shape = ShapeFor(job, layout, least);
    if (!shape) {
      ++result->dropped["a batch that does not divide"];
    } else if (shape->devices > most) {
      ++result->dropped["groups that need more devices"];
    } else if (const Rough rough = RoughOf(job, layout, *shape); !rough.may_fit) {
      ++result->dropped["too little memory"];
    } else {
      all.push_back(rough);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Rough& a, const Rough& b) { return a.cost < b.cost; });
  return all;
}

// Data ranks of a slice: whole nodes of devices, whole groups of experts, two at the least where there are.
std::int64_t SliceData(const Candidate& c, std::int64_t devices) {
  for (std::int64_t data = 2; data < c.shape.data; ++data) {
    const bool experts = c.layout.tensor * data % c.layout.expert == 0;
    if (experts && c.layout.group() * data >= devices) return data;
  }
  return c.shape.data;
}

std::optional<Played> Play(const PlanJob& job, const Candidate& c, std::int64_t data,
                           const SearchOptions& options) {
  const JobShape shape = data == c.shape.data ? c.shape : SliceOf(c.shape, c.layout.group(), data);
  const sim::Result<Scenario> scenario = ScenarioOf(job, c.layout, shape);
  if (!scenario.ok()) return std::nullopt;
  sim::Result<RunResult> run = Run(scenario.value(), {.memory_limit = options.memory_limit});
  if (!run.ok()) return std::nullopt;
  return Played{c, shape.devices, std::move(run).value().report};
}

class Search {
 public:
  Search(const PlanJob& job, const SearchOptions& options, SearchResult* result)
      : job_(job), options_(options), result_(result) {}

  void Look(const std::vector<Rough>& layouts) {
    std::int64_t looked = 0;
    for (const Rough& rough : layouts) {
      if (looked == options_.looks) {
        result_->dropped["longer by a rough count"] = static_cast<std::int64_t>(layouts.size()) - looked;
        break;
      }
      if (!GoesOn("looked at", looked++)) return;
      sim::Result<Candidate> candidate = Examine(job_, rough.layout, rough.shape);
      if (!candidate.ok()) {
        ++result_->dropped["not simulated"];
      } else if (candidate.value().fits) {
        result_->candidates.push_back(std::move(candidate).value());
      } else {
        ++result_->dropped["too little memory"];
        Missed(std::move(candidate).value());
      }
    }
    result_->fit = static_cast<std::int64_t>(result_->candidates.size());
  }

  void PlayBest() {
    std::vector<Candidate> by_bound = result_->candidates;
    std::stable_sort(by_bound.begin(), by_bound.end(), [&](const Candidate& a, const Candidate& b) {
      return Cost(a, a.bound_s) < Cost(b, b.bound_s);
    });
    std::optional<double> best;
    for (const Candidate& c : by_bound) {
      if (best && Cost(c, c.bound_s) >= *best) {
        ++result_->ruled_out;
      } else if (static_cast<std::int64_t>(result_->played.size()) == options_.plays) {
        ++result_->left;
      } else {
        if (!GoesOn("played", static_cast<std::int64_t>(result_->played.size()))) return;
        std::optional<Played> played = Play(job_, c, SliceData(c, options_.slice), options_);
        if (!played) continue;
        best = std::min(best.value_or(Cost(c, played->step_s())), Cost(c, played->step_s()));
        result_->played.push_back(*std::move(played));
      }
    }
    Sort();
  }

  // The first ones, whole; what that shows may change their order, and who is first is whole then.
  void PlayWhole() {
    for (std::int64_t i = 0; i < options_.whole && !result_->played.empty(); ++i) {
      Played& first = result_->played.front();
      if (first.whole()) return;
      if (!GoesOn("played", static_cast<std::int64_t>(result_->played.size()))) return;
      const double slices = Number(first.candidate.shape.devices) / Number(first.devices);
      if (static_cast<double>(first.report.tasks) * slices > options_.whole_tasks) return;
      std::optional<Played> whole = Play(job_, first.candidate, first.candidate.shape.data, options_);
      if (!whole) return;
      first = *std::move(whole);
      Sort();
    }
  }

 private:
  double Cost(const Candidate& c, double step_s) const { return DeviceSecondsOfToken(c, job_, step_s); }

  bool GoesOn(const char* what, std::int64_t done) {
    if (options_.go_on && !options_.go_on(what, done)) result_->stopped = true;
    return !result_->stopped;
  }

  void Missed(Candidate candidate) {
    if (result_->nearest_miss && result_->nearest_miss->memory <= candidate.memory) return;
    result_->nearest_miss = std::move(candidate);
  }

  void Sort() {
    std::stable_sort(result_->played.begin(), result_->played.end(), [&](const Played& a, const Played& b) {
      return Cost(a.candidate, a.step_s()) < Cost(b.candidate, b.step_s());
    });
  }

  const PlanJob& job_;
  const SearchOptions& options_;
  SearchResult* result_;
};

}  // namespace

SearchResult BestLayouts(const PlanJob& job, const LayoutLimits& limits, std::int64_t least,
                         std::int64_t most, const SearchOptions& options) {
  SearchResult result;
  Search search(job, options, &result);
  search.Look(RoughLayouts(job, limits, least, most, &result));
  if (!result.stopped) search.PlayBest();
  if (!result.stopped) search.PlayWhole();
  std::stable_sort(result.candidates.begin(), result.candidates.end(),
                   [&](const Candidate& a, const Candidate& b) {
                     return DeviceSecondsOfToken(a, job, a.hand.step_s()) <
                            DeviceSecondsOfToken(b, job, b.hand.step_s());
                   });
  return result;
}

}  // namespace scenarios
