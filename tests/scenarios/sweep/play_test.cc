#include "scenarios/sweep/play.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "tests/scenarios/sweep/sweeping.h"

namespace scenarios {
namespace {

using testing::HasSubstr;

std::map<RowStatus, int> CountsOf(const Rows& rows) {
  std::map<RowStatus, int> counts;
  for (const auto& row : rows) ++counts[row->status];
  return counts;
}

TEST(PlayPoints, GivesTheSameRowsWhateverTheThreads) {
  const PointList list = SmallPoints();
  const Rows one = PlayedRows(list, {.jobs = 1});
  EXPECT_EQ(TextsOf(PlayedRows(list, {.jobs = 3})), TextsOf(one));
  EXPECT_EQ(TextsOf(PlayedRows(list, {.jobs = 64})), TextsOf(one));
  EXPECT_GT(CountsOf(one)[RowStatus::kOk], 20);
}

TEST(PlayPoints, MakesRowsWithReasonsOfWhatCannotBe) {
  const PointList list = PointsOfAxes({"batch.micro=1,3,16", "layout.tensor=1,3"});
  // Micro-batches of 16 on a data rank would need 128 sequences a step.
  const Rows rows = PlayedRows(list);
  EXPECT_EQ(rows[0]->status, RowStatus::kOk);
  EXPECT_EQ(rows[0]->reason, "");
  EXPECT_EQ(rows[1]->status, RowStatus::kRefused);
  EXPECT_THAT(rows[1]->reason, HasSubstr("8 devices are not a multiple of tensor 3"));
  EXPECT_EQ(rows[1]->device, "");
  EXPECT_EQ(rows[4]->status, RowStatus::kRefused);
  EXPECT_THAT(rows[4]->reason, HasSubstr("not a multiple of micro 16 x data 8 = 128"));
}

TEST(PlayPoints, PlaysWhatDoesNotFitOnlyWhenAskedTo) {
  const PointList list = PointsOfAxes({"batch.global=1024", "batch.micro=128"});
  const Rows rows = PlayedRows(list);
  EXPECT_EQ(rows[0]->status, RowStatus::kDoesNotFit);
  EXPECT_THAT(rows[0]->reason, HasSubstr("GiB a device of 79.18 GiB"));
  EXPECT_GT(*rows[0]->memory, *rows[0]->memory_limit);
  EXPECT_FALSE(rows[0]->played());
  const Rows played = PlayedRows(list, {.play_all = true});
  EXPECT_EQ(played[0]->status, RowStatus::kDoesNotFit);
  EXPECT_TRUE(played[0]->played());
  EXPECT_GE(*played[0]->step_time, *played[0]->least_step_time);
}

TEST(PlayPoints, RefusesWhatTheMachineHasNoRoomForAndLetsTheRestWait) {
  const PointList list = SmallPoints();
  const Rows rows = PlayedRows(list);
  const Rows narrow = PlayedRows(list, {.jobs = 8, .memory_limit = 100e3});
  EXPECT_GT(CountsOf(narrow)[RowStatus::kTooLarge], 5);
  EXPECT_GT(CountsOf(narrow)[RowStatus::kOk], 5);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (narrow[i]->status == RowStatus::kTooLarge) {
      EXPECT_THAT(narrow[i]->reason, HasSubstr("too large to simulate"));
    } else {
      EXPECT_EQ(TextsOf(*narrow[i]), TextsOf(*rows[i]));
    }
  }
}

TEST(PlayPoints, KeepsKnownRowsAndTellsOfNewOnes) {
  const PointList list = PointsOfAxes({"layout.tensor=1,2,4,8"});
  Rows rows(4);
  rows[2] = Row{.reason = "known"};
  std::vector<std::size_t> told;
  const PlayPointsOptions options{.jobs = 2, .on_row = [&](const PointResult& result, bool of_play) {
                                    EXPECT_TRUE(of_play);
                                    told.push_back(result.point);
                                    return true;
                                  }};
  EXPECT_TRUE(PlayPoints(SmallJob(), list.points, options, &rows));
  EXPECT_EQ(rows[2]->reason, "known");
  EXPECT_THAT(told, testing::UnorderedElementsAre(0, 1, 3));
}

TEST(PlayPoints, StopsWhenToldToAndGoesOnFromThere) {
  const PointList list = SmallPoints();
  const Rows all = PlayedRows(list);
  Rows rows(list.points.size());
  int sessions = 0;
  std::atomic<int> left{0};
  const PlayPointsOptions options{.jobs = 3, .on_row = [&](const PointResult&, bool) { return --left > 0; }};
  do {
    left = 7;
    ASSERT_LT(++sessions, 100);
  } while (!PlayPoints(SmallJob(), list.points, options, &rows));
  EXPECT_GT(sessions, 5);
  EXPECT_EQ(TextsOf(rows), TextsOf(all));
  Rows none(list.points.size());
  EXPECT_FALSE(PlayPoints(SmallJob(), list.points, {.go_on = [] { return false; }}, &none));
}

Rows BestRows(const PointList& list, const Wanted& wanted, const PlayPointsOptions& options) {
  Rows rows(list.points.size());
  PlayBest(SmallJob(), list.points, wanted, options, &rows);
  return rows;
}

// Three times as many as the window is long.
PointList ManyPoints() {
  return PointsOfAxes({"layout.tensor=1,2,4,8", "layout.pipeline=1,2", "batch.micro=1,2,4",
                       "training.recompute=NONE,FULL", "batch.global=16,32"});
}

TEST(PlayBest, FindsTheBestAndTheFrontThatPlayingAllFinds) {
  const PointList list = ManyPoints();
  const Rows all = PlayedRows(list);
  std::vector<Row> every;
  for (const auto& row : all) every.push_back(*row);
  for (const Metric metric : {Metric::kStepTime, Metric::kTokensPerDollar}) {
    for (const bool front : {true, false}) {
      const Rows best = BestRows(list, {metric, front}, {.jobs = 2});
      std::vector<Row> some;
      for (const auto& row : best) some.push_back(*row);
      const std::vector<Ranked> wanted = RankingOf(every, metric), found = RankingOf(some, metric);
      EXPECT_EQ(found[0].row, wanted[0].row);
      std::vector<std::size_t> wanted_front, found_front;
      for (const Ranked& one : wanted) {
        if (one.on_front) wanted_front.push_back(one.row);
      }
      for (const Ranked& one : found) {
        if (one.on_front) found_front.push_back(one.row);
      }
      if (front) {
        EXPECT_EQ(found_front, wanted_front);
      }
      int skipped = 0;
      for (std::size_t i = 0; i < best.size(); ++i) {
        if (best[i]->status != RowStatus::kSkipped) {
          EXPECT_EQ(TextsOf(*best[i]), TextsOf(*all[i]));
          continue;
        }
        ++skipped;
        ASSERT_EQ(all[i]->status, RowStatus::kOk);
        EXPECT_GT(*all[i]->step_time, *best[i]->least_step_time);
      }
      EXPECT_GT(skipped, front ? 5 : 20) << list.points.size();
    }
  }
}

TEST(PlayBest, SkipsTheSameWhateverTheThreadsAndAfterInterruptions) {
  const PointList list = ManyPoints();
  const Wanted wanted{Metric::kCost, true};
  const auto once = TextsOf(BestRows(list, wanted, {.jobs = 1}));
  EXPECT_EQ(TextsOf(BestRows(list, wanted, {.jobs = 2})), once);
  EXPECT_EQ(TextsOf(BestRows(list, wanted, {.jobs = 40})), once);
  // What a journal keeps of an interrupted run: rows of plays, and not what was skipped.
  Rows kept(list.points.size());
  bool full = false;
  while (!full) {
    Rows rows = kept;
    std::atomic<int> left{23};
    const PlayPointsOptions options{.jobs = 3, .on_row = [&](const PointResult& result, bool of_play) {
                                      if (of_play) kept[result.point] = result.row;
                                      return !of_play || --left > 0;
                                    }};
    full = PlayBest(SmallJob(), list.points, wanted, options, &rows);
    if (full) {
      EXPECT_EQ(TextsOf(rows), once);
    }
  }
}

}  // namespace
}  // namespace scenarios
