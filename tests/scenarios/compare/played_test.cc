#include "scenarios/compare/played.h"

#include <gtest/gtest.h>

#include "scenarios/catalogue.h"
#include "scenarios/estimate.h"
#include "scenarios/kernel_costs.h"
#include "tests/scenarios/compare/comparing.h"

namespace scenarios {
namespace {

using sim::Duration;

double TasksOf(const Scenario& scenario) {
  return EstimateOf(scenario, PlanStages(scenario, CostModelOf(scenario))).tasks;
}

// Larger ones take seconds each.
constexpr double kMostTasks = 150'000;

TEST(PlayedJob, PartsOfShippedScenariosAddUpToTheStep) {
  int played_jobs = 0;
  for (const proto::CatalogueFile& file : Catalogue()) {
    const Scenario scenario = LoadNamed(std::string(file.name));
    if (TasksOf(scenario) > kMostTasks) continue;
    SCOPED_TRACE(scenario.name);
    const PlayedJob played = PlayedOf(scenario);
    EXPECT_EQ(SumOf(played.parts), played.step);
    EXPECT_GE(played.step, played.report.step_time);
    for (const StepPart& part : played.parts) EXPECT_GE(part.time, Duration()) << part.id;
    ++played_jobs;
  }
  EXPECT_GE(played_jobs, 9);
}

// Classes of kernels are planned, the breakdown is played: what is left over is nothing but rounding at the
// edges of the window. Casts into eight bits are what no class has.
TEST(PlayedJob, KernelsByClassAreAllThatTheRankComputes) {
  const Sets jobs[] = {
      {},
      {{"training.recompute", "FULL"}},
      {{"training.recompute", "SELECTIVE"}, {"layout.sequence", "true"}},
      {{"training.attention", "UNFUSED"}},
      {{"layout.context", "2"}, {"layout.tensor", "2"}},
      {{"training.optimizer_sharding", "ZERO_3"}, {"layout.pipeline", "1"}, {"layout.tensor", "1"}},
      {{"training.launches", "EAGER"}},
      {{"model", "\"mixtral_8x7b\""}, {"layout.expert", "8"}, {"layout.tensor", "1"}, {"layout.data", "8"}},
  };
  for (const Sets& sets : jobs) {
    SCOPED_TRACE(testing::PrintToString(sets));
    const PlayedJob played = PlayedWith(sets);
    ASSERT_TRUE(played.report.steady);
    EXPECT_EQ(PartOf(played, "other_kernels").ps(), 0);
    EXPECT_EQ(SumOf(played.parts), played.step);
  }
}

// Two a weight and token forward, four backward, where nothing is padded or computed again: LLaMA's layers
// have four square matrices of hidden and three of hidden by ffn, and the head has the vocabulary's.
TEST(PlayedJob, ProductsDoSixFlopsAWeightAndToken) {
  const Scenario s = Loaded({{"model.layers", "4"},
                             {"devices", "1"},
                             {"layout.tensor", "1"},
                             {"layout.pipeline", "1"},
                             {"batch.global", "2"}});
  const std::vector<KernelWork> work = ComputeByClass(s, sim::Rank(0u));
  ASSERT_EQ(work.front().kernel_class, KernelClass::kProducts);
  const models::Model& m = s.model;
  const double layer =
      4.0 * static_cast<double>(m.hidden * m.hidden) + 3.0 * static_cast<double>(m.hidden * m.ffn);
  const double weights = 4 * layer + static_cast<double>(m.hidden * m.vocabulary);
  EXPECT_NEAR(1e3 * work.front().kilo_amount / (6 * weights * 2 * 2048), 1, 1e-6);
}

// A save that stops training: its cost is in the step, and nowhere else.
TEST(PlayedJob, SavesAreInTheStep) {
  const PlayedJob played = PlayedWith({{"steps", "8"},
                                       {"checkpoint.every_steps", "1"},
                                       {"checkpoint.path", "FRONTEND"},
                                       {"checkpoint.frontend_gb_per_s", "100"},
                                       {"checkpoint.storage.servers", "1"},
                                       {"checkpoint.storage.write_gb_per_s", "100"},
                                       {"checkpoint.storage.read_gb_per_s", "100"},
                                       {"checkpoint.storage.source.title", "made"},
                                       {"checkpoint.source.title", "made"}});
  ASSERT_TRUE(played.report.checkpoint.has_value());
  EXPECT_GT(played.step, played.report.step_time);
  EXPECT_EQ(played.step, played.report.checkpoint->effective_step_time);
  EXPECT_EQ(PartOf(played, "checkpoint"), played.step - played.report.step_time);
}

}  // namespace
}  // namespace scenarios
