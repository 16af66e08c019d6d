#include "scenarios/budget/goodput.h"

#include <algorithm>
#include <cmath>

#include "scenarios/budget/plan_request.h"
#include "scenarios/checkpoint_forms.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

// A save that is not written yet is lost like the work after it, so its write is a part of the restart.
double GoodputEvery(const InterruptedRun& run, double steps, double failure_s) {
  return Goodput({.interval_s = steps * run.step_s,
                  .stall_s = run.stall_s,
                  .failure_s = failure_s,
                  .restart_s = run.restart_s + run.write_s});
}

// Young's interval in whole steps, the better of two, within what the writes and the run allow.
double BestSteps(const InterruptedRun& run, double failure_s) {
  const double least = std::max(std::ceil(run.write_s / run.step_s), 1.0);
  const double most = std::max(std::ceil(run.useful_s / run.step_s), least);
  const double young = YoungInterval(run.stall_s, failure_s) / run.step_s;
  const double below = std::clamp(std::floor(young), least, most);
  const double above = std::clamp(std::ceil(young), least, most);
  return GoodputEvery(run, below, failure_s) >= GoodputEvery(run, above, failure_s) ? below : above;
}

}  // namespace

sim::Result<WallClock> WallClockOf(const InterruptedRun& run) {
  CHECK(run.useful_s > 0 && run.step_s > 0 && run.devices > 0 && run.device_hours > 0);
  CHECK(run.stall_s >= 0 && run.write_s >= 0 && run.restart_s >= 0);
  CHECK(run.maintenance >= 0 && run.maintenance < 1);
  const double failure_s = HoursBetweenFailures(run.device_hours, static_cast<double>(run.devices)) * 3600;
  const double steps = run.every_steps ? static_cast<double>(*run.every_steps) : BestSteps(run, failure_s);
  const double interval = steps * run.step_s;
  CHECK(steps >= 1);
  if (interval + run.stall_s < run.write_s) {
    return sim::Error{"saves: one every " + Short(steps) + " steps is due after " +
                      Short(interval + run.stall_s) + " s, and it takes " + Short(run.write_s) +
                      " s to write one; fewer saves or a faster storage are wanted"};
  }
  const double lost_each = (interval + run.stall_s) / 2 + run.write_s;
  if (GoodputEvery(run, steps, failure_s) <= 0) {
    return sim::Error{"devices: " + Grouped(run.devices) + " fail every " + Short(failure_s) +
                      " s, and a failure costs " + Short(lost_each) + " s of work and " +
                      Short(run.restart_s) +
                      " s to start again; more saves, faster restarts or fewer devices are wanted"};
  }
  WallClock w{.every_steps = static_cast<std::int64_t>(steps), .failure_s = failure_s};
  w.useful_s = run.useful_s;
  w.saves = run.useful_s / interval;
  w.saves_s = w.saves * run.stall_s;
  // Failures come as often while work is done again as before, which Goodput has summed up.
  const double running = run.useful_s / GoodputEvery(run, steps, failure_s);
  w.failures = running / failure_s;
  w.lost_s = w.failures * lost_each;
  w.restarts_s = w.failures * run.restart_s;
  w.maintenance_s = running * run.maintenance / (1 - run.maintenance);
  return w;
}

}  // namespace scenarios
