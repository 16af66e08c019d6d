#include "scenarios/sweep/lower_bound.h"

#include <gtest/gtest.h>

#include "scenarios/catalogue.h"
#include "scenarios/estimate.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/run.h"
#include "scenarios/step_builder.h"
#include "tests/scenarios/layout_grid.h"

namespace scenarios {
namespace {

sim::Duration BoundOf(const Scenario& scenario) {
  return LeastStepTime(scenario, PlanStages(scenario, CostModelOf(scenario)));
}

sim::Duration StepOf(const Scenario& scenario) { return Run(scenario).value().report.step_time; }

void ExpectBelowItsStep(const Scenario& scenario) {
  EXPECT_LE(BoundOf(scenario), StepOf(scenario));
  EXPECT_GT(BoundOf(scenario), sim::Duration());
}

// On one device nothing is sent, and kernels run one after the other.
TEST(LowerBound, OfOneDeviceIsItsStep) {
  const Scenario one = *Load({{"devices", "1"},
                              {"layout.tensor", "1"},
                              {"layout.pipeline", "1"},
                              {"model.layers", "2"},
                              {"topology", "single_node"}})
                            .scenario;
  EXPECT_EQ(BoundOf(one), StepOf(one));
}

// A pipeline with free communication takes m + p - 1 micro-batches; the bound counts those and no more, so it
// is what the step is but for communication.
TEST(LowerBound, OfAPipelineHasItsBubble) {
  const Scenario job = *Load({{"layout.tensor", "1"},
                              {"layout.pipeline", "4"},
                              {"devices", "4"},
                              {"batch.global", "4"},
                              {"training.optimizer_sharding", "NONE"}})
                            .scenario;
  const double step = StepOf(job).seconds();
  EXPECT_LE(BoundOf(job).seconds(), step);
  EXPECT_GT(BoundOf(job).seconds(), 0.97 * step);
}

// Every pair of what a layout can choose; a model so small that communication is most of its steps.
TEST(LowerBound, IsBelowTheStepOfEveryKindOfLayout) {
  std::size_t at = 0;  // every other row: all are quick but there are many
  for (const PairwiseRow& row : CoverPairs(GridSpace())) {
    if (++at % 2 == 0) continue;
    const Sets sets = SetsOf(GridLayoutOf(row));
    SCOPED_TRACE(testing::PrintToString(sets));
    Loading loading = Load(sets);
    ASSERT_TRUE(loading.scenario);
    ExpectBelowItsStep(*loading.scenario);
    if (at % 3 == 0) {  // steps without a norm overlap
      loading.scenario->training.gradient_norm = false;
      ExpectBelowItsStep(*loading.scenario);
    }
  }
}

// With kernels as long as they are; also products in pieces, joined steps, offload and eager launches.
TEST(LowerBound, IsBelowTheStepOfEveryScenarioOfTheCatalogue) {
  constexpr double kMostTasks = 60'000;
  int played = 0;
  for (const proto::CatalogueFile& entry : Catalogue()) {
    for (const char* launches : {"CUDA_GRAPHS", "EAGER"}) {
      proto::Diagnostics diagnostics;
      const auto scenario =
          LoadScenario(std::string(entry.name), {{1, "training.launches", launches, ""}}, &diagnostics);
      if (!scenario) continue;
      const auto stages = PlanStages(*scenario, CostModelOf(*scenario));
      if (EstimateOf(*scenario, stages).tasks > kMostTasks) continue;
      SCOPED_TRACE(std::string(entry.name) + ' ' + launches);
      ExpectBelowItsStep(*scenario);
      ++played;
    }
  }
  EXPECT_GE(played, 12);
}

// Schedules of kernels that take long, where the ways through other stages count.
TEST(LowerBound, IsBelowTheStepOfEverySchedule) {
  struct Case {
    const char* schedule;
    std::int64_t stages, chunks;
  };
  for (const Case& c : {Case{"GPIPE", 4, 1}, Case{"ONE_F_ONE_B", 4, 1}, Case{"INTERLEAVED", 4, 2},
                        Case{"ZB1P", 4, 1}, Case{"ZB2P", 4, 1}, Case{"ZBV", 4, 2}, Case{"VHALF", 4, 2},
                        Case{"VMIN", 4, 2}, Case{"DUALPIPE", 4, 2}, Case{"DUALPIPEV", 4, 2}}) {
    for (const char* recompute : {"NONE", "FULL"}) {
      for (const char* norm : {"true", "false"}) {
        const Loading loading = Load({{"layout.tensor", "2"},
                                      {"layout.sequence", "true"},
                                      {"layout.pipeline", std::to_string(c.stages)},
                                      {"layout.virtual", std::to_string(c.chunks)},
                                      {"devices", "8"},
                                      {"batch.global", "8"},
                                      {"model.layers", "16"},
                                      {"model.vocabulary", "200000"},
                                      {"pipeline.schedule", c.schedule},
                                      {"training.recompute", recompute},
                                      {"training.gradient_norm", norm},
                                      {"training.optimizer_sharding", "NONE"}});
        SCOPED_TRACE(std::string(c.schedule) + ' ' + recompute + " norm " + norm);
        ASSERT_TRUE(loading.scenario) << loading.errors().front();
        ExpectBelowItsStep(*loading.scenario);
      }
    }
  }
}

}  // namespace
}  // namespace scenarios
