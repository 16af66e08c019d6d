// What of a run a trace shows, whatever the format.

#include "scenarios/output/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/program/executor.h"
#include "tests/scenarios/output/made_runs.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Writes down the calls.
class Noting : public TraceSink {
 public:
  explicit Noting(std::vector<std::string>* calls) : calls_(*calls) {}
  void Begin(const std::vector<sim::Rank>&) override {}
  void BeginRank(sim::Rank) override {}
  void BeginTrack(sim::Rank rank, const Track& track, int position) override {
    calls_.push_back(std::to_string(rank.value()) + " " + track.name + " at " + std::to_string(position));
  }
  void WriteSlice(const Slice& slice, std::optional<sim::Time>,
                  const std::optional<ArrowEnd>& arrow) override {
    calls_.push_back("slice " + Ms(slice.time.from) + (arrow ? arrow->sends ? " sends" : " receives" : ""));
  }
  void WriteInstant(const Slice& slice) override { calls_.push_back("instant " + Ms(slice.time.from)); }
  void BeginCounter(const TraceCounter&) override {}
  void WriteLoad(sim::Time when, sim::ByteRate load) override {
    calls_.push_back("load " + Ms(when) + " " + std::to_string(load.milli() / 1'000'000'000'000));
  }
  void End() override {}

 private:
  static std::string Ms(sim::Time t) { return std::to_string(t.since_start().ps() / kMs); }
  std::vector<std::string>& calls_;
};

std::vector<std::string> Shown(const Made& made, TraceOptions options) {
  std::vector<std::string> calls;
  options.path = "/dev/null";
  const auto written = WriteTrace(made.program, made.timeline, options,
                                  [&](OutputFile*) { return std::make_unique<Noting>(&calls); });
  EXPECT_TRUE(written.ok());
  return calls;
}

sim::Interval Between(std::int64_t from_ms, std::int64_t to_ms) {
  return {sim::At(from_ms * kMs), sim::At(to_ms * kMs)};
}

// Of [0, 10), [10, 20) and [20, 30) ms, [10, 21) meets the last two; what ends where it begins is out.
TEST(Trace, ShowsWholeWhatReachesIntoTheWindow) {
  const Made made = WorksAt({{0, 10 * kMs}, {10 * kMs, 20 * kMs}, {20 * kMs, 30 * kMs}});
  EXPECT_THAT(Shown(made, {.window = Between(10, 21)}),
              ElementsAre("0 compute at 0", "slice 10", "slice 20"));
  EXPECT_THAT(Shown(made, {.window = Between(12, 13)}), ElementsAre("0 compute at 0", "slice 10"));
  EXPECT_THAT(Shown(made, {.window = Between(30, 31)}), IsEmpty());
}

TEST(Trace, LeavesOutWhatIsShorterThanAskedFor) {
  const Made made = WorksAt({{0, 2 * kMs}, {2 * kMs, 2 * kMs}, {2 * kMs, 5 * kMs}});
  EXPECT_THAT(Shown(made, {}), ElementsAre("0 compute at 0", "slice 0", "slice 2", "instant 2"));
  EXPECT_THAT(Shown(made, {.shortest = sim::Duration::Milliseconds(2)}),
              ElementsAre("0 compute at 0", "slice 0", "slice 2"));
  EXPECT_THAT(Shown(made, {.shortest = sim::Duration::Milliseconds(3)}),
              ElementsAre("0 compute at 0", "slice 2"));
}

// The wait of the receive is a slice of its own, [6, 10) ms.
TEST(Trace, OfSomeStreamsHasArrowsOnlyBetweenThose) {
  const Made made = OneSend();
  EXPECT_THAT(Shown(made, {.streams = {sim::StreamKind::kToNext, sim::StreamKind::kFromPrevious}}),
              ElementsAre("0 to next at 0", "slice 10 sends", "1 from previous at 0", "slice 6",
                          "slice 10 receives"));
  EXPECT_THAT(Shown(made, {.streams = {sim::StreamKind::kToNext}}),
              ElementsAre("0 to next at 0", "slice 10"));
}

// 1 GB at 1 GB/s after 5 ms: the load is 0 until 5 ms and from 1005 ms on.
TEST(Trace, ShowsTheLoadWhereTheWindowBeginsAndItsChangesInside) {
  sim::ProgramBuilder builder(1, {sim::ByteRate::BytesPerSecond(1'000'000'000)});
  sim::FlowDescription flow;
  flow.volume = sim::Volume::Of(sim::Bytes(1'000'000'000));
  flow.uses = {{sim::LinkId(0), 1}};
  sim::TrafficDescription traffic = sim::Latency("send", sim::Duration::Milliseconds(5));
  traffic.flows.push_back(flow);
  builder.Seat(builder.AddStream(sim::Rank(0), sim::StreamKind::kData),
               builder.AddCommunication(builder.AddTraffic(traffic)), sim::TaskClass::kData,
               {builder.Name("send"), -1, -1});
  Made made{std::move(builder).Build().value(), {}};
  made.timeline = sim::Simulate(made.program, {.log_rates = true}).value();
  TraceOptions options{.streams = {sim::StreamKind::kCompute}, .counters = {{"link", {sim::LinkId(0)}}}};
  EXPECT_THAT(Shown(made, options), ElementsAre("load 0 0", "load 5 1", "load 1005 0"));
  options.window = Between(100, 2000);
  EXPECT_THAT(Shown(made, options), ElementsAre("load 100 1", "load 1005 0"));
  options.window = Between(5, 1005);
  EXPECT_THAT(Shown(made, options), ElementsAre("load 5 1"));
}

}  // namespace
}  // namespace scenarios
