// Shared by the tests of steps: what a scenario's step takes, holds and sends by a cost model.

#ifndef TESTS_SCENARIOS_PLAYING_H_
#define TESTS_SCENARIOS_PLAYING_H_

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "hardware/device_cost_model.h"
#include "scenarios/lowering.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"

namespace scenarios {

// kScenario with other values.
inline Scenario Loaded(const Sets& sets) {
  const Loading loading = Load(sets);
  EXPECT_TRUE(loading.scenario.has_value()) << testing::PrintToString(loading.errors());
  return loading.scenario.value();
}

// Of the catalogue, or of a file.
inline Scenario LoadNamed(const std::string& name, const std::vector<proto::Override>& overrides = {}) {
  proto::Diagnostics diagnostics;
  auto scenario = LoadScenario(name, overrides, &diagnostics);
  EXPECT_TRUE(scenario.has_value()) << name << ": " << testing::PrintToString(diagnostics.errors());
  return scenario.value();
}

inline sim::Duration StepTime(const Scenario& scenario, const hardware::CostModel& cost) {
  const StepProgram steps = BuildSteps(scenario, cost).value();
  return sim::FindSteps(steps.program, sim::Simulate(steps.program).value()).step_time();
}

// A stage's memory by the name of the part.
inline std::map<std::string, sim::Bytes> PartsOf(const Scenario& scenario, const hardware::CostModel& cost,
                                                 std::uint32_t stage = 0) {
  const std::vector<StagePlan> stages = PlanStages(scenario, cost);
  const auto order = scenario.pipeline.schedule->order(scenario.pipeline.shape, stage);
  std::map<std::string, sim::Bytes> parts;
  for (const BytePart& part : MemoryOfStage(scenario, stages[stage], order).parts) {
    parts[part.name] += part.bytes;
  }
  return parts;
}

// Bytes that ranks enter communications with, by class; each seat counts.
inline std::map<sim::TaskClass, sim::Bytes> BytesByClass(const Scenario& scenario) {
  const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
  EXPECT_TRUE(sim::Simulate(steps.program).ok());
  std::map<sim::TaskClass, sim::Bytes> bytes;
  steps.program.ForEachTask([&](sim::TaskId, const sim::Place& at) {
    if (steps.program.row(at).kind != sim::TaskKind::kSeat) return;
    const sim::Communication& c = steps.program.communications[steps.program.communication_of(at).pos()];
    bytes[steps.program.row(at).task_class] += steps.program.traffics[c.traffic.pos()].size;
  });
  return bytes;
}

// Bytes that rank 0 sends for one class in all steps.
inline double BytesSent(const sim::Program& p, sim::TaskClass task_class) {
  double sent = 0;
  p.ForEachTask([&](sim::TaskId, const sim::Place& at) {
    if (p.row(at).kind != sim::TaskKind::kSeat || p.row(at).task_class != task_class) return;
    if (p.rank_of(at) != sim::Rank(0)) return;
    const sim::Communication& c = p.communications[p.communication_of(at).pos()];
    const sim::Traffic& traffic = p.traffics[c.traffic.pos()];
    const auto size = static_cast<double>(traffic.size.count());
    const double n = c.seats;
    const std::string& kind = p.names[traffic.name];
    sent += kind == "ring shift" ? size : kind == "all-reduce" ? 2 * size * (n - 1) / n : size * (n - 1) / n;
  });
  return sent;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_PLAYING_H_
