// Synthetic scenarios of any schedule, and a cost model with the three times of a
// pipeline's passes.

#ifndef TESTS_SCENARIOS_SCHEDULES_H_
#define TESTS_SCENARIOS_SCHEDULES_H_

#include <string>
#include <string_view>

#include "scenarios/step_builder.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {

// One layer takes these times; all else is free.
class SplitCost final : public hardware::CostModel {
 public:
  explicit SplitCost(const sim::PassTimes& times) : times_(times) {}
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const std::string_view name = kernel.name;
    const sim::Duration time = name == "qkv"         ? times_.forward
                               : name == "qkv_dgrad" ? times_.backward_input
                               : name == "qkv_wgrad" ? times_.backward_weight
                                                     : sim::Duration();
    return {time, time};
  }

 private:
  sim::PassTimes times_;
};

inline sim::PassTimes Nanoseconds(std::int64_t forward, std::int64_t input, std::int64_t weight) {
  const auto ns = [](std::int64_t n) { return sim::Duration::Picoseconds(1000 * n); };
  return {ns(forward), ns(input), ns(weight), ns(forward + input + weight)};
}

// A layer a piece; from both ends there are as many pieces as stages.
inline Scenario ScheduleScenario(const std::string& schedule, std::int64_t stages,
                                 std::int64_t micro_batches) {
  const std::int64_t chunks = sim::FindPipelineSchedule(schedule)->chunks;
  Scenario s = SyntheticScenario(stages, micro_batches, chunks, schedule);
  s.pipeline.layers_of_piece.resize(PieceCount(s.pipeline.placement(), s.pipeline.shape));
  s.model.layers = static_cast<std::int64_t>(s.pipeline.layers_of_piece.size());
  return s;
}

inline sim::Duration StepTimeOf(const Scenario& scenario, const sim::PassTimes& times) {
  const StepProgram steps = BuildSteps(scenario, SplitCost(times)).value();
  const sim::Timeline timeline = sim::Simulate(steps.program).value();
  return sim::FindSteps(steps.program, timeline).step_time();
}

// The scenario's order, with joined steps one after the other as the simulation runs them.
inline sim::PipelineOrder OrderApart(const Pipeline& pipeline) {
  sim::PipelineOrder order = OrderOf(pipeline);
  for (auto& steps : order.stages) {
    for (sim::PipelineStep& step : steps) step.joined = false;
  }
  return order;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_SCHEDULES_H_
