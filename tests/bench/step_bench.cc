// Whole steps: from scenario to program, and from program to timeline.

#include <benchmark/benchmark.h>

#include "hardware/device_cost_model.h"
#include "scenarios/loader.h"
#include "scenarios/run.h"
#include "sim/program/executor.h"

namespace scenarios {
namespace {

Scenario Load(const char* name, const char* global_batch) {
  proto::Diagnostics diagnostics;
  return LoadScenario(name, {{1, "batch.global", global_batch}}, &diagnostics).value();
}

// Items are tasks.
void Build(benchmark::State& state, const char* name, const char* global_batch) {
  const Scenario scenario = Load(name, global_batch);
  const hardware::DeviceCostModel cost(scenario.device);
  std::size_t tasks = 0;
  for (auto _ : state) tasks += BuildSteps(scenario, cost).value().program.tasks();
  state.SetItemsProcessed(static_cast<std::int64_t>(tasks));
}

void Simulate(benchmark::State& state, const char* name, const char* global_batch) {
  const Scenario scenario = Load(name, global_batch);
  const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
  std::size_t tasks = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(sim::Simulate(steps.program).value());
    tasks += steps.program.tasks();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(tasks));
}

void Read(benchmark::State& state, const char* name, const char* global_batch) {
  const Scenario scenario = Load(name, global_batch);
  const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
  const sim::Timeline timeline = sim::Simulate(steps.program).value();
  std::size_t tasks = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(MakeReport(scenario, steps, timeline));
    tasks += steps.program.tasks();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(tasks));
}

BENCHMARK_CAPTURE(Build, llama_7b_256xh800, "llama_7b_256xh800", "1024")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Simulate, llama_7b_256xh800, "llama_7b_256xh800", "1024")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Read, llama_7b_256xh800, "llama_7b_256xh800", "1024")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Build, llama_70b_64xh800_a, "llama_70b_64xh800_a", "32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Simulate, llama_70b_64xh800_a, "llama_70b_64xh800_a", "32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Read, llama_70b_64xh800_a, "llama_70b_64xh800_a", "32")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace scenarios
