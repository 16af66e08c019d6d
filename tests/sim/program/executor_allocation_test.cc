// The executor allocates from the program's size before the clock starts, and
// not per event.

#include <gtest/gtest.h>

#include "sim/program/executor.h"
#include "sim/program/program_builder.h"
#include "tests/sim/engine/allocations.h"

namespace sim {
namespace {

using namespace literals;

// Two ranks that compute and reduce in turn, `rounds` times, beside a flow that
// changes every reduction's rate.
Program PingPong(int rounds) {
  ProgramBuilder builder(2, {1_GB_per_s, 2_GB_per_s});
  StreamId compute[2], tensor[2];
  for (int r = 0; r < 2; ++r) {
    compute[r] = builder.AddStream(Rank(r), StreamKind::kCompute);
    tensor[r] = builder.AddStream(Rank(r), StreamKind::kTensor);
  }
  const StreamId other = builder.AddStream(Rank(std::uint32_t{0}), StreamKind::kData);
  const WorkId work = builder.AddWork({3_ns, 5_ns});
  const auto traffic = [&](Bytes bytes) {
    TrafficDescription t{.name = "t", .size = bytes};
    t.flows.push_back({.volume = Volume::Of(bytes), .uses = {{LinkId(0), 1}, {LinkId(1), 2}}});
    return builder.AddTraffic(t);
  };
  const TrafficId reduce = traffic(7_B), background = traffic(3_B);
  const Label label{builder.Name("x")};
  for (int i = 0; i < rounds; ++i) {
    const CommunicationId c = builder.AddCommunication(reduce);
    for (int r = 0; r < 2; ++r) {
      const TaskId before = builder.Work(compute[r], work, TaskClass::kForward, label);
      builder.After(builder.Seat(tensor[r], c, TaskClass::kTensor, label), before);
    }
    builder.Seat(other, builder.AddCommunication(background), TaskClass::kData, label);
  }
  return std::move(builder).Build().value();
}

std::uint64_t AllocationsOfARun(const Program& program) {
  const std::uint64_t before = Allocations();
  const Timeline timeline = Simulate(program).value();
  EXPECT_GT(timeline.events, 0u);
  return Allocations() - before;
}

TEST(Executor, AllocatesAsOftenForALongRunAsForAShortOne) {
  const Program brief = PingPong(64), lengthy = PingPong(4096);
  // Columns that grow by doubling before the clock starts differ by the doublings.
  EXPECT_LE(AllocationsOfARun(lengthy), AllocationsOfARun(brief) + 32);
}

}  // namespace
}  // namespace sim
