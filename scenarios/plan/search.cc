#include "scenarios/plan/search.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>
#include <utility>

#include "models/memory.h"
#include "models/parameters.h"
#include "scenarios/estimate.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/run.h"
#include "scenarios/step_builder.h"

namespace scenarios {
namespace {

using sim::Number;

// A layout before its plans are made: how long by the roughest count, and whether it may fit at all.
struct Rough {
  LayoutChoice layout;
  JobShape shape;
  double cost = 0;   // of a token; any unit
  double bytes = 0;  // of a device, at least
};

// Weights, gradients and optimizer alone, the least that a rank can hold of them: 6 bytes a parameter whole
// and 12 cut by the data ranks, or 18 cut.
Rough RoughOf(const PlanJob& job, const LayoutChoice& layout, const JobShape& shape) {
  const models::ModelParameters p = models::ParametersOf(job.model);
  const double experts = Number(p.layers.experts) /
                         Number(layout.expert > 1 ? layout.expert * layout.expert_tensor : layout.tensor);
  const double held = (Number(p.non_embedding() - p.layers.experts) / Number(layout.tensor) + experts) /
                      Number(layout.pipeline);
  const bool all_cut = layout.sharding == OptimizerSharding::kZero3;
  Rough rough{.layout = layout, .shape = shape};
  rough.bytes = all_cut ? 18 * held / Number(shape.data) : held * (6 + 12 / Number(shape.data));
  const double bubble =
      Number(layout.pipeline - 1) / (Number(layout.virtual_stages) * Number(shape.micro_batches));
  // Small parts of a layer run slower, and ranks wait for each other: some for each doubling of the group.
  const double small = 1 + 0.02 * Number(layout.tensor - 1) / Number(layout.micro);
  const double again = layout.recompute == Recompute::kFull ? 4.0 / 3 : 1;
  rough.cost = again * (1 + bubble) * small * Number(shape.devices) / Number(shape.global_batch);
  return rough;
}

// The roughly shortest first; equal ones in the order of enumeration. Of those that cannot fit the one that
// holds least, where there is any.
std::vector<Rough> RoughLayouts(const PlanJob& job, const LayoutLimits& limits, std::int64_t least,
                                std::int64_t most, SearchResult* result, std::optional<Rough>* miss) {
  std::vector<Rough> all;
  for (const LayoutChoice& layout : LayoutsFor(job.model, job.device, limits)) {
    ++result->enumerated;
    const std::optional<JobShape> shape = ShapeFor(job, layout, least, most);
    if (!shape) {
      ++result->dropped["devices or a batch that do not divide"];
    } else if (const Rough rough = RoughOf(job, layout, *shape);
               rough.bytes >= Number(job.memory().count())) {
      ++result->dropped["too little memory"];
      if (!*miss || rough.bytes < (*miss)->bytes) *miss = rough;
    } else {
      all.push_back(rough);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Rough& a, const Rough& b) { return a.cost < b.cost; });
  return all;
}

// Data ranks of a slice of `devices` or more: whole groups of experts, and stages that lie on nodes as those
// of the whole job do, for groups that begin and end inside a node are slower.
std::int64_t SliceData(const PlanJob& job, const Candidate& c, std::int64_t devices) {
  const std::int64_t node = job.device.node.devices, tensor = c.layout.tensor;
  for (std::int64_t data = 2; data < c.shape.data; ++data) {
    const bool lies = tensor * data % node == tensor * c.shape.data % node;
    if (lies && IsSlice(job, c.layout, data) && c.layout.group() * data >= devices) return data;
  }
  return c.shape.data;
}

sim::Result<Played> Play(const PlanJob& job, const Candidate& c, std::int64_t data,
                         const SearchOptions& options) {
  const JobShape shape = data == c.shape.data ? c.shape : SliceOf(c.shape, c.layout.group(), data);
  const sim::Result<Scenario> scenario = ScenarioOf(job, c.layout, shape);
  if (!scenario.ok()) return scenario.error();
  const hardware::DeviceCostModel cost = CostModelOf(scenario.value());
  const double tasks = EstimateOf(scenario.value(), PlanStages(scenario.value(), cost)).tasks;
  if (tasks > options.play_tasks) {
    return sim::Error{ToText(c.layout, c.shape.data) + " has " + std::to_string(c.shape.micro_batches) +
                      " micro-batches a step, " + std::to_string(static_cast<std::int64_t>(tasks * 1e-6)) +
                      " million tasks; a smaller batch or more devices would do"};
  }
  sim::Result<RunResult> run = Run(scenario.value(), {.memory_limit = options.memory_limit});
  if (!run.ok()) return run.error();
  return Played{c, shape.devices, std::move(run).value().report};
}

// `work` for each number below n, on as many threads as there are processors.
void SideBySide(std::size_t n, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < n; i = next++) work(i);
  };
  const std::size_t threads =
      std::min<std::size_t>(std::max<unsigned>(std::thread::hardware_concurrency(), 1), n);
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(run);
  run();
}

class Search {
 public:
  Search(const PlanJob& job, const SearchOptions& options, SearchResult* result)
      : job_(job), options_(options), result_(result) {}

