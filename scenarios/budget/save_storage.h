// What saves of the training state take: their size by contents, places kept, rates to write and
// read them, and how often something fails. When to save: scenarios/checkpoint_forms.h.
//
// Source: textbook, 27.7, 17.7.3 to 17.7.5; errata E18, E19.

#ifndef SCENARIOS_BUDGET_SAVE_STORAGE_H_
#define SCENARIOS_BUDGET_SAVE_STORAGE_H_

#include <cstdint>

#include "models/training_state.h"
#include "sim/base/units.h"

namespace scenarios {

// A save has the weights, and of the optimizer what starts it again; gradients never (erratum E19).
// Of AdamW in mixed precision: 14 bytes a parameter; 12 without the narrow weights, which the master
// copy gives; 10 without the master copy.
struct SaveContents {
  bool weights = true;
  bool master = true;
  bool optimizer = true;
};
sim::Bytes SaveBytes(const models::TrainingState& state, const SaveContents& contents = {});

// Saves that are kept: the last ones, and one of each so many days.
constexpr double SavesKept(double latest, double days, double days_apart) {
  return latest + days / days_apart;
}

// Bytes a second that writes `bytes` within `window_s`, by each of `writers`.
constexpr double WriteRate(double bytes, double window_s, double writers = 1) {
  return bytes / (window_s * writers);
}

// Hours between failures of `devices` when one fails every `device_hours`, with no memory of its age. The
// interval that loses least follows from it by Young and Daly; the textbook's rule takes a fifth
// to a tenth of it.
// Source: Llama team, "The Llama 3 herd of models", 2024, section 3.3.4: 419 unexpected interruptions in 54
// days of 16,384 devices are 50,700 device-hours each.
constexpr double HoursBetweenFailures(double device_hours, double devices) { return device_hours / devices; }
inline constexpr double kDeviceHoursBetweenFailures = 54.0 * 24 * 16384 / 419;

// The part of the time that trains when saves stall it, failures throw work away and restarts take time; at
// least 0. To first order: failures do not meet each other.
// Source: Daly, "A higher order estimate of the optimum checkpoint interval", FGCS 22(3), 2006, section 2.
struct Interruptions {
  double interval_s = 0;  // of training between saves
  double stall_s = 0;     // of one save
  double failure_s = 0;   // between failures
  double restart_s = 0;   // until training goes on
};
double Goodput(const Interruptions& i);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_SAVE_STORAGE_H_
