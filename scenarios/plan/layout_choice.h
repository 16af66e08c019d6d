// The layouts that a planner may choose from: which there are, before anybody asks whether they fit.
//
// Source: textbook, 17.5.8 (table 17-62) and 17.5.10: a tensor group stays inside one NVLink domain and
// divides heads and channels; a stage has at least a layer, all as many; data ranks are the rest. Experts
// have a layout of their own on the ranks of a stage (erratum B5), so no product contains them.

#ifndef SCENARIOS_PLAN_LAYOUT_CHOICE_H_
#define SCENARIOS_PLAN_LAYOUT_CHOICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "models/model.h"
#include "scenarios/scenario.h"

namespace scenarios {

struct LayoutChoice {
  std::int64_t tensor = 1, pipeline = 1, virtual_stages = 1;
  std::int64_t expert = 1;         // groups of whole experts; 1 = cut as the rest of a layer
  std::int64_t expert_tensor = 1;  // ranks that cut each expert, where expert > 1
  std::int64_t micro = 1;          // sequences a micro-batch
  OptimizerSharding sharding = OptimizerSharding::kZero1;
  Recompute recompute = Recompute::kNone;

  std::int64_t group() const { return tensor * pipeline; }  // devices of one data rank
  auto operator<=>(const LayoutChoice&) const = default;
};

// What is not to be chosen. Nothing: all that there is.
struct LayoutLimits {
  std::optional<std::int64_t> tensor, pipeline, virtual_stages, expert, expert_tensor, micro;
  std::optional<OptimizerSharding> sharding;
  std::optional<Recompute> recompute;
};

// In a fixed order. Micro-batches of 1, 2 and 4 sequences, no recomputation or all, ZeRO-1, and ZeRO-3 where
// there is no pipeline; what is given is taken, be it wise or not, if the model can be cut so. May be empty.
std::vector<LayoutChoice> LayoutsFor(const models::Model& model, const hardware::Device& device,
                                     const LayoutLimits& limits);

// "tensor 8 x pipeline 4 (2 virtual) x data 27, ZeRO-1, micro-batch 1, full recomputation".
std::string ToText(const LayoutChoice& layout, std::int64_t data);

}  // namespace scenarios

#endif  // SCENARIOS_PLAN_LAYOUT_CHOICE_H_
