#include "scenarios/step_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "hardware/device_cost_model.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

// Gradients are reduced on the data stream, between copies of what is cut, and, of norms, in the tensor
// group: the norm of all is known when all of these are.
TEST(GradientNorm, StartsWhenAllGradientsOfItsRankAreReduced) {
  const Loading loading = Load({{"layout.tensor", "2"},
                                {"layout.sequence", "true"},
                                {"layout.pipeline", "1"},
                                {"model.layers", "2"},
                                {"training.sharding.ranks", "4"}});
  ASSERT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
  const hardware::DeviceCostModel cost(loading.scenario->device);
  const StepProgram steps = BuildSteps(*loading.scenario, cost).value();
  const sim::Program& p = steps.program;
  const sim::Timeline timeline = sim::Simulate(p).value();
  std::vector<sim::Time> norms, reduced;
  std::set<std::string> kinds;
  for (std::size_t t = 0; t < p.tasks(); ++t) {
    const sim::TaskId task(t);
    if (p.rank_of(task).value() != 0) continue;
    const std::string& name = p.names[p.row(task).label.name];
    if (p.row(task).task_class == sim::TaskClass::kNorm) norms.push_back(timeline.start[t]);
    if (name.find("gradient bucket") == std::string::npos && name != "norm gradients") continue;
    reduced.push_back(timeline.end[t]);
    kinds.insert(name);
  }
  EXPECT_EQ(kinds.size(), 2u);
  ASSERT_EQ(static_cast<std::int64_t>(norms.size()), loading.scenario->steps);
  std::sort(norms.begin(), norms.end());
  std::sort(reduced.begin(), reduced.end());
  const std::size_t of_step = reduced.size() / norms.size();
  for (std::size_t step = 0; step < norms.size(); ++step) {
    EXPECT_GE(norms[step], reduced[(step + 1) * of_step - 1]) << step;
  }
}

using namespace sim::literals;

constexpr sim::Duration kLayerForward = 7_ns, kLayerBackward = 13_ns;

sim::Duration SteadyStepTime(const Scenario& scenario) {
  const StepProgram steps = BuildSteps(scenario, LayerCost(kLayerForward, kLayerBackward)).value();
  const sim::Timeline timeline = sim::Simulate(steps.program).value();
  const sim::StepTimes times = sim::FindSteps(steps.program, timeline);
  EXPECT_TRUE(times.steady);
  return times.step_time();
}

// (m + p - 1)(f + b): the first stage works m (f + b), and waits for p - 1 other
// stages to fill and drain. Source: Narayanan et al., SC 2021, section 2.2.1.
TEST(StepBuilder, GpipeAnd1F1BTakeExactlyTheClosedFormOnEqualStages) {
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    for (std::int64_t p = 1; p <= 8; ++p) {
      for (std::int64_t m = 1; m <= 12; ++m) {
        SCOPED_TRACE(testing::Message() << schedule << " p " << p << " m " << m);
        EXPECT_EQ(SteadyStepTime(SyntheticScenario(p, m, 1, schedule)),
                  (m + p - 1) * (kLayerForward + kLayerBackward));
      }
    }
  }
}

// In chunk units: v m of work, p - 1 of bubble. Source: section 2.2.2.
TEST(StepBuilder, InterleavingTakesExactlyTheClosedFormWherePDividesM) {
  for (std::int64_t p = 2; p <= 6; ++p) {
    for (std::int64_t m = p; m <= 3 * p; m += p) {
      for (std::int64_t v = 2; v <= 4; ++v) {
        SCOPED_TRACE(testing::Message() << "p " << p << " m " << m << " v " << v);
        EXPECT_EQ(SteadyStepTime(SyntheticScenario(p, m, v, "interleaved")),
                  (v * m + p - 1) * (kLayerForward + kLayerBackward));
      }
    }
  }
}

TEST(StepBuilder, PiecesOfSeveralLayersTakeAsManyTimes) {
  EXPECT_EQ(SteadyStepTime(SyntheticScenario(4, 6, 1, "1f1b", 3)),
            (6 + 4 - 1) * (3 * (kLayerForward + kLayerBackward)));
}

// The most forwards of a stage without their backwards, as the timeline has them.
std::map<std::uint32_t, int> InFlight(const Scenario& scenario) {
  const StepProgram steps = BuildSteps(scenario, LayerCost(kLayerForward, kLayerBackward)).value();
  const sim::Timeline timeline = sim::Simulate(steps.program).value();
  std::map<std::uint32_t, int> now, most;
  for (std::size_t task = 0; task < steps.program.tasks(); ++task) {  // a rank's tasks are in its order
    if (steps.program.row(sim::TaskId(task)).kind != sim::TaskKind::kWork) continue;
    const std::uint32_t rank = steps.program.rank_of(sim::TaskId(task)).value();
    now[rank] += steps.program.row(sim::TaskId(task)).task_class == sim::TaskClass::kForward ? 1 : -1;
    most[rank] = std::max(most[rank], now[rank]);
  }
  return most;
}

TEST(StepBuilder, ActivationsInFlightMatchTheSchedulesCounts) {
  struct Case {
    const char* schedule;
    std::int64_t p, m, v;
  };
  for (const Case& c :
       {Case{"gpipe", 4, 6, 1}, {"1f1b", 4, 8, 1}, {"1f1b", 8, 3, 1}, {"interleaved", 4, 8, 2}}) {
    const Scenario scenario = SyntheticScenario(c.p, c.m, c.v, c.schedule);
    const auto most = InFlight(scenario);
    for (std::uint32_t stage = 0; stage < c.p; ++stage) {
      SCOPED_TRACE(testing::Message() << c.schedule << " stage " << stage);
      EXPECT_EQ(most.at(stage),
                static_cast<int>(scenario.pipeline.schedule->in_flight(scenario.pipeline.shape, stage)));
    }
  }
}

