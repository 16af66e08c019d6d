#include "scenarios/plan/layout_choice.h"

#include <algorithm>

#include "models/parameters.h"

namespace scenarios {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers OrGiven(const std::optional<std::int64_t>& given, Numbers usual) {
  return given ? Numbers{*given} : usual;
}

Numbers PowersOfTwo(std::int64_t most) {
  Numbers powers;
  for (std::int64_t n = 1; n <= most; n *= 2) powers.push_back(n);
  return powers;
}

Numbers Divisors(std::int64_t whole, std::int64_t most) {
  Numbers divisors;
  for (std::int64_t n = 1; n <= std::min(whole, most); ++n) {
    if (whole % n == 0) divisors.push_back(n);
  }
  return divisors;
}

// Ranks that NVLink joins; 1 without it.
std::int64_t Domain(const hardware::Device& device) {
  return device.node.nvlink > sim::ByteRate() ? device.node.devices : 1;
}

Numbers TensorGroups(const models::Model& model, const hardware::Device& device, const LayoutLimits& limits) {
  constexpr std::int64_t kWidest = 8;  // beyond it parts of a layer are too small to be fast
  Numbers groups = OrGiven(limits.tensor, PowersOfTwo(std::min(kWidest, Domain(device))));
  std::erase_if(groups, [&](std::int64_t t) {
    return !models::CanShare(model, t) || (model.experts.routed > 0 && !models::CanSpread(model, 1, t));
  });
  return groups;
}

// Layers of a stage when all have as many, or when the embedding and the loss count as one each.
std::int64_t LayersOfStage(const models::Model& model, std::int64_t pipeline) {
  if (model.layers % pipeline == 0) return model.layers / pipeline;
  return (model.layers + 2) % pipeline == 0 ? (model.layers + 2) / pipeline : 0;
}

Numbers Pipelines(const models::Model& model, const LayoutLimits& limits) {
  constexpr std::int64_t kDeepest = 32;
  Numbers depths;
  const std::int64_t first = limits.pipeline.value_or(1), last = limits.pipeline.value_or(kDeepest);
  for (std::int64_t p = first; p <= std::min(model.layers, last); ++p) {
    const std::int64_t layers = LayersOfStage(model, p);
    if (layers > 1 || (layers == 1 && model.layers % p == 0)) depths.push_back(p);
  }
  return depths;
}

Numbers VirtualStages(const models::Model& model, std::int64_t pipeline, const LayoutLimits& limits) {
  constexpr std::int64_t kMost = 8;
  const std::int64_t layers = std::max<std::int64_t>(LayersOfStage(model, pipeline), 1);
  const std::int64_t most = pipeline == 1 ? 1 : limits.virtual_stages.value_or(kMost);
  Numbers chunks = Divisors(layers, most);
  if (limits.virtual_stages) std::erase_if(chunks, [&](auto v) { return v != *limits.virtual_stages; });
  return chunks;
}

Numbers ExpertGroups(const models::Model& model, std::int64_t tensor, const LayoutLimits& limits) {
  constexpr std::int64_t kMost = 64;
  if (model.experts.routed == 0) return limits.expert.value_or(1) == 1 ? Numbers{1} : Numbers{};
  if (limits.expert) return model.experts.routed % *limits.expert == 0 ? Numbers{*limits.expert} : Numbers{};
  Numbers groups = PowersOfTwo(std::min(model.experts.routed, kMost));
  std::erase_if(groups, [&](std::int64_t e) {
    return model.experts.routed % e != 0 || (e > 1 && e < tensor);  // cut less than the rest of a layer
  });
  return groups;
}

Numbers ExpertTensors(const models::Model& model, std::int64_t tensor, std::int64_t expert,
                      const LayoutLimits& limits) {
  if (expert == 1) return limits.expert_tensor.value_or(1) == 1 ? Numbers{1} : Numbers{};
  Numbers cuts = OrGiven(limits.expert_tensor, PowersOfTwo(tensor));
  std::erase_if(cuts, [&](std::int64_t cut) { return !models::CanSpread(model, expert, cut); });
  return cuts;
}

std::vector<OptimizerSharding> Shardings(std::int64_t pipeline, std::int64_t virtual_stages,
                                         const LayoutLimits& limits) {
  if (limits.sharding) return {*limits.sharding};
  if (pipeline * virtual_stages > 1) return {OptimizerSharding::kZero1};
  return {OptimizerSharding::kZero1, OptimizerSharding::kZero3};
}

std::vector<Recompute> Recomputes(const LayoutLimits& limits) {
  if (limits.recompute) return {*limits.recompute};
  return {Recompute::kNone, Recompute::kFull};
}

const char* Name(OptimizerSharding sharding) {
  switch (sharding) {
    case OptimizerSharding::kReplicated:
      return "no ZeRO";
    case OptimizerSharding::kZero1:
      return "ZeRO-1";
    case OptimizerSharding::kZero2:
      return "ZeRO-2";
    case OptimizerSharding::kZero3:
      return "ZeRO-3";
  }
  return "";
}

}  // namespace

std::vector<LayoutChoice> LayoutsFor(const models::Model& model, const hardware::Device& device,
                                     const LayoutLimits& limits) {
  std::vector<LayoutChoice> layouts;
  // All that differ from `l` in how much is computed and held at a time.
  const auto add = [&](LayoutChoice l) {
    for (const OptimizerSharding sharding : Shardings(l.pipeline, l.virtual_stages, limits)) {
      for (const std::int64_t micro : OrGiven(limits.micro, {1, 2, 4})) {
        for (const Recompute recompute : Recomputes(limits)) {
          l.sharding = sharding;
          l.micro = micro;
          l.recompute = recompute;
          layouts.push_back(l);
        }
      }
    }
  };
  for (const std::int64_t tensor : TensorGroups(model, device, limits)) {
    for (const std::int64_t pipeline : Pipelines(model, limits)) {
      for (const std::int64_t chunks : VirtualStages(model, pipeline, limits)) {
        for (const std::int64_t expert : ExpertGroups(model, tensor, limits)) {
          for (const std::int64_t cut : ExpertTensors(model, tensor, expert, limits)) {
            add({.tensor = tensor,
                 .pipeline = pipeline,
                 .virtual_stages = chunks,
                 .expert = expert,
                 .expert_tensor = cut});
          }
        }
      }
    }
  }
  return layouts;
}

std::string ToText(const LayoutChoice& l, std::int64_t data) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  std::string text = "tensor " + number(l.tensor) + " x pipeline " + number(l.pipeline);
  if (l.virtual_stages > 1) text += " (" + number(l.virtual_stages) + " virtual)";
  text += " x data " + number(data);
  if (l.expert > 1) text += ", expert " + number(l.expert);
  if (l.expert_tensor > 1) text += " x " + number(l.expert_tensor);
  text += std::string(", ") + Name(l.sharding) + ", micro-batch " + number(l.micro);
  if (l.recompute == Recompute::kFull) text += ", full recomputation";
  if (l.recompute == Recompute::kSelective) text += ", selective recomputation";
  return text;
}

}  // namespace scenarios
