// The itemised budget of a model: what it has, computes, holds, takes, costs, saves and serves, every
// figure with its formula and what went in. Nothing is simulated; see run.h for that.
//
// Source of the formulas: textbook, chapters 17 and 27, as docs/textbook.md corrects them.

#ifndef SCENARIOS_BUDGET_BUDGET_H_
#define SCENARIOS_BUDGET_BUDGET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "models/flops.h"
#include "models/memory.h"
#include "models/model.h"
#include "models/training_state.h"
#include "scenarios/budget/budget_line.h"

namespace scenarios {

// What a planner chooses. Where something is not chosen, an Assumption of the budget says what stands for it.
struct BudgetRequest {
  models::Model model;
  hardware::Device device;

  std::optional<double> tokens;  // of the run
  std::optional<std::int64_t> sequence_length;
  std::optional<std::int64_t> global_batch;  // sequences
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> tensor, pipeline;
  std::optional<std::int64_t> devices;  // or
  std::optional<double> days;           // the deadline that says how many
  std::optional<int> zero_stage;
  std::optional<models::OptimizerKind> optimizer;
  std::optional<std::int64_t> gradient_width;  // bytes: 2 or 4
  std::optional<models::Recompute> recompute;
  std::optional<sim::AttentionKind> attention_kind;  // decides what is kept of it
  bool dropout = false;
  std::optional<models::AttentionCount> attention;
  std::optional<double> utilisation;  // MFU
  std::optional<double> usd_per_device_hour;
  // Reserves, each for its own purpose (limits.h): of the devices, of the time, of a device's memory.
  std::optional<double> spares, maintenance, safety;

  std::optional<std::int64_t> context;   // tokens of a request
  std::optional<double> weight_bits;     // when serving
  std::optional<std::int64_t> kv_width;  // bytes: 1 or 2
};

struct Budget {
  std::string model, device;
  std::vector<Assumption> assumptions;
  std::vector<BudgetLine> lines;  // by section, in order
  std::vector<std::string> warnings;
  bool fits = true;  // the training state and activations into a device's usable memory

  // REQUIRES: there is such a line
  const BudgetLine& line(const std::string& section, const std::string& name) const;
};

// Fails with all that is contradictory in a request, a line each: a tensor group that cannot share the model,
// a batch that does not divide, both devices and days.
struct BudgetResult {
  std::optional<Budget> budget;
  std::vector<std::string> errors;  // "tensor: 12 does not ..."
};
BudgetResult MakeBudget(const BudgetRequest& request);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_BUDGET_H_