// HB-061: forward 1, backward 2: (1 + 1 + 2)/(1 + 2), the most that was measured.
TEST(StepBuilder, FullRecomputationCostsAThirdAtTheMost) {
  const auto time = [](Recompute recompute) {
    Scenario scenario = SyntheticScenario(1, 6, 1, "1f1b");
    scenario.training.recompute = recompute;
    const StepProgram steps = BuildSteps(scenario, LayerCost(1_ns, 2_ns)).value();
    return sim::FindSteps(steps.program, sim::Simulate(steps.program).value()).step_time();
  };
  EXPECT_EQ(3 * time(Recompute::kFull), 4 * time(Recompute::kNone));
}

TEST(StepBuilder, FullRecomputationRunsEachForwardTwice) {
  Scenario scenario = SyntheticScenario(4, 6, 1, "1f1b");
  scenario.training.recompute = Recompute::kFull;
  EXPECT_EQ(SteadyStepTime(scenario), (6 + 4 - 1) * (2 * kLayerForward + kLayerBackward));
}

// Megatron-LM's block method: the first n layers of each piece; uniform: all, however grouped.
TEST(StepBuilder, RecomputationOfSomeLayersRunsTheirForwardsOnceMore) {
  for (const std::int64_t layers : {1, 2, 3, 4}) {
    for (const auto& [stages, chunks, schedule] :
         {std::tuple(1, 1, "1f1b"), std::tuple(2, 1, "gpipe"), std::tuple(2, 2, "interleaved")}) {
      SCOPED_TRACE(testing::Message() << layers << schedule);
      const std::int64_t micro_batches = 4, pieces_of_work = chunks * micro_batches + stages - 1;
      Scenario scenario = SyntheticScenario(stages, micro_batches, chunks, schedule, 3);
      scenario.training.recompute = Recompute::kFull;
      scenario.training.full_recompute = {.first_layers_only = true, .layers = layers};
      const std::int64_t again = std::min<std::int64_t>(layers, 3);
      EXPECT_EQ(SteadyStepTime(scenario),
                pieces_of_work * (3 * (kLayerForward + kLayerBackward) + again * kLayerForward));
      scenario.training.full_recompute = {.first_layers_only = false, .layers = layers};
      EXPECT_EQ(SteadyStepTime(scenario), pieces_of_work * 3 * (2 * kLayerForward + kLayerBackward));
    }
  }
}

// Stage 1 has three layers, the others one. It works 20 x 3 (f + b) a step and
// idles only while stage 0 runs its last backward and its next first forward.
// What follows stage 1 is hidden: its first gradient is back 3 f + (f + f + b + b) =
// 61 ns after it began, and until then it has three forwards of 21 ns to run.
TEST(StepBuilder, UnevenStagesRunAtThePaceOfTheSlowest) {
  Scenario scenario = SyntheticScenario(4, 20, 1, "1f1b");
  scenario.model.layers = 6;
  scenario.pipeline.layers_of_piece = {1, 3, 1, 1};
  EXPECT_EQ(SteadyStepTime(scenario),
            20 * (3 * (kLayerForward + kLayerBackward)) + (kLayerBackward + kLayerForward));
}

TEST(StepBuilder, MicroBatchesBeyond16BitsKeepTheirNumbers) {
  Scenario scenario = SyntheticScenario(1, 40'000, 1, "1f1b");
  scenario.steps = 2;
  const StepProgram steps = BuildSteps(scenario, LayerCost(kLayerForward, kLayerBackward)).value();
  const sim::TaskId last(std::uint32_t{2 * 40'000 - 1});  // one forward and one backward each
  EXPECT_EQ(steps.program.NameOf(last), "attention mb39999 layer 0");
}

TEST(StepBuilder, ProgramPrintsItself) {
  Scenario scenario = SyntheticScenario(2, 1, 1, "1f1b");
  scenario.steps = 1;
  scenario.training.gradient_norm = false;
  const StepProgram steps = BuildSteps(scenario, LayerCost(kLayerForward, kLayerBackward)).value();
  // 4 tokens x 8 channels x 2 B = 64 B cross the boundary, there and back.
  EXPECT_EQ(sim::ToText(steps.program),
            "0. rank 0 compute: attention mb0 layer 0 (forward) 7000 ps -> 1\n"
            "1. rank 0 to next: send activations mb0 (pipeline) #0 send/recv 64 B\n"
            "2. rank 0 from next: send gradients mb0 (pipeline) #1 send/recv 64 B -> 3\n"
            "3. rank 0 compute: attention mb0 layer 0 (backward) 13000 ps\n"
            "4. rank 0 compute: step 0 (step end) mark\n"
            "5. rank 1 from previous: send activations mb0 (pipeline) #0 send/recv 64 B -> 6\n"
            "6. rank 1 compute: attention mb0 layer 1 (forward) 7000 ps\n"
            "7. rank 1 compute: attention mb0 layer 1 (backward) 13000 ps -> 8\n"
            "8. rank 1 to previous: send gradients mb0 (pipeline) #1 send/recv 64 B\n"
            "9. rank 1 compute: step 0 (step end) mark\n");
}

}  // namespace
}  // namespace scenarios
