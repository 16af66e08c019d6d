#include "sim/analysis/saves.h"

#include <gtest/gtest.h>

#include "tests/sim/analysis/hand_made.h"

namespace sim {
namespace {

using namespace literals;

TrafficDescription Moves(std::string name) {
  TrafficDescription traffic = Latency(std::move(name));
  traffic.flows.push_back({.volume = Volume::Of(1_B)});
  return traffic;
}

// One rank: step, save 0, step, save 1, step; staging has room for one save, so
// the second copy waits for the first write.
//
//   compute   step 0-10        step 15-25                  step 45-55
//   copy               10-15              (from 25) 40-45
//   host                  15-40                           45-70
TEST(FindSaves, TellsAStallFromTheCopyItself) {
  ProgramBuilder builder(1, {1_GB_per_s});
  const StreamId compute = builder.AddStream(Rank(0), StreamKind::kCompute);
  const StreamId copies = builder.AddStream(Rank(0), StreamKind::kCopyOut);
  const StreamId host = builder.AddStream(Rank(0), StreamKind::kHost);
  const TrafficId bytes = builder.AddTraffic(Moves("bytes"));
  const WorkId work = builder.AddWork({10_ps, 10_ps});
  TaskId step = builder.Work(compute, work, TaskClass::kForward, {});
  std::vector<TaskId> writes;
  for (std::int32_t save = 0; save < 2; ++save) {
    const Label label{0, -1, save};
    const TaskId copy = builder.Seat(copies, builder.AddCommunication(bytes), TaskClass::kCheckpoint, label);
    builder.After(copy, step);
    if (!writes.empty()) builder.After(copy, writes.back());
    writes.push_back(builder.Seat(host, builder.AddCommunication(bytes), TaskClass::kCheckpoint, label));
    builder.After(writes.back(), copy);
    step = builder.Work(compute, work, TaskClass::kForward, {});
    builder.After(step, copy);
  }
  const Program program = std::move(builder).Build().value();
  // By task: step, copy, write, step, copy, write, step; begins by communication.
  const Timeline timeline = HandMade(
      program, {{0, 10}, {10, 15}, {15, 40}, {15, 25}, {40, 45}, {45, 70}, {45, 55}}, {10, 15, 40, 45});
  const std::vector<Save> saves = FindSaves(program, timeline, FindPredecessors(program));
  ASSERT_EQ(saves.size(), 2u);
  EXPECT_EQ(saves[0].copy, (Interval{At(10), At(15)}));
  EXPECT_EQ(saves[0].write, (Interval{At(15), At(40)}));
  EXPECT_EQ(saves[0].blocked, 5_ps);
  EXPECT_EQ(saves[0].stall, 0_ps);
  EXPECT_EQ(saves[1].blocked, 20_ps);  // 25 to 45
  EXPECT_EQ(saves[1].stall, 15_ps);    // 25 to 40
  EXPECT_EQ(saves[1].stalled_since, At(25));
}

TEST(FindSaves, OfARunWithoutSavesAreNone) {
  ProgramBuilder builder(1, {});
  builder.Work(builder.AddStream(Rank(0), StreamKind::kCompute), builder.AddWork({1_ps, 1_ps}),
               TaskClass::kForward, {});
  const Program program = std::move(builder).Build().value();
  EXPECT_TRUE(FindSaves(program, HandMade(program, {{0, 1}}), FindPredecessors(program)).empty());
}

}  // namespace
}  // namespace sim