  // In waves, so that threads do not matter, until enough were found that fit.
  void Look(const std::vector<Rough>& layouts) {
    constexpr std::size_t kWave = 64;
    std::size_t next = 0;
    while (next < layouts.size() && static_cast<std::int64_t>(result_->candidates.size()) < options_.looks) {
      if (!GoesOn("looked at", static_cast<std::int64_t>(next))) return;
      std::vector<std::optional<sim::Result<Candidate>>> looks(std::min(kWave, layouts.size() - next));
      SideBySide(looks.size(), [&](std::size_t i) {
        looks[i].emplace(Examine(job_, layouts[next + i].layout, layouts[next + i].shape));
      });
      for (std::optional<sim::Result<Candidate>>& look : looks) Take(*std::move(look));
      next += looks.size();
    }
    if (next < layouts.size()) {
      result_->dropped["longer by a rough count"] = static_cast<std::int64_t>(layouts.size() - next);
    }
    result_->fit = static_cast<std::int64_t>(result_->candidates.size());
  }

  // What comes nearest where everything was too much by the rough count already.
  void LookAtMiss(const std::optional<Rough>& rough) {
    if (result_->fit > 0 || result_->nearest_miss || !rough) return;
    sim::Result<Candidate> candidate = Examine(job_, rough->layout, rough->shape);
    if (candidate.ok()) Missed(std::move(candidate).value());
  }

  // In waves: what is played in one does not know of the others in it, so that threads do not matter.
  void PlayBest() {
    std::vector<Candidate> by_bound = result_->candidates;
    std::stable_sort(by_bound.begin(), by_bound.end(), [&](const Candidate& a, const Candidate& b) {
      return Cost(a, a.bound_s) < Cost(b, b.bound_s);
    });
    std::optional<double> best;
    std::int64_t plays = 0;
    for (std::size_t next = 0; next < by_bound.size();) {
      const std::size_t first = next;
      while (next < by_bound.size() && next < first + kPlaysAtOnce && plays < options_.plays &&
             (!best || Cost(by_bound[next], by_bound[next].bound_s) < *best)) {
        ++next;
        ++plays;
      }
      if (next == first) return Leave(by_bound, first, best);
      if (!GoesOn("played", plays)) return;
      for (Played& played : PlayAll(std::span(by_bound).subspan(first, next - first))) {
        const double cost = Cost(played.candidate, played.step_s());
        best = std::min(best.value_or(cost), cost);
        result_->played.push_back(std::move(played));
      }
    }
  }

  void Sort() {
    std::stable_sort(result_->played.begin(), result_->played.end(), [&](const Played& a, const Played& b) {
      return Cost(a.candidate, a.step_s()) < Cost(b.candidate, b.step_s());
    });
  }

  // Until the first is whole, for what that shows may change the order.
  void PlayWhole() {
    for (std::int64_t i = 0; i < options_.whole && !result_->played.empty(); ++i) {
      Played& first = result_->played.front();
      if (first.whole()) return;
      if (!GoesOn("played", static_cast<std::int64_t>(result_->played.size()))) return;
      const double slices = Number(first.candidate.shape.devices) / Number(first.devices);
      if (static_cast<double>(first.report.tasks) * slices > options_.whole_tasks) return;
      sim::Result<Played> whole = Play(job_, first.candidate, first.candidate.shape.data, options_);
      if (!whole.ok()) return;
      first = std::move(whole).value();
      Sort();
    }
  }

 private:
  double Cost(const Candidate& c, double step_s) const { return DeviceSecondsOfToken(c, job_, step_s); }

  void Take(sim::Result<Candidate> candidate) {
    if (!candidate.ok()) {
      ++result_->dropped["not simulated"];
      Refused(candidate.error());
    } else if (candidate.value().fits) {
      result_->candidates.push_back(std::move(candidate).value());
    } else {
      ++result_->dropped["too little memory"];
      Missed(std::move(candidate).value());
    }
  }

  // Slices, in their order. What cannot be played is left out.
  std::vector<Played> PlayAll(std::span<const Candidate> candidates) {
    std::vector<std::optional<sim::Result<Played>>> all(candidates.size());
    SideBySide(all.size(), [&](std::size_t i) {
      all[i].emplace(Play(job_, candidates[i], SliceData(job_, candidates[i], options_.slice), options_));
    });
    std::vector<Played> played;
    for (std::optional<sim::Result<Played>>& one : all) {
      if (one->ok()) {
        played.push_back(std::move(*one).value());
      } else {
        ++result_->not_playable;
        Refused(one->error());
      }
    }
    return played;
  }

  // What is not played: too long, or one too many.
  void Leave(const std::vector<Candidate>& by_bound, std::size_t first, const std::optional<double>& best) {
    for (std::size_t i = first; i < by_bound.size(); ++i) {
      const bool too_long = best && Cost(by_bound[i], by_bound[i].bound_s) >= *best;
      ++(too_long ? result_->ruled_out : result_->left);
    }
  }

  bool GoesOn(const char* what, std::int64_t done) {
    if (options_.go_on && !options_.go_on(what, done)) result_->stopped = true;
    return !result_->stopped;
  }

  void Refused(const sim::Error& error) {
    if (result_->first_refusal.empty()) result_->first_refusal = error.message;
  }

  void Missed(Candidate candidate) {
    if (result_->nearest_miss && result_->nearest_miss->memory <= candidate.memory) return;
    result_->nearest_miss = std::move(candidate);
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
  std::optional<Rough> miss;
  search.Look(RoughLayouts(job, limits, least, most, &result, &miss));
  search.LookAtMiss(miss);
  if (!result.stopped) search.PlayBest();
  search.Sort();
  if (!result.stopped) search.PlayWhole();
  std::stable_sort(
      result.candidates.begin(), result.candidates.end(), [&](const Candidate& a, const Candidate& b) {
        return DeviceSecondsOfToken(a, job, a.hand.step_s()) < DeviceSecondsOfToken(b, job, b.hand.step_s());
      });
  return result;
}

}  // namespace scenarios
