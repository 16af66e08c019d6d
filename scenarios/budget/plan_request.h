// A budget request with everything chosen, and who chose it. Internal to this folder.

#ifndef SCENARIOS_BUDGET_PLAN_REQUEST_H_
#define SCENARIOS_BUDGET_PLAN_REQUEST_H_

#include <string>
#include <vector>

#include "scenarios/budget/budget.h"
#include "scenarios/budget/limits.h"

namespace scenarios {

inline constexpr std::int64_t kMostParameters = 1'000'000'000'000'000;  // 18 bytes of each fit 63 bits

struct Chosen {
  models::Model model;
  hardware::Device device;
  sim::NumberFormat format = sim::NumberFormat::kBf16;  // of training
  sim::NumberFormat serving_format = sim::NumberFormat::kBf16;
  double peak = 0;  // FLOP/s of a device in that format

  double tokens = 0;
  std::int64_t sequence_length = 1, global_batch = 1, micro_batch = 1, micro_batches = 1;
  std::int64_t tensor = 1, pipeline = 1, data = 1, devices = 1;
  std::int64_t context_ranks = 1, expert = 1;
  std::vector<std::int64_t> stage_layers;
  bool sequence_parallel = false;
  int zero_stage = 0;
  std::int64_t prefetch = 1;
  bool regather_last = true;
  models::OptimizerKind optimizer = models::OptimizerKind::kAdamW;
  models::StateWidths widths;
  std::int64_t lora_rank = 0;  // 0: all parameters are trained
  std::int64_t adapters = 0;   // their parameters
  std::int64_t base_bits = 16;
  models::Recompute recompute = models::Recompute::kFull;
  sim::AttentionKind attention_kind = sim::AttentionKind::kFlash2;
  bool dropout = false;
  models::AttentionCount attention = models::AttentionCount::kFull;
  double utilisation = 0, usd_per_device_hour = 0;
  Margins margins;
  std::optional<double> days;  // where there is a deadline

  std::int64_t context = 1;
  double weight_bits = 16;
  std::int64_t kv_width = 2;
  std::int64_t page = 0;  // tokens; 0 = requests have the room of their tokens

  std::vector<Assumption> assumptions;

  double flops_of_token() const;  // model FLOPs, forward and backward
  bool frozen() const { return lora_rank > 0; }
  // Ranks that hold the same parameters; of spread experts fewer do.
  std::int64_t copies() const { return data * context_ranks; }
  std::int64_t local_length() const { return sequence_length / context_ranks; }
  models::TrainingState state() const;  // of the whole model
  models::TrainingState saved() const;  // and what of it is saved: of frozen weights nothing
  // Frozen weights: matrices of layers in base_bits with their scales, the rest in 16.
  sim::Bytes BaseBytes(std::int64_t matrices, std::int64_t rest) const;
  double flops() const { return flops_of_token() * tokens; }
  sim::Bytes memory() const;  // of a device, less what is kept free
  models::Execution execution() const;
};

// Everything that contradicts itself goes to `errors`; then the result means nothing.
Chosen Choose(const BudgetRequest& request, std::vector<std::string>* errors);

// Whether everything that is counted fits 63 bits.
bool SizesFit(const Chosen& c);

// "6,738,415,616"; "1.348e+11".
std::string Grouped(std::int64_t count);
std::string Short(double value);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_PLAN_REQUEST_H_
