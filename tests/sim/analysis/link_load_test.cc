#include "sim/analysis/link_load.h"

#include <gtest/gtest.h>

#include "sim/program/executor.h"
#include "sim/program/program_builder.h"
#include "tests/sim/analysis/hand_made.h"
#include "tests/sim/analysis/random_program.h"

namespace sim {
namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

// One flow of 1000 B that loads link 0 once and link 1 by 3/2, alone on links of
// 1 and 3 GB/s, after a latency of 500 ns.
Program OneFlow() {
  ProgramBuilder builder(1, {ByteRate::BytesPerSecond(kGiga), ByteRate::BytesPerSecond(3 * kGiga)});
  FlowDescription flow;
  flow.volume = Volume::Of(Bytes(1000));
  flow.uses = {{LinkId(0), 2}, {LinkId(1), 3}};
  flow.weight_denominator = 2;
  TrafficDescription traffic = Latency("send", Duration::Nanoseconds(500));
  traffic.flows.push_back(flow);
  const CommunicationId c = builder.AddCommunication(builder.AddTraffic(traffic));
  builder.Seat(builder.AddStream(Rank(0), StreamKind::kData), c, TaskClass::kData,
               {builder.Name("send"), -1, -1});
  return std::move(builder).Build().value();
}

// 1000 B at 1 GB/s take 1 us: [0.5, 1.5) us. The window [0, 1) us holds half.
TEST(LinkBytes, AreVolumeTimesWeightAndCutByTimeAtTheWindow) {
  const Program program = OneFlow();
  const Timeline timeline = Simulate(program).value();
  const LinkBytes bytes =
      LinkBytesOf(program, timeline, {Time::Start(), Time::Start() + Duration::Microseconds(1)});
  EXPECT_EQ(bytes.total, (std::vector<Bytes>{Bytes(1000), Bytes(1500)}));
  EXPECT_EQ(bytes.window, (std::vector<Bytes>{Bytes(500), Bytes(750)}));
  // 500 B in 1 us on 1 GB/s.
  EXPECT_DOUBLE_EQ(Utilisation(bytes.window[0], program.link_capacity[0], Duration::Microseconds(1)), 0.5);
  EXPECT_EQ(Utilisation(bytes.window[0], program.link_capacity[0], Duration()), 0.0);
}

TEST(LoadsOverTime, ShowTheFlowOnEachLinkAndTheMeanOfASet) {
  const Program program = OneFlow();
  const Timeline timeline = Simulate(program, {.log_rates = true}).value();
  const Time from = Time::Start() + Duration::Nanoseconds(500),
             to = Time::Start() + Duration::Nanoseconds(1500);
  const auto each = LoadsOverTime(program, timeline, std::vector<std::uint32_t>{0, 1}, 2);
  EXPECT_EQ(each[0], (std::vector<LoadChange>{{from, ByteRate::BytesPerSecond(kGiga)}, {to, ByteRate()}}));
  EXPECT_EQ(each[1],
            (std::vector<LoadChange>{{from, ByteRate::BytesPerSecond(kGiga * 3 / 2)}, {to, ByteRate()}}));
  const auto both = LoadsOverTime(program, timeline, std::vector<std::uint32_t>{0, 0}, 1);
  EXPECT_EQ(both[0],
            (std::vector<LoadChange>{{from, ByteRate::BytesPerSecond(kGiga * 5 / 4)}, {to, ByteRate()}}));
  const auto none = LoadsOverTime(program, timeline, std::vector<std::uint32_t>{kNoSet, kNoSet}, 1);
  EXPECT_TRUE(none[0].empty());
}

std::vector<std::uint32_t> EachLink(const Program& program) {
  std::vector<std::uint32_t> set;
  for (std::uint32_t l = 0; l < program.link_capacity.size(); ++l) set.push_back(l);
  return set;
}

TEST(LoadsOverTime, NeverExceedACapacityAndAddUpToTheBytesCarried) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = RandomProgram(seed, 1);
    const Timeline timeline = Simulate(program, {.log_rates = true}).value();
    const Interval run{Time::Start(), timeline.finish};
    const LinkBytes bytes = LinkBytesOf(program, timeline, run);
    EXPECT_EQ(bytes.total, bytes.window);
    const auto loads = LoadsOverTime(program, timeline, EachLink(program), program.link_capacity.size());
    for (std::size_t l = 0; l < loads.size(); ++l) {
      Wide carried = 0;  // 10^-15 byte
      for (std::size_t i = 0; i < loads[l].size(); ++i) {
        ASSERT_LE(loads[l][i].mean, program.link_capacity[l]);
        ASSERT_GE(loads[l][i].mean, ByteRate());
        const Time to = i + 1 < loads[l].size() ? loads[l][i + 1].when : timeline.finish;
        ASSERT_LE(loads[l][i].when, to);
        carried += static_cast<Wide>(loads[l][i].mean.milli()) * (to - loads[l][i].when).ps();
      }
      ASSERT_TRUE(loads[l].empty() || loads[l].back().mean == ByteRate());
      // Flows end on whole picoseconds, up to one too late: at most 30 flows,
      // each at up to 3 GB/s for 1 ps, is 0.09 B.
      const double difference =
          static_cast<double>(carried) * 1e-15 - static_cast<double>(bytes.total[l].count());
      ASSERT_LT(difference, 0.6);
      ASSERT_GT(difference, -0.6);
    }
  }
}

// The oracle divides the other way round: where the rates were logged, the
// integral of the load over the window is what went through in it.
TEST(LinkBytes, OfAWindowAreExactWhereTheRateWasConstant) {
  const Program program = OneFlow();
  const Timeline timeline = Simulate(program).value();
  for (std::int64_t ns = 0; ns <= 2000; ns += 37) {
    const LinkBytes bytes =
        LinkBytesOf(program, timeline, {Time::Start(), Time::Start() + Duration::Nanoseconds(ns)});
    // 1 B a nanosecond from 500 ns on.
    EXPECT_EQ(bytes.window[0], Bytes(std::clamp<std::int64_t>(ns - 500, 0, 1000)));
  }
}

}  // namespace
}  // namespace sim
