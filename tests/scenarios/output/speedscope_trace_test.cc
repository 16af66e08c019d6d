#include "scenarios/output/speedscope_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/output/made_runs.h"
#include "tests/scenarios/output/trace_reader.h"

namespace scenarios {
namespace {

using nlohmann::json;

json Written(const Made& made, TraceOptions options) {
  options.path = testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
  EXPECT_TRUE(WriteSpeedscopeTrace(made.program, made.timeline, options).ok());
  return json::parse(ReadMaybeGz(options.path));
}

// "compute [10, 20) layers": a profile's name, then what is open when, in ns.
std::vector<std::string> Lines(const json& trace) {
  std::vector<std::string> lines;
  for (const json& profile : trace["profiles"]) {
    EXPECT_EQ(profile["type"], "evented");
    EXPECT_EQ(profile["unit"], "nanoseconds");
    lines.push_back(profile["name"]);
    double last = profile["startValue"];
    const json& events = profile["events"];
    for (std::size_t i = 0; i + 1 < events.size(); i += 2) {
      EXPECT_EQ(events[i]["type"], "O");
      EXPECT_EQ(events[i + 1]["type"], "C");
      EXPECT_EQ(events[i]["frame"], events[i + 1]["frame"]);
      EXPECT_LE(last, events[i]["at"].get<double>());
      last = events[i + 1]["at"];
      EXPECT_LE(events[i]["at"].get<double>(), last);
      lines.push_back(
          trace["shared"]["frames"][events[i]["frame"].get<std::size_t>()]["name"].get<std::string>() + " " +
          events[i]["at"].dump() + " " + events[i + 1]["at"].dump());
    }
    EXPECT_LE(last, profile["endValue"].get<double>());
  }
  return lines;
}

// The send's [10, 12) ms; the receiver comes at 6 ms.
TEST(SpeedscopeTrace, HasAProfileATrackAndAFrameAName) {
  EXPECT_THAT(Lines(Written(OneSend(), {})),
              testing::ElementsAre("rank 0: compute", "layers 0.0 10000000.0", "rank 0: to next",
                                   "send forward 10000000.0 12000000.0", "rank 1: from previous",
                                   "receive forward (waiting) 6000000.0 10000000.0",
                                   "receive forward 10000000.0 12000000.0"));
}

TEST(SpeedscopeTrace, KeepsPicosecondsAndWhatTouchesTouching) {
  const Made made = WorksAt({{1, 1'001}, {1'001, 2'500}});
  EXPECT_THAT(Lines(Written(made, {})),
              testing::ElementsAre("rank 0: compute", "qkv 0.001 1.001", "qkv 1.001 2.5"));
}

TEST(SpeedscopeTrace, IsAsLongAsTheWindowAndWhatReachesOutOfIt) {
  const Made made = WorksAt({{0, 10 * kMs}, {20 * kMs, 30 * kMs}, {40 * kMs, 50 * kMs}});
  const json trace = Written(made, {.window = sim::Interval{sim::At(12 * kMs), sim::At(25 * kMs)}});
  EXPECT_EQ(trace["profiles"][0]["startValue"], 12e6);
  EXPECT_EQ(trace["profiles"][0]["endValue"], 30e6);
}

// A track of marks alone would be a profile without events.
TEST(SpeedscopeTrace, HasNoProfileWithoutSlices) {
  const Made made = WorksAt({{5 * kMs, 5 * kMs}});
  EXPECT_TRUE(Written(made, {})["profiles"].empty());
}

}  // namespace
}  // namespace scenarios
