#include "scenarios/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/analysis/step.h"
#include "tests/scenarios/saving.h"

namespace scenarios {
namespace {

Checkpoint Every(std::int64_t steps, SaveMode mode = SaveMode::kAsync) {
  return {.every_steps = steps, .mode = mode, .source = {}, .storage_source = {}};
}

// HB-137 (pytorch/torchtitan#302, #3393): 7.88 GB of a rank over PCIe at 25 GB/s take 0.3152 s, to
// storage at 1 GB/s 7.88 s.
TEST(Checkpoint, SyncBlocksForCopyAndWriteAndAsyncForTheCopyOnly) {
  const sim::Duration copy = Ms(315) + sim::Duration::Microseconds(200), write = Ms(7880);
  const Played sync = Play(Saving(1, Every(1, SaveMode::kSync), copy, write, 6), Ms(10'000));
  ASSERT_EQ(sync.saves.size(), 2u);
  ExpectTime(sync.saves[0].blocked, copy + write);
  ExpectTime(sync.saves[1].blocked, copy + write);
  const Played async = Play(Saving(1, Every(1), copy, write, 6), Ms(10'000));
  ExpectTime(async.saves[0].blocked, copy);
  ExpectTime(async.saves[1].blocked, copy);
  EXPECT_EQ(async.saves[1].stall, sim::Duration());
}

// The same save each second: the next one's copy is not before the write has ended, 8.195 s later.
TEST(Checkpoint, WithRoomForOneSaveTheNextStartsWhenItIsWritten) {
  const sim::Duration copy = Ms(315), write = Ms(7880), step = Ms(1000);
  const Played played = Play(Saving(1, Every(1), copy, write, 7), step);
  ASSERT_EQ(played.saves.size(), 3u);
  for (std::size_t i = 1; i < 3; ++i) {
    ExpectTime(played.saves[i].copy.from - played.saves[i - 1].copy.from, copy + write);
    EXPECT_EQ(played.saves[i].copy.from, played.saves[i - 1].write.to);
    // After the copy before it a step ran beside the write, and then training stood still.
    ExpectTime(played.saves[i].stall, write - step);
    ExpectTime(played.saves[i].blocked, write - step + copy);
    ExpectTime(played.saves[i].stalled_since - played.saves[i - 1].copy.to, step);
  }
}

// The first save follows the fourth step: before it the run is what it is without saves.
TEST(Checkpoint, StepsBeforeTheFirstSaveAreThoseOfARunWithoutSaves) {
  const Played with = Play(Saving(3, Every(2), Ms(10), Ms(50), 8), Ms(30));
  Scenario bare = Saving(3, Every(2), Ms(10), Ms(50), 8);
  bare.checkpoint.reset();
  const Played without = Play(bare, Ms(30));
  const auto ends = sim::FindSteps(with.program, with.timeline).end;
  const auto bare_ends = sim::FindSteps(without.program, without.timeline).end;
  for (std::size_t step = 0; step < 4; ++step) EXPECT_EQ(ends[step], bare_ends[step]);
  EXPECT_GT(ends[4], bare_ends[4]);
  EXPECT_TRUE(without.saves.empty());
  EXPECT_EQ(with.saves.size(), 2u);  // after steps 4 and 6; one after 8 would hold up nothing
}

TEST(Checkpoint, AnOverlappedCopyBlocksOnlyTheOptimizerThatComesBeforeItsEnd) {
  Checkpoint overlapped = Every(1);
  overlapped.copy = SaveCopy::kOverlapped;
  EXPECT_EQ(Play(Saving(1, overlapped, Ms(8), Ms(1), 6), Ms(10)).saves[0].blocked, sim::Duration());
  ExpectTime(Play(Saving(1, overlapped, Ms(12), Ms(1), 6), Ms(10)).saves[0].blocked, Ms(2));
}

// Four ranks; the last one writes for four times as long as the others.
TEST(Checkpoint, SyncWaitsForTheSlowestRank) {
  Scenario s = Saving(4, Every(1, SaveMode::kSync), Ms(1), Ms(20), 6);
  topologies::Link& slow = s.fabric.links[s.fabric.storage->write[3].uses[0].link.pos()];
  slow.capacity = sim::ByteRate::MilliBytesPerSecond(slow.capacity.milli() / 4);
  const Played played = Play(s, Ms(30));
  const sim::Save& save = played.saves[0];
  ExpectTime(save.write.length(), Ms(80));
  const std::vector<sim::Time> ends = sim::FindSteps(played.program, played.timeline).end;
  // All ranks start the fifth step when the last one has written; ranks end a step at different times.
  EXPECT_GT(ends[4] - ends[3], Ms(80) + Ms(1));
  for (std::size_t task = 0; task < played.program.tasks(); ++task) {
    const bool work = played.program.row(sim::TaskId(task)).kind == sim::TaskKind::kWork;
    if (!work || played.timeline.start[task] < save.copy.from) continue;
    EXPECT_GE(played.timeline.start[task], save.write.to);
    break;
  }
}

// What is copied and not yet written, at each instant; by node.
sim::Bytes MostStaged(const Scenario& scenario, const Played& played) {
  const CheckpointPlan plan = PlanCheckpoint(scenario);
  std::map<std::uint32_t, std::map<sim::Time, std::int64_t>> changes;
  for (std::size_t task = 0; task < played.program.tasks(); ++task) {
    if (played.program.row(sim::TaskId(task)).task_class != sim::TaskClass::kCheckpoint) continue;
    const sim::StreamKind kind = played.program.stream_kind_of(sim::TaskId(task));
    const std::size_t rank = played.program.rank_of(sim::TaskId(task)).pos();
    auto& node = changes[scenario.fabric.domain[rank]];
    const std::int64_t bytes = plan.rank_bytes[rank].count();
    if (kind == sim::StreamKind::kCopyOut) node[played.timeline.start[task]] += bytes;
    if (kind == sim::StreamKind::kHost) node[played.timeline.end[task]] -= bytes;
  }
  std::int64_t most = 0;
  for (const auto& [node, by_time] : changes) {
    std::int64_t now = 0;
    for (const auto& [time, change] : by_time) most = std::max(most, now += change);
    EXPECT_EQ(now, 0);  // all is written in the end
  }
  return sim::Bytes(most);
}

// Saves twice as fast as they are written fill whatever room there is, and no more.
TEST(Checkpoint, StagingIsUsedUpAndNeverOverflows) {
  Scenario one = Saving(4, Every(1), Ms(1), Ms(40), 16);
  one.fabric.domain = {0, 0, 1, 1};
  const sim::Bytes save = PlanCheckpoint(one).largest_node;
  for (std::int64_t room = 1; room <= 4; ++room) {
    Scenario s = one;
    s.checkpoint->staging_per_node = room * save + sim::Bytes(room - 1);
    const Played played = Play(s, Ms(5));
    EXPECT_LE(MostStaged(s, played), s.checkpoint->staging_per_node);
    EXPECT_EQ(MostStaged(s, played), room * save);
    EXPECT_GT(played.saves.back().stall, sim::Duration());
  }
}

// Exercise 27.8 in its own proportions, with a step of a period: 1,200 s pass from save to save, and one
// takes 2,000 s to write. Copies take 1 ms. See FirstStall, OfExercise27Point8ComesAtSave2Or4Or7.
TEST(Checkpoint, Exercise27Point8StallsAtSave2Or4DependingOnTheRoom) {
  const Scenario one = Saving(1, Every(1), Ms(1), Ms(2'000'000), 10);
  const Played first = Play(one, Ms(1'200'000));
  EXPECT_EQ(first.saves[0].stall, sim::Duration());
  ExpectTime(first.saves[1].stall, Ms(800'000));
  ExpectTime(first.saves[1].stalled_since - first.saves[0].copy.from, Ms(1'200'001));
  Scenario two = one;
  two.checkpoint->staging_per_node = 2 * PlanCheckpoint(one).largest_node;
  const Played second = Play(two, Ms(1'200'000));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(second.saves[i].stall, sim::Duration()) << i;
  ExpectTime(second.saves[3].stalled_since - second.saves[0].copy.from, Ms(3'600'003));
  // 1 + 4,000,000 - 3,600,003 ms: the first write starts a copy later, each period is a copy longer.
  ExpectTime(second.saves[3].stall, Ms(399'998));
}

// Two data ranks: the group gathers, the first one writes all of it.
TEST(Checkpoint, AConsolidatedSaveHasOneWriterADataGroup) {
  Checkpoint checkpoint = Every(1);
  checkpoint.format = SaveFormat::kConsolidated;
  Scenario s = Saving(1, checkpoint, Ms(4), Ms(9), 7);
  s.devices = s.layout.data = s.batch.global = 2;
  s.fabric.domain = {0, 0};
  s.fabric.rail = {0, 1};
  topologies::StorageRoutes routes = *s.fabric.storage;
  for (auto* list : {&routes.to_host, &routes.to_device, &routes.write, &routes.read}) {
    list->push_back(list->front());
  }
  s.fabric.storage = std::make_shared<const topologies::StorageRoutes>(routes);
  const CheckpointPlan plan = PlanCheckpoint(s);
  const std::int64_t parameters = models::ParametersOf(s.model).total();
  EXPECT_EQ(plan.rank_bytes[0], sim::Bytes(14 * parameters));
  EXPECT_EQ(plan.rank_bytes[1], sim::Bytes());
  EXPECT_EQ(plan.gathered[1], sim::Bytes(12 * parameters));  // BF16 weights are there already
  const Played played = Play(s, Ms(30));
  int gathers = 0, writes = 0;
  for (std::size_t task = 0; task < played.program.tasks(); ++task) {
    if (played.program.row(sim::TaskId(task)).task_class != sim::TaskClass::kCheckpoint) continue;
    const sim::StreamKind kind = played.program.stream_kind_of(sim::TaskId(task));
    gathers += kind == sim::StreamKind::kData ? 1 : 0;
    writes += kind == sim::StreamKind::kHost ? 1 : 0;
  }
  EXPECT_EQ(gathers, 2 * 3);  // two ranks, three saves
  EXPECT_EQ(writes, 3);
}

}  // namespace
}  // namespace scenarios
