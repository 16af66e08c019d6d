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
#include "models/adapters.h"
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
  std::optional<std::int64_t> context_ranks;  // that share a sequence, in a ring
  std::optional<std::int64_t> expert;         // groups that share the routed experts, all-to-all
  std::optional<std::int64_t> devices;        // or
  std::optional<double> days;                 // the deadline that says how many
  std::vector<std::int64_t> stage_layers;     // of each stage; empty = even, the first ones have one more
  std::optional<bool> sequence_parallel;      // of what a tensor group does not cut otherwise
  std::optional<sim::NumberFormat> format;    // of weights and activations: BF16, FP16, FP32
  std::optional<int> zero_stage;
  std::optional<std::int64_t> prefetch;  // ZeRO-3: units gathered ahead of the one in hand
  std::optional<bool> regather_last;     // ZeRO-3: also the unit that the backward begins with
  std::optional<models::OptimizerKind> optimizer;
  std::optional<std::int64_t> gradient_width;  // bytes: 2 or 4
  std::optional<models::Recompute> recompute;
  std::optional<sim::AttentionKind> attention_kind;  // decides what is kept of it
  bool dropout = false;
  std::optional<models::AttentionCount> attention;
  // Fine-tuning: the model's weights are frozen, and adapters of this rank beside them are trained.
  std::optional<std::int64_t> lora_rank;
  std::optional<models::AdapterTargets> lora_targets;
  std::optional<std::int64_t> base_bits;  // of the frozen linear layers: 4, 8, 16
  std::optional<double> utilisation;      // MFU
  std::optional<double> usd_per_device_hour;
  // Reserves, each for its own purpose (limits.h): of the devices, of the time, of a device's memory.
  std::optional<double> spares, maintenance, safety;

  std::optional<std::int64_t> context;   // tokens of a request
  std::optional<double> weight_bits;     // when serving
  std::optional<std::int64_t> kv_width;  // bytes: 1 or 2
  std::optional<std::int64_t> page;      // tokens of a block of keys and values, where they are paged
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
