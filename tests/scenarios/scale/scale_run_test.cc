#include "scenarios/scale/scale_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/run.h"
#include "scenarios/scale/best_layout.h"
#include "scenarios/verdict/reload.h"
#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

const std::vector<proto::Override> kSmall = {{1, "model.layers", "2"}};

Scenario Small() {
  proto::Diagnostics diagnostics;
  return LoadScenarioText("small.textproto", kScenario, kSmall, &diagnostics).value();
}
Reload Again() { return ReloadOf("small.textproto", kSmall, kScenario); }

sim::Result<Report> Play(const Scenario& scenario, std::size_t) {
  auto run = Run(scenario);
  if (!run.ok()) return run.error();
  return std::move(run).value().report;
}

std::vector<ScaleRow> Rows(const ScaleRequest& request, std::size_t threads) {
  return RunScale(Small(), request, Again(), Play, {.threads = threads});
}

// The row of the scenario's own devices is the scenario's run; the batch of weak scaling is theirs.
TEST(RunScale, HasTheScenarioItselfAmongItsRows) {
  const Report run = Play(Small(), 1).value();
  for (const Scaling scaling : {Scaling::kStrong, Scaling::kWeak}) {
    const auto rows = Rows({.devices = {8, 16}, .scaling = scaling}, 1);
    ASSERT_TRUE(rows[0].simulated() && rows[1].simulated()) << rows[0].refused << rows[1].refused;
    EXPECT_EQ(rows[0].batch, scaling == Scaling::kWeak ? 8 : 16);
    EXPECT_EQ(rows[1].batch, 16);
    EXPECT_EQ(rows[1].digest, run.digest);
    EXPECT_EQ(rows[1].step_time, run.step_time);
    EXPECT_EQ(rows[0].layout, "tensor 4 x pipeline 2 x data 1, micro-batch 1");
    EXPECT_EQ(rows[0].efficiency, 1);
    EXPECT_DOUBLE_EQ(rows[1].efficiency, rows[1].mfu / rows[0].mfu);
    sim::Duration sum;
    for (const TimePart& part : rows[1].breakdown) sum += part.time;
    EXPECT_EQ(sum, rows[1].step_time);
  }
}

TEST(RunScale, DoesNotDependOnThreads) {
  const ScaleRequest request{.devices = {8, 16, 20, 32}, .scaling = Scaling::kWeak};
  const auto one = Rows(request, 1), three = Rows(request, 3);
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].digest, three[i].digest);
    EXPECT_EQ(one[i].refused, three[i].refused);
    EXPECT_EQ(one[i].efficiency, three[i].efficiency);
    EXPECT_EQ(one[i].inputs, three[i].inputs);
  }
  EXPECT_THAT(one[2].refused, testing::HasSubstr("devices: "));  // 20 are no multiple of 8
}

// A play that has too little memory beside others gets all of it.
TEST(RunScale, PlaysAgainAloneWhatAPartOfTheMemoryIsTooLittleFor) {
  const auto hungry = [](const Scenario& scenario, std::size_t parts) -> sim::Result<Report> {
    if (parts > 1 && scenario.devices == 32) return sim::Error{"too large"};
    return Play(scenario, parts);
  };
  const auto rows =
      RunScale(Small(), {.devices = {8, 32}, .scaling = Scaling::kWeak}, Again(), hungry, {.threads = 2});
  EXPECT_TRUE(rows[1].simulated()) << rows[1].refused;
}

TEST(RunScale, PlaysNothingMoreOnceItIsStopped) {
  for (const LayoutRule rule : {LayoutRule::kFixed, LayoutRule::kBest}) {
    int plays = 0;
    const auto count = [&](const Scenario& scenario, std::size_t parts) {
      ++plays;
      return Play(scenario, parts);
    };
    const auto rows = RunScale(Small(), {.devices = {8, 16, 32}, .layouts = rule}, Again(), count,
                               {.threads = 1, .stopped = [&] { return plays > 0; }});
    EXPECT_EQ(plays, 1);
    EXPECT_EQ(rows[0].refused, "interrupted");
    EXPECT_EQ(rows[1].refused, "interrupted");
  }
}

// Every other layout of the same kind, played by itself, takes as long or longer.
TEST(RunScale, FindsTheLayoutThatNoOtherBeats) {
  const auto rows = Rows({.devices = {8}, .layouts = LayoutRule::kBest}, 1);
  ASSERT_TRUE(rows[0].simulated()) << rows[0].refused;
  for (const int tensor : {1, 2, 4, 8}) {
    for (const int pipeline : {1, 2}) {
      if (tensor * pipeline > 8) continue;
      const auto other = Again()({"devices=8", "layout.tensor=" + std::to_string(tensor),
                                  std::string("layout.sequence=") + (tensor > 1 ? "true" : "false"),
                                  "layout.pipeline=" + std::to_string(pipeline)});
      ASSERT_TRUE(other.ok()) << other.error().message;
      const Report report = Play(other.value(), 1).value();
      if (!report.fits) continue;
      EXPECT_GE(report.step_time, rows[0].step_time) << tensor << " x " << pipeline;
    }
  }
}

}  // namespace
}  // namespace scenarios
