// How many devices: tried, corrected by what the best layout on them takes, and tried again.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "scenarios/plan/plan_parts.h"

namespace scenarios {
namespace {

using sim::Number;

constexpr std::int64_t kMostDevices = 262'144;  // beyond them nothing is tried

// Between the most devices that were too few and the fewest that were enough.
class Bracket {
 public:
  // `devices` were asked for, and the best layout on so many or more has `used`.
  void Add(std::int64_t devices, std::int64_t used, bool enough) {
    if (!enough) few_ = std::max(few_, used);
    if (!enough || used > enough_) return;
    asked_ = used < enough_ ? devices : std::min(asked_, devices);
    enough_ = used;
  }
  // Whether asking for so many would tell more. Two that are a twentieth apart are as good as one.
  bool Asks(std::int64_t devices) const {
    return devices > few_ && devices < asked_ && Number(enough_ - few_) > 0.05 * Number(few_);
  }
  // What to ask for where about `wanted` should do. Layouts have gaps: where so many gave `enough` already,
  // what comes next below may do as well, down to a fifth less, since fewer devices lose less to each other.
  std::int64_t Below(std::int64_t wanted) const {
    const std::int64_t fewer = asked_ - std::max<std::int64_t>(1, asked_ / 10);
    return wanted >= asked_ && 10 * fewer >= 8 * wanted ? fewer : wanted;
  }
  std::optional<std::int64_t> enough() const {
    return enough_ < INT64_MAX ? std::optional(enough_) : std::nullopt;
  }

 private:
  std::int64_t few_ = 0, enough_ = INT64_MAX;
  std::int64_t asked_ = INT64_MAX;  // the fewest that were asked for where `enough_` came out
};

class Rounds {
 public:
  Rounds(const PlanRequest& request, const PlanBasis& basis, DevicePlan* plan)
      : r_(request),
        basis_(basis),
        plan_(*plan),
        most_(request.device_count.value_or(request.most_devices.value_or(kMostDevices))) {}

  // A few plays say about how many devices it takes; about so many all that may be the best are played.
  void Run() {
    constexpr std::int64_t kFew = 4;
    std::int64_t devices = std::min(basis_.begin, most_);
    if (r_.days && !r_.device_count) devices = Settle(devices, std::min(kFew, r_.search.plays));
    if (!plan_.search.stopped) Settle(devices, r_.search.plays);
  }

 private:
  static constexpr int kRounds = 6;

  // Tries numbers of devices until the fewest that are in time are known about to a twentieth, or the most
  // there are were tried. Leaves the plan with the best that was found, and says on how many.
  std::int64_t Settle(std::int64_t devices, std::int64_t plays) {
    Bracket tried;
    plan_.search = {};
    plan_.outcomes.clear();
    for (int round = 0; round < kRounds; ++round) {
      const PlanRound last = Search(devices, plays, tried.enough().has_value());
      if (plan_.search.stopped) return devices;
      const std::optional<std::int64_t> next = Next(last, &tried);
      if (!next) break;
      devices = *next;
    }
    return tried.enough().value_or(devices);
  }

  // What to try after `last`.
  std::optional<std::int64_t> Next(const PlanRound& last, Bracket* tried) const {
    constexpr double kCloseEnough = 0.95;  // of the deadline
    if (last.used == 0) {                  // more hold more; nothing else would get better by them
      if (!plan_.search.nearest_miss) return std::nullopt;
      const std::int64_t more = std::min(most_, last.devices + (last.devices + 1) / 2);
      return more > last.devices && !tried->enough() ? std::optional(more) : std::nullopt;
    }
    if (!r_.days || r_.device_count) return std::nullopt;
    const bool in_time = last.days <= *r_.days;
    if (in_time && last.days >= kCloseEnough * *r_.days) return std::nullopt;
    tried->Add(last.devices, last.used, in_time);
    auto wanted = static_cast<std::int64_t>(std::ceil(Number(last.used) * last.days / *r_.days));
    if (in_time) wanted = tried->Below(wanted);
    const std::int64_t next = std::min(std::max(wanted, basis_.for_memory), most_);
    const bool asks = next != last.devices && next != last.used && tried->Asks(next);
    return asks ? std::optional(next) : std::nullopt;
  }

  // Keeps what was found before where that is in time and this is not.
  PlanRound Search(std::int64_t devices, std::int64_t plays, bool in_time_before) {
    SearchOptions options = r_.search;
    options.plays = plays;
    if (plays < r_.search.plays) {  // only about how many devices is asked
      constexpr std::int64_t kFewLooks = 100;
      options.whole = 0;
      options.looks = std::min(options.looks, kFewLooks);
    }
    SearchResult found = BestLayouts(basis_.job, r_.limits, devices, most_, options);
    std::vector<PlanOutcome> outcomes;
    for (const Played& played : found.played) {
      outcomes.push_back(OutcomeOf(r_, basis_, plan_.device, played));
    }
    PlanRound round{.devices = devices, .few = plays < r_.search.plays};
    if (!outcomes.empty()) {
      round.used = found.played.front().candidate.shape.devices;
      round.days = outcomes.front().days;
    }
    plan_.rounds.push_back(round);
    const bool in_time = round.used > 0 && (!r_.days || round.days <= *r_.days);
    if (found.stopped || in_time || !in_time_before) {
      plan_.search = std::move(found);
      plan_.outcomes = std::move(outcomes);
    }
    return round;
  }

  const PlanRequest& r_;
  const PlanBasis& basis_;
  DevicePlan& plan_;
  const std::int64_t most_;
};

}  // namespace

void SearchRounds(const PlanRequest& request, const PlanBasis& basis, DevicePlan* plan) {
  Rounds(request, basis, plan).Run();
}

}  // namespace scenarios
