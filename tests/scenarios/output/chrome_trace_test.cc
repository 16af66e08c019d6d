#include "scenarios/output/chrome_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/program/executor.h"
#include "sim/program/program_builder.h"
#include "tests/scenarios/output/made_runs.h"
#include "tests/scenarios/output/trace_reader.h"
#include "tests/sim/analysis/random_program.h"

namespace scenarios {
namespace {

using nlohmann::json;
using sim::CommunicationId;
using sim::Program;
using sim::ProgramBuilder;
using sim::Rank;
using sim::StreamKind;
using sim::TaskClass;
using sim::Timeline;
using testing::ElementsAre;
using testing::IsEmpty;

class ChromeTrace : public testing::Test {
 protected:
  ChromeTrace() {
    std::string name = testing::TempDir() + "/chrome_trace_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~ChromeTrace() override { std::filesystem::remove_all(folder_); }

  json Write(const Program& program, const Timeline& timeline, TraceOptions options = {}) {
    options.path = folder_ + "/trace.json";
    summary_ = WriteChromeTrace(program, timeline, options).value();
    const std::string text = ReadMaybeGz(options.path);
    EXPECT_EQ(summary_.bytes, static_cast<std::int64_t>(text.size()));
    json trace = json::parse(text);
    EXPECT_THAT(ProblemsOf(trace), IsEmpty());
    return trace;
  }

  std::string folder_;
  TraceSummary summary_;
};

// HB-181: displayTimeUnit is ms or ns, and values are microseconds all the same.
TEST_F(ChromeTrace, HasMicrosecondsWhateverItsDisplayUnit) {
  const Made m = WorksAt({{0, 10 * kMs}});
  const json trace = Write(m.program, m.timeline);
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  EXPECT_EQ(EventsOf(trace, "X")[0]["dur"], 10'000.0);
}

// HB-178, in ms on one stream: (0,100), (100,200), (200,300), (280,350), (360,400).
// Touching ends stay together; (280,350) overlaps (200,300) and gets a track of its own.
TEST_F(ChromeTrace, PutsOverlappingSlicesOnTracksOfTheirOwn) {
  const Made m = WorksAt({{0, 100 * kMs},
                          {100 * kMs, 200 * kMs},
                          {200 * kMs, 300 * kMs},
                          {280 * kMs, 350 * kMs},
                          {360 * kMs, 400 * kMs}});
  const json trace = Write(m.program, m.timeline);
  std::vector<std::vector<double>> starts(2);
  for (const json& slice : EventsOf(trace, "X"))
    starts.at(slice["tid"].get<std::size_t>() - 1).push_back(slice["ts"]);
  EXPECT_THAT(starts[0], ElementsAre(0.0, 100'000.0, 200'000.0, 360'000.0));
  EXPECT_THAT(starts[1], ElementsAre(280'000.0));
  std::vector<std::string> names;
  for (const json& m_event : EventsOf(trace, "M")) {
    if (m_event["name"] == "thread_name") names.push_back(m_event["args"]["name"]);
  }
  EXPECT_THAT(names, ElementsAre("compute", "compute (2)"));
}

TEST_F(ChromeTrace, EndsASliceOnePicosecondEarlyOnlyWhenTheNextTouchesIt) {
  const Made m = WorksAt({{0, 3'000'000}, {3'000'000, 5'000'000}, {6'000'000, 7'000'000}});
  Write(m.program, m.timeline);
  const std::string text = ReadMaybeGz(folder_ + "/trace.json");
  EXPECT_THAT(text, testing::HasSubstr("\"ts\":0.000000,\"dur\":2.999999,"));
  EXPECT_THAT(text, testing::HasSubstr("\"ts\":3.000000,\"dur\":2.000000,"));
  EXPECT_THAT(text, testing::HasSubstr("\"ts\":6.000000,\"dur\":1.000000,"));
}

TEST_F(ChromeTrace, ShowsASeatsWaitApartFromItsTransferAndTheSendAsAnArrow) {
  const Made m = OneSend();
  const json trace = Write(m.program, m.timeline);
  std::vector<std::string> lines;
  for (const json& x : EventsOf(trace, "X")) {
    lines.push_back(std::to_string(x["pid"].get<int>()) + " " + x["name"].get<std::string>() + " [" +
                    x["cat"].get<std::string>() + "]");
  }
  EXPECT_THAT(lines, ElementsAre("1 layers [forward]", "1 send forward [pipeline]",
                                 "2 receive forward (waiting) [waiting]", "2 receive forward [pipeline]"));
  const std::vector<json> s = EventsOf(trace, "s"), f = EventsOf(trace, "f");
  ASSERT_EQ(s.size(), 1u);
  ASSERT_EQ(f.size(), 1u);
  EXPECT_EQ(s[0]["pid"], 1);
  EXPECT_EQ(f[0]["pid"], 2);
  EXPECT_EQ(s[0]["ts"], 10'500.0);  // a quarter of [10, 12) ms
  EXPECT_EQ(f[0]["ts"], 11'500.0);
  EXPECT_EQ(summary_.slices, 4);
  EXPECT_EQ(summary_.arrows, 1);
  EXPECT_EQ(summary_.instants, 1);  // the mark at the step's end
  EXPECT_EQ(EventsOf(trace, "i")[0]["name"], "step");
}

TEST_F(ChromeTrace, OfChosenRanksHasNoArrowToARankThatIsNotShown) {
  const Made m = OneSend();
  const json trace = Write(m.program, m.timeline, {.ranks = {Rank(1), Rank(1)}});
  EXPECT_THAT(EventsOf(trace, "s"), IsEmpty());
  EXPECT_THAT(EventsOf(trace, "f"), IsEmpty());
  for (const json& x : EventsOf(trace, "X")) EXPECT_EQ(x["pid"], 2);
  EXPECT_EQ(EventsOf(trace, "X").size(), 2u);
  EXPECT_EQ(trace["distributedInfo"]["rank"], 1);
}

TEST_F(ChromeTrace, OfARankThatDoesNotExistIsAnErrorThatNamesIt) {
  const Made m = OneSend();
  const auto result =
      WriteChromeTrace(m.program, m.timeline, {.path = folder_ + "/a.json", .ranks = {Rank(9)}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "trace: 9 is not a rank; there are 2, numbered from 0");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/a.json"));
}

// speedscope takes name and arguments together for what a function is.
TEST_F(ChromeTrace, NamesSlicesSoThatEqualWorkAddsUpUnlessArgumentsAreAskedFor) {
  const Made m = WorksAt({{0, kMs}, {kMs, 2 * kMs}});
  std::set<std::string> functions;
  for (const json& x : EventsOf(Write(m.program, m.timeline), "X"))
    functions.insert(x["name"].dump() + x.value("args", json()).dump());
  EXPECT_EQ(functions.size(), 1u);
  const json trace = Write(m.program, m.timeline, {.arguments = true});
  EXPECT_EQ(EventsOf(trace, "X")[1]["args"], (json{{"micro_batch", 1}, {"layer", 7}}));
}

TEST_F(ChromeTrace, IsTheSameTextCompressedOrNot) {
  const Made m = OneSend();
  ASSERT_TRUE(WriteChromeTrace(m.program, m.timeline, {.path = folder_ + "/a.json"}).ok());
  ASSERT_TRUE(WriteChromeTrace(m.program, m.timeline, {.path = folder_ + "/a.json.gz"}).ok());
  EXPECT_EQ(ReadMaybeGz(folder_ + "/a.json"), ReadMaybeGz(folder_ + "/a.json.gz"));
  EXPECT_LT(std::filesystem::file_size(folder_ + "/a.json.gz"),
            std::filesystem::file_size(folder_ + "/a.json"));
}

TEST_F(ChromeTrace, ThatCannotBeWrittenIsAnError) {
  const Made m = OneSend();
  EXPECT_FALSE(WriteChromeTrace(m.program, m.timeline, {.path = folder_ + "/none/a.json"}).ok());
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const auto full = WriteChromeTrace(m.program, m.timeline, {.path = "/dev/full"});
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message, "cannot write /dev/full: No space left on device");
}

TEST_F(ChromeTrace, ThatIsToldToStopLeavesNoFile) {
  const Made m = OneSend();
  const auto stopped =
      WriteChromeTrace(m.program, m.timeline, {.path = folder_ + "/a.json", .go_on = [] { return false; }});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().message,
            "interrupted while " + folder_ + "/a.json was written; there is no such file");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// 1 GB at 1 GB/s: the link is full for a second, then empty.
TEST_F(ChromeTrace, CountersShowTheLoadOfLinks) {
  ProgramBuilder builder(
      1, {sim::ByteRate::BytesPerSecond(1'000'000'000), sim::ByteRate::BytesPerSecond(1'000'000'000)});
  sim::FlowDescription flow;
  flow.volume = sim::Volume::Of(sim::Bytes(1'000'000'000));
  flow.uses = {{sim::LinkId(1), 1}};
  sim::TrafficDescription traffic = sim::Latency("send", sim::Duration::Milliseconds(5));
  traffic.flows.push_back(flow);
  const CommunicationId c = builder.AddCommunication(builder.AddTraffic(traffic));
  builder.Seat(builder.AddStream(Rank(0), StreamKind::kData), c, TaskClass::kData,
               {builder.Name("send"), -1, -1});
  const Program program = std::move(builder).Build().value();
  const Timeline timeline = sim::Simulate(program, {.log_rates = true}).value();
  const json trace =
      Write(program, timeline, {.counters = {{"idle", {sim::LinkId(0)}}, {"\"busy\"", {sim::LinkId(1)}}}});
  std::vector<std::string> values;
  for (const json& v : EventsOf(trace, "C"))
    values.push_back(v["name"].get<std::string>() + " " + v["ts"].dump() + " " + v["args"]["GB/s"].dump());
  EXPECT_THAT(values, ElementsAre("idle 0.0 0.0", "\"busy\" 0.0 0.0", "\"busy\" 5000.0 1.0",
                                  "\"busy\" 1005000.0 0.0"));
  EXPECT_EQ(summary_.counter_values, 4);
}

TEST_F(ChromeTrace, OfEveryRunIsReadableAndHoldsEveryTask) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = sim::RandomProgram(seed, 2);
    const Timeline timeline = sim::Simulate(program, {.log_rates = true}).value();
    TraceOptions options;
    options.counters = {{"first link", {sim::LinkId(0)}}};
    const json trace = Write(program, timeline, options);
    std::int64_t waits = 0, busy = 0;
    for (std::size_t t = 0; t < program.tasks(); ++t) {
      sim::Time from = timeline.start[t];
      if (program.row(sim::TaskId(t)).kind == sim::TaskKind::kSeat) {
        const sim::Time begin = timeline.begin[program.communication_of(sim::TaskId(t)).pos()];
        waits += from < begin ? 1 : 0;
        from = begin;
      }
      busy += from < timeline.end[t] ? 1 : 0;
    }
    EXPECT_EQ(summary_.slices, waits + busy);
    EXPECT_EQ(static_cast<std::int64_t>(EventsOf(trace, "X").size()), summary_.slices);
    EXPECT_EQ(summary_.instants, static_cast<std::int64_t>(program.tasks()) - busy);
    EXPECT_EQ(static_cast<std::int64_t>(EventsOf(trace, "C").size()), summary_.counter_values);
  }
}

TEST_F(ChromeTrace, WarnsAboveAMillionSlices) {
  std::vector<sim::Span> spans;
  for (std::int64_t i = 0; i <= 1'000'000; ++i) spans.push_back({i * 1'000'000, i * 1'000'000 + 500'000});
  const Made m = WorksAt(spans);
  const TraceSummary summary = WriteChromeTrace(m.program, m.timeline, {.path = "/dev/null"}).value();
  EXPECT_THAT(
      summary.warnings,
      ElementsAre("the trace has 1,000,001 slices, and viewers are slow above 1,000,000; show fewer ranks"));
}

}  // namespace
}  // namespace scenarios
