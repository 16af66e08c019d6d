#include "scenarios/checkpoint_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/base/random.h"

namespace scenarios {
namespace {

using namespace sim::literals;

sim::Duration Seconds(std::int64_t s) { return sim::Duration::Milliseconds(1000 * s); }

// Textbook, exercise 27.8: 400 GB every 20 minutes against 200 MB/s. 400 GB take 2,000 s, of which
// 1,200 pass: 240 GB are written, 160 GB stay.
TEST(Backlog, Of400GbEvery20MinutesAt200MbPerSecondGrowsBy160Gb) {
  const sim::Bytes save(400'000'000'000);
  const sim::Duration write = save / sim::ByteRate::BytesPerSecond(200'000'000);
  EXPECT_EQ(write, Seconds(2000));
  EXPECT_EQ(BacklogPerInterval(save, {Seconds(1200), {}, write, 1}), sim::Bytes(160'000'000'000));
  EXPECT_EQ(BacklogPerInterval(save, {Seconds(2000), {}, write, 1}), sim::Bytes());
}

// Save i is due at 1,200 (i - 1) s and needs the place of save i - k, written at 2,000 (i - k) s:
// with one place save 2 waits from 1,200 to 2,000; with two save 4 from 3,600 to 4,000 (save 3 is due at
// 2,400, after 2,000); with three save 7 from 7,200 to 8,000 (saves 4, 5 and 6 find 2,000 < 3,600,
// 4,000 < 4,800 and 6,000 = 6,000). More room only puts it off.
TEST(FirstStall, OfExercise27Point8ComesAtSave2Or4Or7) {
  const auto stall = [](std::int64_t slots) {
    return FirstStallOf({Seconds(1200), {}, Seconds(2000), slots}).value();
  };
  EXPECT_EQ(stall(1).save, 2);
  EXPECT_EQ(stall(1).since, Seconds(1200));
  EXPECT_EQ(stall(1).lasts, Seconds(800));
  EXPECT_EQ(stall(2).save, 4);
  EXPECT_EQ(stall(2).since, Seconds(3600));
  EXPECT_EQ(stall(2).lasts, Seconds(400));
  EXPECT_EQ(stall(3).save, 7);
  EXPECT_EQ(stall(3).since, Seconds(7200));
  EXPECT_EQ(stall(3).lasts, Seconds(800));
}

// The queue played save by save, until one waits.
std::optional<FirstStall> PlayedFirstStall(const SaveRhythm& rhythm, std::int64_t most) {
  std::vector<sim::Duration> written;
  for (std::int64_t save = 1; save <= most; ++save) {
    const sim::Duration due = (save - 1) * rhythm.interval;
    if (save > rhythm.slots) {
      const sim::Duration free = written[static_cast<std::size_t>(save - 1 - rhythm.slots)];
      if (free > due) return FirstStall{save, due, free - due};
    }
    const sim::Duration copied = due + rhythm.copy;
    written.push_back((written.empty() ? copied : std::max(copied, written.back())) + rhythm.write);
  }
  return std::nullopt;
}

TEST(FirstStall, IsWhatPlayingTheQueueFinds) {
  sim::Random random(7, "saves");
  for (int round = 0; round < 2000; ++round) {
    const auto draw = [&](std::int64_t most) { return sim::Duration::Picoseconds(random.Between(1, most)); };
    const SaveRhythm rhythm{draw(40), draw(20), draw(60), random.Between(1, 4)};
    // A backlog of one save more takes at most 40 intervals for each place.
    const auto want = PlayedFirstStall(rhythm, 400);
    const auto found = FirstStallOf(rhythm);
    // A copy may take longer than an interval: that is another reason to wait, not played here.
    if (rhythm.copy > rhythm.interval) continue;
    ASSERT_EQ(found.has_value(), want.has_value()) << round;
    if (!want) continue;
    EXPECT_EQ(found->save, want->save);
    EXPECT_EQ(found->since, want->since);
    EXPECT_EQ(found->lasts, want->lasts);
  }
}

// HB-140 (NVIDIA/Megatron-LM#2288): a save of 45 s every 30 s. With one copy in memory it must wait.
TEST(EarliestInterval, IsTheWholeSaveWithRoomForOneAndTheSlowerPaceWithMore) {
  EXPECT_EQ(EarliestInterval({Seconds(30), Seconds(5), Seconds(40), 1}), Seconds(45));
  EXPECT_EQ(EarliestInterval({Seconds(30), Seconds(5), Seconds(40), 2}), Seconds(40));
  EXPECT_EQ(FirstStallOf({Seconds(30), Seconds(5), Seconds(40), 1})->lasts, Seconds(15));
}

// HB-138 (llnl/scr#239): sqrt(2 * 60 * 10,800) = 1,138.4 s; 60 / 1,138.4 + 1,138.4 / 21,600 = 0.1054.
TEST(YoungInterval, Of60SecondsAndThreeHoursIs1138Seconds) {
  EXPECT_NEAR(YoungInterval(60, 3 * 3600.0), 1138.4, 0.05);
  EXPECT_NEAR(WasteOf(60, YoungInterval(60, 3 * 3600.0), 3 * 3600.0), 0.1054, 5e-5);
  // It is the least: its neighbours waste more.
  for (const double other : {0.9, 1.1}) {
    EXPECT_GT(WasteOf(60, other * 1138.4, 10'800), WasteOf(60, 1138.4, 10'800));
  }
}

// Textbook, 17.7.5: 126 GB/s of 40 GB/s servers at 0.8 are 4 servers, 12 with three replicas.
TEST(ServersNeeded, For126GbPerSecondAre4And12WithThreeReplicas) {
  const sim::Bytes save(126'000'000'000);
  EXPECT_EQ(ServersNeeded(save, 1, 32_GB_per_s, Seconds(1).ps()), 4);
  EXPECT_EQ(ServersNeeded(save, 3, 32_GB_per_s, Seconds(1).ps()), 12);
  EXPECT_EQ(ServersNeeded(save, 1, 126_GB_per_s, Seconds(1).ps()), 1);  // exactly enough
}

// Textbook, 17.7.5: 1,120 GB over 64 devices at 5 GB/s each take 3.5 s.
TEST(LoadTime, Of1120GbOn64DevicesIsThreeAndAHalfSeconds) {
  EXPECT_DOUBLE_EQ(LoadTime(1120e9, 64, 5e9), 3.5);
}

// 1.12 TB at 100 GB/s stall for 11.2 s: 11.2 ms of each of 1,000 steps.
TEST(StallPerStep, OfASynchronous70BSaveIsElevenMillisecondsInAThousandSteps) {
  EXPECT_DOUBLE_EQ(StallPerStep(1.12e12 / 100e9, 1000), 11.2e-3);
}

}  // namespace
}  // namespace scenarios
