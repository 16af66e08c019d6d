// Days on the clock of a run that saves, fails, starts again and stops for maintenance, and what each of
// these takes of them. First-order closed form: a failure interrupts training, never a restart.
//
// Source: Daly, "A higher order estimate of the optimum checkpoint interval", FGCS 22(3), 2006, section 2;
// Young, CACM 17(9), 1974; textbook 17.7.4 as erratum E18 corrects it.

#ifndef SCENARIOS_BUDGET_GOODPUT_H_
#define SCENARIOS_BUDGET_GOODPUT_H_

#include <cstdint>
#include <optional>

#include "scenarios/budget/save_storage.h"
#include "sim/base/result.h"

namespace scenarios {

// Seconds. What stops one device stops the job.
struct InterruptedRun {
  double useful_s = 0;                                // steps times the time of one; > 0
  double step_s = 0;                                  // > 0
  std::int64_t devices = 1;                           // that work
  double device_hours = kDeviceHoursBetweenFailures;  // of one device, between failures
  double stall_s = 0;                                 // of training, a save
  double write_s = 0;  // from there until the save can be read; nothing where a save is waited for
  std::optional<std::int64_t>
      every_steps;         // else what loses least, by Young, and not before the last is written
  double restart_s = 0;    // a failure: detection, new nodes, reading the save, loading it
  double maintenance = 0;  // of all the time
};

struct WallClock {
  std::int64_t every_steps = 1;    // between saves
  double failure_s = 0;            // between failures of any device
  double saves = 0, failures = 0;  // expected
  double useful_s = 0, saves_s = 0, lost_s = 0, restarts_s = 0, maintenance_s = 0;
  double wall_s() const { return useful_s + saves_s + lost_s + restarts_s + maintenance_s; }
  double goodput() const { return useful_s / wall_s(); }
};

// A failure loses half an interval between saves on average, the write of the last one, and a restart. Fails
// where failures leave no time to train, and where saves are wanted faster than they are written.
sim::Result<WallClock> WallClockOf(const InterruptedRun& run);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_GOODPUT_H_
