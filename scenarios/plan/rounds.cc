// How many devices: tried, corrected by what the best layout on them takes, and tried again.

#include <algorithm>
#include <cmath>
#include <utility>

#include "scenarios/budget/limits.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/plan/plan_parts.h"
#include "scenarios/scaling.h"

namespace scenarios {
namespace {

double Number(std::int64_t n) { return static_cast<double>(n); }

constexpr std::int64_t kMostDevices = 262'144;  // beyond them nothing is tried

// Of the simulated steps alone.
double SecondsOf(const PlanRequest& r, const PlanBasis& basis, const Played& played) {
  return r.tokens / played.candidate.tokens(basis.job) * played.step_s();
}

double DaysOf(const PlanRequest& r, const PlanBasis& basis, const Played& played) {
  const double seconds = SecondsOf(r, basis, played) * (1 + r.longer);
  return WithMaintenance(seconds, r.margins.maintenance) / kSecondsOfDay;
}

double UtilisationIn(const PlanRequest& r, const PlanBasis& basis, const Played& played) {
  const double devices = Number(played.candidate.shape.devices);
  return UtilisationOf(basis.six_pd, SecondsOf(r, basis, played), devices, basis.peak);
}

// Takes the best layout of a search over.
void Take(const PlanRequest& r, const PlanBasis& basis, SearchResult search, DevicePlan* plan) {
  plan->search = std::move(search);
  plan->best = plan->search.played.front();
  const Candidate& c = plan->best->candidate;
  plan->step_s = plan->best->step_s();
  plan->steps_of_run = StepsFor(r.tokens, c.tokens(basis.job));
  plan->days = DaysOf(r, basis, *plan->best);
  plan->utilisation = UtilisationIn(r, basis, *plan->best);
  if (plan->device.usd_per_hour) {
    plan->usd = CostUsd(DeviceHours(c.shape.devices, plan->days * 24), *plan->device.usd_per_hour);
  }
}

// Between the most devices that were too few and the fewest that were enough.
class Bracket {
 public:
  void Add(std::int64_t devices, bool enough) {
    if (enough) enough_ = std::min(enough_, devices);
    if (!enough) few_ = std::max(few_, devices);
  }
  // Whether trying so many would tell more. Two that are three in a hundred apart are as good as one.
  bool Asks(std::int64_t devices) const {
    return devices > few_ && devices < enough_ && Number(enough_ - few_) > 0.03 * Number(few_);
  }

 private:
  std::int64_t few_ = 0, enough_ = INT64_MAX;
};

}  // namespace

void SearchRounds(const PlanRequest& r, const PlanBasis& basis, DevicePlan* plan) {
  constexpr int kRounds = 6;
  const std::int64_t most = r.most_devices.value_or(kMostDevices);
  std::int64_t devices = std::min(basis.begin, most);
  Bracket tried;
  bool late = true;  // what is taken so far
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t at_most = r.device_count ? *r.device_count : most;
    SearchResult search = BestLayouts(basis.job, r.limits, devices, at_most, r.search);
    if (search.stopped) {
      plan->search = std::move(search);
      return;
    }
    PlanRound done{.devices = devices};
    if (search.played.empty()) {
      plan->rounds.push_back(done);
      if (!plan->best) plan->search = std::move(search);
      if (r.device_count || devices >= most || plan->best) return;
      devices = std::min(most, devices + (devices + 1) / 2);  // they hold too little
      continue;
    }
    const Played& best = search.played.front();
    done.used = best.candidate.shape.devices;
    done.days = DaysOf(r, basis, best);
    done.utilisation = UtilisationIn(r, basis, best);
    plan->rounds.push_back(done);
    const bool in_time = !r.days || done.days <= *r.days;
    if (!plan->best || late || in_time) Take(r, basis, std::move(search), plan);
    late = late && !in_time;
    if (!r.days || r.device_count) return;
    constexpr double kCloseEnough = 0.95;  // of the deadline
    if (in_time && done.days >= kCloseEnough * *r.days) return;
    tried.Add(done.used, in_time);
    const auto wanted = static_cast<std::int64_t>(std::ceil(Number(done.used) * done.days / *r.days));
    const std::int64_t next = std::min(std::max(wanted, basis.for_memory), most);
    if (next == devices || next == done.used || !tried.Asks(next)) return;
    devices = next;
  }
}

}  // namespace scenarios
