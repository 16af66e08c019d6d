// The trace of a real scenario: what the viewers would say of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "scenarios/loader.h"
#include "scenarios/output/chrome_trace.h"
#include "scenarios/output/output_file.h"
#include "scenarios/run.h"
#include "tests/scenarios/output/trace_reader.h"

namespace scenarios {
namespace {

using nlohmann::json;

TEST(ScenarioTrace, OfAPipelineHasNothingAViewerChokesOn) {
  proto::Diagnostics diagnostics;
  const auto scenario =
      LoadScenario("llama_70b_64xh800_a", {{1, "steps", "2"}, {2, "batch.global", "8"}}, &diagnostics);
  ASSERT_TRUE(scenario.has_value()) << testing::PrintToString(diagnostics.errors());
  const RunResult run = scenarios::Run(*scenario, {.log_rates = true}).value();
  TraceOptions options{.path = testing::TempDir() + "scenario.json.gz"};
  options.ranks = scenario->layout.Group(sim::Rank(std::uint32_t{0}), Dimension::kPipeline);
  TraceCounter nvlink{.name = "NVLink"};
  for (std::size_t l = 0; l < scenario->fabric.links.size(); ++l) {
    if (scenario->fabric.links[l].tier == topologies::Tier::kNvlink) nvlink.links.emplace_back(l);
  }
  options.counters = {nvlink};
  const TraceSummary summary = WriteChromeTrace(run.steps.program, run.timeline, options).value();
  const json trace = json::parse(ReadMaybeGz(options.path));
  EXPECT_THAT(ProblemsOf(trace), testing::IsEmpty());

  // Two steps of 4 micro-batches over 3 boundaries, there and back.
  EXPECT_EQ(summary.arrows, 2 * 4 * 3 * 2);
  EXPECT_EQ(EventsOf(trace, "s").size(), 48u);
  EXPECT_EQ(EventsOf(trace, "f").size(), 48u);
  EXPECT_GT(summary.counter_values, 0);
  std::set<std::string> processes, tracks;
  for (const json& event : EventsOf(trace, "M")) {
    if (event["name"] == "process_name") processes.insert(event["args"]["name"]);
    if (event["name"] == "thread_name") tracks.insert(event["args"]["name"]);
  }
  EXPECT_EQ(processes.size(), 4u + 1);  // four ranks, and the links
  for (const char* track : {"compute", "tensor", "data", "to next", "from previous"}) {
    EXPECT_TRUE(tracks.contains(track)) << track;
  }
}

TEST(ScenarioTrace, OfASaveShowsCopiesAndWritesOnTracksOfTheirOwn) {
  proto::Diagnostics diagnostics;
  const auto scenario = LoadScenario("llama_70b_64xh800_checkpoint",
                                     {{1, "batch.global", "8"}, {2, "steps", "6"}}, &diagnostics);
  ASSERT_TRUE(scenario.has_value()) << testing::PrintToString(diagnostics.errors());
  const RunResult run = scenarios::Run(*scenario).value();
  TraceOptions options{.path = testing::TempDir() + "save.json"};
  options.ranks = {sim::Rank(std::uint32_t{5})};
  ASSERT_TRUE(WriteChromeTrace(run.steps.program, run.timeline, options).ok());
  const json trace = json::parse(ReadMaybeGz(options.path));
  EXPECT_THAT(ProblemsOf(trace), testing::IsEmpty());
  std::set<std::string> tracks, slices;
  for (const json& event : EventsOf(trace, "M")) {
    if (event["name"] == "thread_name") tracks.insert(event["args"]["name"]);
  }
  for (const json& event : EventsOf(trace, "X")) slices.insert(event["name"]);
  EXPECT_TRUE(tracks.contains("copy out") && tracks.contains("host"));
  EXPECT_TRUE(slices.contains("copy to host")) << testing::PrintToString(slices);
  EXPECT_TRUE(slices.contains("write checkpoint"));
}

}  // namespace
}  // namespace scenarios
