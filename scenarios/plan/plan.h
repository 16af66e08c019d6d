// From a model, tokens, a deadline and money to devices and a layout: the ten steps of the textbook, of which
// the utilisation is the outcome of a simulation, not an input.
//
//   1 parameters   2 FLOPs   3 a first utilisation   4 devices that hold the state   5 devices that are in
//   time   6 layouts   7 memory   8 communication   9 storage   10 money
//
// Steps 3 and 5 by hand say how many devices to begin with. The best layout on so many (search.h) says how
// long the run takes; the number is corrected by that, and the search made again, until it does not change.
//
// Source: textbook, 17.9.4 (ten steps) and 17.5.10 (the six of a layout, which are 4 to 8).

#ifndef SCENARIOS_PLAN_PLAN_H_
#define SCENARIOS_PLAN_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/budget/bill.h"
#include "scenarios/budget/budget.h"
#include "scenarios/budget/limits.h"
#include "scenarios/plan/search.h"

namespace scenarios {

// Steps of real runs take longer than simulated ones, by what is not simulated: devices that are slower than
// others, input, frameworks' own work. So much on average over 21 sources of 367 published ones, which hosts
// launch kernel by kernel; docs/validation.md. Planned ones are CUDA graphs.
inline constexpr double kLongerThanSimulated = 0.16;

// One kind of device to plan with.
struct PlanDevice {
  hardware::Device device;
  std::string name;  // as a scenario file names it
  std::optional<double> usd_per_hour;
  std::string price_source;  // "given", or where it is from; empty without a price
};

struct PlanRequest {
  models::Model model;
  std::string model_name;           // as a scenario file names it
  std::vector<PlanDevice> devices;  // one plan each
  double tokens = 0;
  std::optional<double> days;                // the deadline; else as long as it takes
  std::optional<std::int64_t> device_count;  // so many, instead of what the deadline needs
  std::optional<std::int64_t> most_devices;  // that can be had
  std::optional<double> budget_usd;
  std::int64_t sequence_length = 4096;
  std::optional<std::int64_t> global_batch;  // sequences of a step
  std::optional<double> utilisation;         // the first guess; MFU counted as 6PD
  LayoutLimits limits;
  std::string topology;  // empty: as many rails as NICs
  Margins margins;       // spares, maintenance, safety
  BillChoices bill;
  double longer = kLongerThanSimulated;  // part that steps take longer than simulated
  SearchOptions search;
};

// One of the ten.
struct PlanStep {
  int number = 0;
  std::string title;
  std::vector<BudgetLine> lines;
  std::string reasoning;  // a sentence or two; with the figures that decide
  bool binds = false;     // nothing else asks for more devices, or this is what does not hold
};

// What a layout that was played makes of the run.
struct PlanOutcome {
  double days = 0;            // on the clock: longer than simulated; saves, failures, restarts, maintenance
  double utilisation = 0;     // 6PD over the peak, as simulated
  std::int64_t steps = 0;     // of the run
  std::optional<double> usd;  // rented; nothing without a price
  std::optional<Bill> bill;   // nothing where there can be none:
  std::vector<std::string> errors;
};

// Devices that were tried, and what came of it.
struct PlanRound {
  std::int64_t devices = 0;  // asked for
  std::int64_t used = 0;     // by the best layout; 0: none
  bool few = false;          // a few layouts were played only, to see about how many devices it takes
  double days = 0;
};

struct DevicePlan {
  PlanDevice device;
  bool feasible = false;
  std::vector<PlanStep> steps;
  std::vector<PlanRound> rounds;
  SearchResult search;                // of the round that was chosen
  std::vector<PlanOutcome> outcomes;  // of search.played, one each
  std::vector<Assumption> assumptions;
  double guess = 0;                // utilisation that the plan began with
  std::vector<std::string> gives;  // what would have to give; empty where feasible
  std::string scenario_text;       // of the best layout, to run

  // Of the best layout, or null.
  const Played* best() const { return search.played.empty() ? nullptr : &search.played.front(); }
  const PlanOutcome* outcome() const { return outcomes.empty() ? nullptr : &outcomes.front(); }
};

struct Plan {
  std::string model;
  PlanRequest request;
  std::vector<DevicePlan> plans;      // by device, as requested
  std::optional<std::size_t> chosen;  // the cheapest that holds; without any prices the fastest
};

// Fails with all that is contradictory in a request, a line each.
struct PlanResult {
  std::optional<Plan> plan;
  std::vector<std::string> errors;
  bool stopped = false;  // SearchOptions::go_on said no
};
PlanResult MakePlan(const PlanRequest& request);

}  // namespace scenarios

#endif  // SCENARIOS_PLAN_PLAN_H_
