// Scenarios whose steps are known in closed form: cost models that charge one kind
// of work only, and a fabric on which communication is free.

#ifndef TESTS_SCENARIOS_SYNTHETIC_H_
#define TESTS_SCENARIOS_SYNTHETIC_H_

#include <memory>
#include <string>
#include <string_view>

#include "hardware/cost_model.h"
#include "scenarios/scenario.h"

namespace scenarios {

// One layer takes `forward`, and `backward` in its backward; all else is free.
class LayerCost final : public hardware::CostModel {
 public:
  LayerCost(sim::Duration forward, sim::Duration backward) : forward_(forward), backward_(backward) {}
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const std::string_view name = kernel.name;
    const sim::Duration time = name == "qkv" ? forward_ : name == "qkv_dgrad" ? backward_ : sim::Duration();
    return {time, time};
  }

 private:
  sim::Duration forward_, backward_;
};

// A product takes a picosecond for each of its FLOPs, all else nothing.
class FlopCost final : public hardware::CostModel {
 public:
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const std::int64_t ps = kernel.kind == sim::KernelKind::kMemory ? 0 : kernel.flops.count();
    return {sim::Duration::Picoseconds(ps), sim::Duration::Picoseconds(ps)};
  }
};

// Only the kernels of one name take time: 1 us each.
class OneName final : public hardware::CostModel {
 public:
  explicit OneName(std::string_view name) : name_(name) {}
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const sim::Duration time = kernel.name == name_ ? sim::Duration::Microseconds(1) : sim::Duration();
    return {time, time};
  }

 private:
  std::string_view name_;
};

// Routes that cross no link: what is sent is there.
class NoLinks final : public topologies::Router {
 public:
  topologies::Route Between(std::uint32_t, std::uint32_t) const override { return {}; }
};

// `layers` a piece; communication free, in every group.
inline Scenario SyntheticScenario(std::int64_t stages, std::int64_t micro_batches, std::int64_t chunks,
                                  const std::string& schedule, std::int64_t layers_of_piece = 1) {
  Scenario s;
  s.name = "synthetic";
  s.model = {
      .name = "tiny", .hidden = 8, .ffn = 16, .heads = 2, .kv_heads = 2, .head_dim = 4, .vocabulary = 32};
  s.model.layers = stages * chunks * layers_of_piece;
  s.devices = stages;
  s.layout.pipeline = stages;
  s.layout.virtual_stages = chunks;
  s.batch = {.global = micro_batches, .micro = 1, .sequence_length = 4, .micro_batches = micro_batches};
  s.training.bucket = sim::Bytes(1'000'000);
  s.training.attention = sim::AttentionKind::kUnfused;
  s.pipeline.schedule = sim::FindPipelineSchedule(schedule);
  s.pipeline.shape = {.stages = static_cast<std::uint32_t>(stages),
                      .microbatches = static_cast<std::uint32_t>(micro_batches),
                      .chunks = static_cast<std::uint32_t>(chunks)};
  s.pipeline.layers_of_piece.assign(static_cast<std::size_t>(stages * chunks), layers_of_piece);
  for (std::int64_t d = 0; d < stages; ++d) {
    s.fabric.domain.push_back(0);
    s.fabric.rail.push_back(static_cast<std::uint32_t>(d));
  }
  s.fabric.router = std::make_shared<NoLinks>();
  return s;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_SYNTHETIC_H_
