// The bill of materials of a training run: what to buy or rent for it, what that draws and costs, and for how
// long it is needed with the failures that so many devices have. Every figure with its formula; whatever is
// neither given nor published is a line without a figure that says so.
//
// Source of the formulas and prices: textbook, 17.5.9, 17.6.10, 17.7.3 to 17.7.5, 17.9.3, as docs/textbook.md
// corrects them; the assumptions of a bill name what else.

#ifndef SCENARIOS_BUDGET_BILL_H_
#define SCENARIOS_BUDGET_BILL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "scenarios/budget/budget_line.h"
#include "scenarios/budget/goodput.h"
#include "scenarios/budget/limits.h"
#include "sim/base/units.h"

namespace scenarios {

struct BudgetRequest;

// What a planner may choose; where something is not given, an Assumption of the bill says what stands for it.
struct BillChoices {
  std::optional<std::int64_t> rails;         // NICs of a node that are cabled
  std::optional<std::int64_t> switch_ports;  // of one switch, all alike
  std::optional<double> device_hours;        // of a device, between failures
  std::optional<std::int64_t> every_steps;   // between saves
  std::optional<double> write_s;             // in which a save is written, beside training
  std::optional<double> restart_s;           // without reading the save
  std::optional<std::int64_t> saves_kept;
  std::optional<std::int64_t> replicas;  // of everything stored

  std::optional<double> usd_of_device;  // bought
  std::optional<double> usd_of_node;    // without its devices
  std::optional<double> usd_of_switch;
  std::optional<double> usd_of_cable;
  std::optional<double> usd_per_gb_month;  // of storage
  std::optional<double> usd_per_kwh;
  std::optional<double> cooling;           // power for it, as a part of the IT's
  std::optional<double> years;             // of depreciation
  std::optional<double> hours_of_failure;  // of a person's hands
  std::optional<double> usd_of_person_year;
};

// What a plan knows.
struct BillRequest {
  hardware::Device device;                    // and its node: devices, NICs, host memory, drives
  std::int64_t working = 1;                   // devices that train
  double useful_s = 0;                        // steps times the time of one; > 0
  double step_s = 0;                          // > 0
  sim::Bytes save;                            // of the training state; > 0
  double dataset_bytes = 0;                   // as stored, once
  Margins margins;                            // spares and maintenance are looked at
  std::optional<double> usd_per_device_hour;  // rented; nothing: not known
  std::vector<Assumption> assumptions;        // of the plan; they come first in the bill's
  BillChoices choices;
};

struct Bill {
  std::string device;
  std::int64_t working = 0;
  WallClock clock;
  std::vector<Assumption> assumptions;
  std::vector<BudgetLine> lines;  // by section, in order
  std::vector<std::string> warnings;

  // REQUIRES: there is such a line
  const BudgetLine& line(const std::string& section, const std::string& name) const {
    return LineOf(lines, section, name);
  }
};

// Fails with all that is contradictory or beyond what can be built, a line each: failures that leave no time
// to train, more nodes than three levels of switches connect.
struct BillResult {
  std::optional<Bill> bill;
  std::vector<std::string> errors;
};
BillResult BillOfMaterials(const BillRequest& request);

// Of what a budget chooses; nothing, and why, where MakeBudget has nothing either.
std::optional<BillRequest> BillRequestOf(const BudgetRequest& request, const BillChoices& choices,
                                         std::vector<std::string>* errors);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_BILL_H_
