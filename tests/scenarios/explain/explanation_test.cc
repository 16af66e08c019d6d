#include "scenarios/explain/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/catalogue.h"
#include "scenarios/compare/kernel_classes.h"
#include "scenarios/estimate.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/output/explanation_output.h"
#include "tests/scenarios/explain/explaining.h"

namespace scenarios {
namespace {

using sim::Duration;

Duration SumOf(const std::vector<PathCause>& causes) {
  Duration sum;
  for (const PathCause& cause : causes) sum += cause.time;
  return sum;
}

std::map<std::string, Duration> ById(const std::vector<PathCause>& causes) {
  std::map<std::string, Duration> times;
  for (const PathCause& cause : causes) times[cause.id] = cause.time;
  return times;
}

// Larger ones take seconds each.
constexpr double kMostTasks = 30'000;

TEST(Explain, CausesOfShippedScenariosAddUpToTheStep) {
  int explained = 0;
  for (const proto::CatalogueFile& file : Catalogue()) {
    const Scenario scenario = LoadNamed(std::string(file.name));
    if (EstimateOf(scenario, PlanStages(scenario, CostModelOf(scenario))).tasks > kMostTasks) continue;
    SCOPED_TRACE(scenario.name);
    const Explanation e = Explained(scenario);
    EXPECT_EQ(SumOf(e.causes), e.report.step_time);
    for (const PathCause& cause : e.causes) EXPECT_GT(cause.time, Duration()) << cause.id;
    ++explained;
  }
  EXPECT_GE(explained, 8);
}

TEST(Explain, CausesAddUpWhateverAJobHas) {
  const Sets jobs[] = {
      {{"training.launches", "EAGER"}},
      {{"training.launches", "BLOCKING"}, {"layout.pipeline", "1"}},
      {{"training.recompute", "FULL"}, {"layout.sequence", "true"}},
      {{"layout.context", "2"}, {"layout.tensor", "2"}},
      {{"training.optimizer_sharding", "ZERO_3"}, {"layout.pipeline", "1"}, {"layout.tensor", "1"}},
      {{"layout.pipeline", "1"}, {"training.offload.activation_layers", "4"}},
      {{"model", "\"mixtral_8x7b\""}, {"layout.expert", "8"}, {"layout.tensor", "1"}, {"layout.data", "8"}},
      {{"fidelity", "CHUNK"}},
  };
  for (const Sets& sets : jobs) {
    SCOPED_TRACE(testing::PrintToString(sets));
    const Explanation e = Explained(FourLayers(sets));
    EXPECT_EQ(SumOf(e.causes), e.report.step_time);
    // The same path as the report's, told finer.
    Duration path;
    for (const TimePart& part : e.report.critical_path) path += part.time;
    EXPECT_EQ(path, e.report.step_time);
  }
}

// Playing one rank of each kind finds the same path and the same bounds as playing all.
TEST(Explain, OfAFoldedJobIsAsOfAllItsRanks) {
  const Scenario s = FourLayers({{"devices", "64"}, {"batch.global", "64"}, {"layout.sequence", "true"}});
  const Explanation folded = Explained(s);
  ExplainOptions options;
  options.run.fold = false;
  const Explanation whole = Explain(s, options).value();
  EXPECT_EQ(ById(folded.causes), ById(whole.causes));
  ASSERT_EQ(folded.sensitivities.size(), whole.sensitivities.size());
  for (std::size_t i = 0; i < whole.sensitivities.size(); ++i) {
    EXPECT_NEAR(folded.sensitivities[i].slope_s, whole.sensitivities[i].slope_s,
                1e-4 * whole.report.step_time.seconds());
  }
  for (std::size_t i = 0; i < whole.bounds.size(); ++i) {
    EXPECT_NEAR(folded.bounds[i].time.seconds(), whole.bounds[i].time.seconds(), 1e-9) << whole.bounds[i].id;
  }
}

// On one device nothing is waited for: the path is all that it does, class by class.
TEST(Explain, OfOneDeviceThePathIsItsWork) {
  const Scenario s = FourLayers(kOneDevice);
  auto times = ById(Explained(s).causes);
  for (const KernelWork& work : ComputeByClass(s, sim::Rank(0u))) {
    const std::string id = std::string("compute.") + IdOf(work.kernel_class);
    EXPECT_EQ(times[id], work.time) << id;
  }
  EXPECT_EQ(times.count("slow_down"), 0u);
}

TEST(Explain, LongestPiecesAreOfThePathAndInOrder) {
  const Explanation e = Explained(FourLayers());
  ASSERT_EQ(e.longest.size(), 8u);
  for (std::size_t i = 1; i < e.longest.size(); ++i) EXPECT_GE(e.longest[i - 1].time, e.longest[i].time);
  EXPECT_GE(e.pieces, 8);
}

// On one device every task is on the path; with a pipeline of uneven stages the short one has slack.
TEST(Explain, SlackIsWhereTheStepIsNotMade) {
  for (const SlackRow& row : Explained(FourLayers(kOneDevice)).slack) {
    EXPECT_EQ(row.tight, row.tasks) << row.purpose;
  }
  const Explanation e = Explained(FourLayers({{"pipeline.stage_layers", "[3, 1]"}, {"layout.tensor", "8"}}));
  std::int64_t tight[2] = {}, tasks[2] = {};
  for (const SlackRow& row : e.slack) {
    if (row.purpose != "forward" && row.purpose != "backward") continue;
    tight[row.stage] += row.tight;
    tasks[row.stage] += row.tasks;
  }
  EXPECT_GT(static_cast<double>(tight[0]) / static_cast<double>(tasks[0]),
            static_cast<double>(tight[1]) / static_cast<double>(tasks[1]));
}

TEST(Explain, IsOneDocument) {
  const Explanation e = Explained(FourLayers(), 0.01);
  const auto json = nlohmann::json::parse(ExplanationJson(e));
  std::int64_t sum = 0;
  for (const auto& cause : json["causes"]) sum += cause["time_ps"].get<std::int64_t>();
  EXPECT_EQ(sum, json["step_time_ps"].get<std::int64_t>());
  EXPECT_EQ(json["checked_with"], 1.01);
  EXPECT_EQ(json["bounds"].size(), 6u);
  std::istringstream text(ExplanationText(e));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Explain, StopsWhenItIsTold) {
  ExplainOptions options;
  int left = 3;
  options.run.go_on = [&](const RunProgress&) { return left-- > 0; };
  EXPECT_EQ(Explain(FourLayers(), options).error().message, "interrupted");
}

}  // namespace
}  // namespace scenarios
