#include "scenarios/explain/traffic_bound.h"

#include <gtest/gtest.h>

#include "sim/program/program_builder.h"

namespace scenarios {
namespace {

using sim::ByteRate;
using sim::LinkId;

// Two links, of 1 and 2 GB/s. A flow of 1,000 bytes of progress puts 1,000 on the first and 3,000 on the
// second, which is busy for 1.5 us: the narrowest. Another of 2,000 bytes on the first link alone makes that
// one busy for 3 us together.
sim::Program TwoLinks(ByteRate limit, bool second_flow) {
  sim::ProgramBuilder builder(
      1, {ByteRate::BytesPerSecond(1'000'000'000), ByteRate::BytesPerSecond(2'000'000'000)});
  sim::TrafficDescription traffic;
  traffic.name = "move";
  traffic.latency = sim::Duration::Microseconds(9);
  sim::FlowDescription flow;
  flow.volume = sim::Volume::Of(sim::Bytes(1000));
  flow.uses = {{LinkId(0u), 1}, {LinkId(1u), 3}};
  flow.limit = limit;
  traffic.flows.push_back(flow);
  if (second_flow) {
    sim::FlowDescription other;
    other.volume = sim::Volume::Of(sim::Bytes(2000));
    other.uses = {{LinkId(0u), 1}};
    traffic.flows.push_back(other);
  }
  const sim::CommunicationId c = builder.AddCommunication(builder.AddTraffic(traffic));
  const sim::Label label{builder.Name("move"), -1, -1};
  builder.Seat(builder.AddStream(sim::Rank(0u), sim::StreamKind::kData), c, sim::TaskClass::kData, label);
  return std::move(builder).Build().value();
}

TEST(TrafficBound, IsTheLinkThatIsBusyLongest) {
  const TrafficBound one = BoundsOfTraffics(TwoLinks({}, false)).front();
  EXPECT_EQ(one.transfer, sim::Duration::Nanoseconds(1500));
  EXPECT_EQ(one.link, LinkId(1u));
  EXPECT_FALSE(one.limited);
  const TrafficBound both = BoundsOfTraffics(TwoLinks({}, true)).front();
  EXPECT_EQ(both.transfer, sim::Duration::Nanoseconds(3000));
  EXPECT_EQ(both.link, LinkId(0u));
}

// 1,000 bytes at 0.5 GB/s are 2 us, of the narrowest link of that flow; at 1 GB/s the links bind.
TEST(TrafficBound, OfAFlowWithALimitIsThat) {
  const TrafficBound slow = BoundsOfTraffics(TwoLinks(ByteRate::BytesPerSecond(500'000'000), false)).front();
  EXPECT_EQ(slow.transfer, sim::Duration::Nanoseconds(2000));
  EXPECT_EQ(slow.link, LinkId(1u));
  EXPECT_TRUE(slow.limited);
  EXPECT_FALSE(BoundsOfTraffics(TwoLinks(ByteRate::BytesPerSecond(1'000'000'000), false)).front().limited);
}

}  // namespace
}  // namespace scenarios
