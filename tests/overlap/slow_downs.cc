#include "tests/overlap/slow_downs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hardware/device_cost_model.h"
#include "scenarios/loader.h"
#include "scenarios/lowering.h"
#include "scenarios/run.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"

namespace overlap {
namespace {

using scenarios::Scenario;

constexpr const char* kFsdp = R"(name: "fsdp"
source { title: "made for the tests" }
model: "gpt_7_5b_sc21"
hardware: "a100_80_sxm"
topology: "single_node"
devices: 4
layout { tensor: 1 sequence: false context: 1 pipeline: 1 virtual: 1 expert: 1 expert_tensor: 1 }
batch { global: 4 micro: 1 sequence_length: 2048 }
training {
  format: BF16
  gradient_type: BF16
  optimizer: ADAM
  optimizer_sharding: ZERO_3
  recompute: NONE
  attention: FLASH2
}
steps: 2
)";

Scenario ScenarioOf(const Job& job) {
  std::vector<std::pair<std::string, std::string>> sets = {
      {"model", job.model},
      {"hardware", job.device},
      {"devices", std::to_string(job.devices)},
      {"batch.micro", std::to_string(job.micro)},
      {"batch.global", std::to_string(job.micro * job.devices)},
      {"batch.sequence_length", std::to_string(job.sequence_length)}};
  sets.insert(sets.end(), job.sets.begin(), job.sets.end());
  std::vector<proto::Override> overrides;
  for (const auto& [path, value] : sets)
    overrides.push_back({static_cast<int>(overrides.size()) + 1, path, value});
  proto::Diagnostics diagnostics;
  auto scenario = scenarios::LoadScenarioText("fsdp.textproto", kFsdp, overrides, &diagnostics);
  EXPECT_TRUE(scenario.has_value()) << testing::PrintToString(diagnostics.errors());
  return scenario.value();
}

}  // namespace

Played Play(const Job& job) {
  const Scenario scenario = ScenarioOf(job);
  const hardware::DeviceCostModel cost(scenario.device);
  const scenarios::StepProgram steps = scenarios::BuildSteps(scenario, cost).value();
  const sim::Program& program = steps.program;
  const sim::Timeline timeline = sim::Simulate(program).value();
  const sim::Interval window = sim::FindSteps(program, timeline).WindowOf(sim::Rank(0));
  Played played{.job = job, .step = window.length().seconds()};
  program.ForEachTask([&](sim::TaskId task, const sim::Place& at) {
    const sim::Time end = timeline.end[task.pos()];
    if (program.rank_of(at) != sim::Rank(0) || end <= window.from || end > window.to) return;
    if (program.row(at).kind == sim::TaskKind::kSeat) {
      played.moving += (end - timeline.begin[program.communication_of(at).pos()]).seconds();
    } else if (program.row(at).kind == sim::TaskKind::kWork) {
      played.alone += program.times_of(at).alone.seconds();
      played.compute += (end - timeline.start[task.pos()]).seconds();
    }
  });
  return played;
}

std::vector<Played> Study(const std::string& device) {
  std::vector<Played> all;
  for (const char* model : {"gpt_1_7b_sc21", "gpt_3_6b_sc21", "gpt_7_5b_sc21", "llama2_13b"}) {
    for (const std::int64_t micro : {1, 2, 4, 8}) all.push_back(Play({device, model, 4, micro}));
  }
  return all;
}

namespace {

Spread SpreadOf(const std::vector<Played>& all, double (Played::*figure)() const) {
  Spread spread;
  for (const Played& p : all) {
    spread.mean += (p.*figure)() / static_cast<double>(all.size());
    spread.most = std::max(spread.most, (p.*figure)());
  }
  return spread;
}

}  // namespace

Spread SlowDowns(const std::vector<Played>& all) { return SpreadOf(all, &Played::slow_down); }
Spread Serials(const std::vector<Played>& all) { return SpreadOf(all, &Played::serial); }

sim::DeviceTaken TakenByGather(const std::string& device) {
  const Scenario scenario = ScenarioOf({device, "llama_7b", 8});
  const std::uint32_t devices[] = {0, 1, 2, 3, 4, 5, 6, 7};
  return scenarios::LowerCollective(scenario.fabric, scenario.device, sim::CollectiveKind::kAllGather,
                                    sim::Bytes(std::int64_t{256} << 20), devices)
      .taken;
}

double BesideGather(const std::string& device, const sim::Kernel& kernel) {
  const Scenario scenario = ScenarioOf({device, "llama_7b", 8});
  const sim::WorkTimes times = hardware::DeviceCostModel(scenario.device).TimeOf(kernel);
  return times.Beside(TakenByGather(device)).seconds() / times.alone.seconds();
}

sim::Kernel Product(std::int64_t m, std::int64_t n, std::int64_t k) {
  sim::Kernel kernel{.name = "product", .kind = sim::KernelKind::kGemm};
  kernel.gemm = {m, n, k, 1};
  return kernel;
}

sim::Kernel Attention(std::int64_t batch, std::int64_t heads, std::int64_t length) {
  sim::Kernel kernel{.name = "attention", .kind = sim::KernelKind::kAttentionForward};
  kernel.attention = {.batch = batch,
                      .query_heads = heads,
                      .kv_heads = heads,
                      .query_length = length,
                      .kv_length = length,
                      .head_dim = 128};
  kernel.bytes = sim::Bytes(4 * batch * heads * length * 128 * 2);
  return kernel;
}

sim::Kernel Elementwise(std::int64_t bytes) {
  sim::Kernel kernel{.name = "elementwise", .kind = sim::KernelKind::kMemory};
  kernel.bytes = sim::Bytes(bytes);
  return kernel;
}

}  // namespace overlap
